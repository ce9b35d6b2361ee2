package qemu

// Rebuild: the guest's disks are made anew. The record has the new spec from the
// first line on, so that a rebuild which was cut short is finished by whoever
// starts the guest next.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// rebuildBase is the new image's base until it takes the place of the old one's.
const rebuildBase = "rebuild.raw"

// rebuild is what the record says of the last one.
type rebuild struct {
	// Mark names who it was begun for.
	Mark          string `json:"mark"`
	KeepEphemeral bool   `json:"keep_ephemeral,omitempty"`
	// Cleared says that the old disks are gone, Done that the new ones are there.
	Cleared bool `json:"cleared,omitempty"`
	Done    bool `json:"done,omitempty"`
}

// PrepareImage has the image's base in the cache.
func (d *Driver) PrepareImage(ctx context.Context, spec steps.ServerSpec) error {
	g, err := d.guest(spec.ServerID)
	if err != nil {
		return err
	}
	if _, err := g.xml(spec, nil); err != nil {
		return err
	}
	image := func(ctx context.Context) error {
		if spec.ImageID == "" {
			return nil
		}
		return d.cache.Ready(ctx, g.id, func(virtual int64) error { return fits(spec, virtual) })
	}
	return g.steps(ctx, subStep{"prepare.image", image}, subStep{"prepare.done", nil})
}

// CacheImage has the image's base in the cache.
func (d *Driver) CacheImage(ctx context.Context, imageID string) error {
	return d.cache.Prefetch(ctx, imageID)
}

// Rebuild brings the new base into the folder while the guest runs on, turns it
// off, and makes it anew.
func (d *Driver) Rebuild(ctx context.Context, in steps.RebuildIn, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	g, err := d.guest(in.Spec.ServerID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	have, err := g.read()
	if faults.Is(err, faults.NotFound) { // the guest was lost
		err = broken(os.MkdirAll(g.dir, 0o711))
	}
	if err != nil {
		return libvirt.Guest{}, err
	}
	c := &change{guest: g, record: have, mark: mark, confirm: confirm}
	err = g.steps(ctx,
		subStep{"rebuild.image", func(ctx context.Context) error { return c.linkRebuild(ctx, in.Spec) }},
		subStep{"rebuild.begin", func(context.Context) error { return c.beginRebuild(in) }},
		subStep{"rebuild.off", c.endOld},
		subStep{"rebuild.clear", c.clear},
		subStep{"rebuild.make", c.renew},
		subStep{"rebuild.start", func(ctx context.Context) error {
			if in.Off {
				return nil
			}
			return c.start(ctx, c.record.Spec, confirm)
		}},
		subStep{"rebuild.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return d.Observe(ctx, g.id)
}

// begun says that the mark's rebuild is past its first line.
func (c *change) begun() bool { return c.record.Rebuild != nil && c.record.Rebuild.Mark == c.mark }

// linkRebuild brings the new base into the folder; one that another rebuild has
// left there is another image's.
func (c *change) linkRebuild(ctx context.Context, spec steps.ServerSpec) error {
	if c.begun() || spec.ImageID == "" {
		return nil
	}
	return c.driver.cache.Link(ctx, c.id, c.file(rebuildBase), func(virtual int64) error { return fits(spec, virtual) })
}

// beginRebuild is the line from which on the guest is the new one.
func (c *change) beginRebuild(in steps.RebuildIn) error {
	if c.begun() {
		return nil
	}
	if err := c.confirm(); err != nil {
		return err
	}
	c.record.Spec = in.Spec
	c.record.Rebuild = &rebuild{Mark: c.mark, KeepEphemeral: in.KeepEphemeral}
	return c.write(c.record)
}

// endOld lets the old guest shut down.
func (c *change) endOld(ctx context.Context) (err error) {
	if c.record.Rebuild.Cleared {
		return nil
	}
	if c.now, err = c.state(ctx); err != nil || isOff(c.now) {
		return err
	}
	return c.turnOff(ctx)
}

// clear removes the old guest's disks and has the new base in its place.
func (c *change) clear(ctx context.Context) error {
	was := c.record.Rebuild
	if was == nil || was.Cleared {
		return nil
	}
	if err := c.undefine(ctx, c.confirm); err != nil {
		return err
	}
	if err := c.dropRescue(); err != nil {
		return err
	}
	disks, err := filepath.Glob(c.file("disk*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range disks {
		if was.KeepEphemeral && strings.HasPrefix(filepath.Base(path), "disk.eph") {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return broken(err)
		}
	}
	if err := os.Rename(c.file(rebuildBase), c.file(baseFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return broken(err)
	}
	// A rename between two names of one base, of the same image, does nothing.
	if err := os.Remove(c.file(rebuildBase)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return broken(err)
	}
	c.record.Rescue, was.Cleared = nil, true
	return c.write(c.record)
}

// renew makes what a rebuild that was begun has not made yet.
func (c *change) renew(ctx context.Context) error {
	was := c.record.Rebuild
	if was == nil || was.Done {
		return nil
	}
	if !was.Cleared {
		if err := c.kill(ctx, c.confirm); err != nil {
			return err
		}
		if err := c.clear(ctx); err != nil {
			return err
		}
	}
	for _, f := range []func(context.Context, steps.ServerSpec) error{c.makeDisks, c.makeConfigDrive, c.define} {
		if err := f(ctx, c.record.Spec); err != nil {
			return err
		}
	}
	was.Done = true
	return c.write(c.record)
}
