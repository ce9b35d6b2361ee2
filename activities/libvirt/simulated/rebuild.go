package simulated

// Rebuild: the guest's disks are made anew.

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/steps"
)

// rebuild is the last one that was begun.
type rebuild struct {
	// Mark names who it was begun for.
	Mark          string `json:"mark"`
	KeepEphemeral bool   `json:"keep_ephemeral,omitempty"`
	Done          bool   `json:"done,omitempty"`
}

// PrepareImage has nothing to bring: simulated guests have no images.
func (d *Driver) PrepareImage(ctx context.Context, spec steps.ServerSpec) error {
	run, err := d.run(spec.ServerID, spec.ExtraSpecs)
	if err != nil {
		return err
	}
	return run.steps(ctx, subStep{"prepare.image", nil}, subStep{"prepare.done", nil})
}

// CacheImage makes an empty folder images/<image id>, which no guest needs. Its sub-steps
// are told of the image where others are of a server.
func (d *Driver) CacheImage(ctx context.Context, imageID string) error {
	if _, err := d.folder(imageID); err != nil {
		return err
	}
	run := &run{driver: d, serverID: imageID, folder: folder(filepath.Join(filepath.Dir(d.dir), "images", imageID))}
	return run.steps(ctx,
		subStep{"cache.image", func() error { return broken(os.MkdirAll(string(run.folder), 0o700)) }},
		subStep{"cache.done", nil},
	)
}

// Rebuild stops the guest, removes its disks, and makes new ones.
func (d *Driver) Rebuild(ctx context.Context, in steps.RebuildIn, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	run, err := d.run(in.Spec.ServerID, in.Spec.ExtraSpecs)
	if err != nil {
		return libvirt.Guest{}, err
	}
	err = run.steps(ctx,
		subStep{"rebuild.begin", func() error { return run.beginRebuild(in, mark, confirm) }},
		subStep{"rebuild.disk", run.renew},
		subStep{"rebuild.start", func() error {
			if in.Off {
				return nil
			}
			var err error
			if run.defined, err = run.folder.domain(); err != nil {
				return err
			}
			return run.start(confirm)
		}},
		subStep{"rebuild.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return run.folder.guest()
}

// beginRebuild stops the old guest; from here on it is the new one.
func (r *run) beginRebuild(in steps.RebuildIn, mark string, confirm libvirt.Confirm) error {
	have, err := r.folder.domain()
	if err != nil || have != nil && have.Rebuild != nil && have.Rebuild.Mark == mark {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	if err := os.MkdirAll(string(r.folder), 0o700); err != nil {
		return broken(err)
	}
	return r.turn(&domain{Spec: in.Spec, Rebuild: &rebuild{Mark: mark, KeepEphemeral: in.KeepEphemeral}}, libvirt.Shutdown, "stopped")
}

// renew makes what a rebuild that was begun has not made yet.
func (r *run) renew() error {
	have, err := r.folder.domain()
	if err != nil || have == nil || have.Rebuild == nil || have.Rebuild.Done {
		return err
	}
	disks, err := filepath.Glob(r.folder.file("disk.*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range disks {
		if have.Rebuild.KeepEphemeral && strings.HasSuffix(path, "."+string(steps.DiskEphemeral)) {
			continue
		}
		if err := r.folder.remove(filepath.Base(path)); err != nil {
			return err
		}
	}
	if err := r.makeDisks(have.Spec); err != nil {
		return err
	}
	have.Rebuild.Done = true
	return r.folder.define(have)
}
