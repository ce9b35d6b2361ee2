package simulated

// Resize: the guest is made of disks that are there, in another size.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

// asidePrefix begins the names of disks that are set aside.
const asidePrefix = "aside."

// resize is one whose guest can be what it was before.
type resize struct {
	// Mark names who it was begun for, Was is what the guest was made from.
	Mark string           `json:"mark"`
	Was  steps.ServerSpec `json:"was"`
}

// Resize makes the domain anew and starts it.
func (d *Driver) Resize(ctx context.Context, in steps.ResizeIn, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	run, err := d.run(in.Spec.ServerID, in.Spec.ExtraSpecs)
	if err != nil {
		return libvirt.Guest{}, err
	}
	if there, err := run.folder.exists(""); err != nil || !there {
		return libvirt.Guest{}, errors.Join(broken(err), notFound(in.Spec.ServerID))
	}
	err = run.steps(ctx,
		subStep{"resize.aside", func() error { return run.setAside(in, mark, confirm) }},
		subStep{"resize.disk", func() error { return run.makeDisks(in.Spec) }},
		subStep{"resize.define", func() error { return run.redefine(in.Spec, confirm) }},
		subStep{"resize.start", func() error {
			if in.Off {
				return nil
			}
			return run.start(confirm)
		}},
		subStep{"resize.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return run.folder.guest()
}

// setAside keeps the guest's disks and makes copies of them.
func (r *run) setAside(in steps.ResizeIn, mark string, confirm libvirt.Confirm) error {
	have, err := r.folder.domain()
	if err != nil || have == nil || !in.Aside || have.PowerState == libvirt.Running {
		return err
	}
	if have.Resize == nil || have.Resize.Mark != mark {
		if err := confirm(); err != nil {
			return err
		}
		if err := r.dropAside(); err != nil {
			return err
		}
		have.Resize = &resize{Mark: mark, Was: have.Spec}
		if err := r.folder.define(have); err != nil {
			return err
		}
	}
	disks, err := filepath.Glob(r.folder.file("disk.*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range disks {
		aside := asidePrefix + filepath.Base(path)
		if there, err := r.folder.exists(aside); err != nil || there {
			if err != nil {
				return broken(err)
			}
			continue
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = statedir.Replace(r.folder.file(aside), data)
		}
		if err != nil {
			return broken(err)
		}
	}
	return nil
}

// redefine has the domain be what the spec says, unless it runs by now.
func (r *run) redefine(spec steps.ServerSpec, confirm libvirt.Confirm) error {
	have, err := r.folder.domain()
	if err != nil {
		return err
	}
	if have == nil {
		have = &domain{}
	}
	r.defined = have
	if have.PowerState == libvirt.Running {
		return nil
	}
	if err := confirm(); err != nil {
		return err
	}
	have.Spec, have.PowerState = spec, libvirt.Shutdown
	return r.folder.define(have)
}

// leaveResize drops what was set aside or, back, has the guest be that again.
func (r *run) leaveResize(have *domain, back bool, confirm libvirt.Confirm) error {
	if have.Resize == nil {
		return nil
	}
	if err := confirm(); err != nil {
		return err
	}
	if back {
		if err := r.restore(have.Resize.Was); err != nil {
			return err
		}
		have.Spec, have.PowerState = have.Resize.Was, libvirt.Shutdown
	}
	if err := r.dropAside(); err != nil {
		return err
	}
	have.Resize = nil
	return r.folder.define(have)
}

// restore puts the disks back that were set aside; others go.
func (r *run) restore(was steps.ServerSpec) error {
	aside, err := filepath.Glob(r.folder.file(asidePrefix + "*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range aside {
		if err := os.Rename(path, r.folder.file(strings.TrimPrefix(filepath.Base(path), asidePrefix))); err != nil {
			return broken(err)
		}
	}
	kept := map[string]bool{}
	for i, disk := range was.LocalDisks() {
		kept[diskName(i, disk)] = true
	}
	disks, err := filepath.Glob(r.folder.file("disk.*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range disks {
		if name := filepath.Base(path); !kept[name] {
			if err := r.folder.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) dropAside() error {
	aside, err := filepath.Glob(r.folder.file(asidePrefix + "*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range aside {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return broken(err)
		}
	}
	return nil
}
