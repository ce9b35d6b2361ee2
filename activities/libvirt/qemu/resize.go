package qemu

// Resize: the guest is made of disks that are there, in another size. What it was
// made of before is set aside in the folder, and the record says so until somebody
// has decided between the two.

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

// asidePrefix begins the names of disks that are set aside. Their base, which
// nothing writes to, is the guest's own still.
const asidePrefix = "aside."

// resize is what the record says of one whose guest can be what it was before.
type resize struct {
	// Mark names who it was begun for, Was is what the guest was made from.
	Mark string           `json:"mark"`
	Was  steps.ServerSpec `json:"was"`
	// Moved says that all its disks are set aside: others of their names are copies.
	Moved bool `json:"moved,omitempty"`
}

// Resize makes the domain of the spec and starts it.
func (d *Driver) Resize(ctx context.Context, in steps.ResizeIn, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	g, err := d.guest(in.Spec.ServerID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	c := &change{guest: g, mark: mark, confirm: confirm}
	if c.record, err = g.read(); err != nil {
		return libvirt.Guest{}, err
	}
	if c.now, err = g.state(ctx); err != nil {
		return libvirt.Guest{}, err
	}
	if c.now.active {
		return libvirt.Guest{ServerID: g.id, PowerState: c.now.power}, nil
	}
	if _, err := g.xml(in.Spec, nil); err != nil {
		return libvirt.Guest{}, err // before anything is made
	}
	err = g.steps(ctx,
		subStep{"resize.aside", func(context.Context) error { return c.setAside(in.Aside) }},
		subStep{"resize.copy", c.copyAside},
		subStep{"resize.record", func(context.Context) error { return c.take(in.Spec) }},
		subStep{"resize.grow", func(ctx context.Context) error { return g.grow(ctx, in.Spec) }},
		subStep{"resize.disks", func(ctx context.Context) error { return g.makeDisks(ctx, in.Spec) }},
		subStep{"resize.config", func(ctx context.Context) error { return g.makeConfigDrive(ctx, in.Spec) }},
		subStep{"resize.define", func(ctx context.Context) error { return g.define(ctx, in.Spec) }},
		subStep{"resize.start", func(ctx context.Context) error {
			if in.Off {
				return nil
			}
			return g.start(ctx, in.Spec, confirm)
		}},
		subStep{"resize.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return d.Observe(ctx, g.id)
}

// setAside gives the guest's disks other names. What a resize before this one has
// left, which nobody will ask for any more, is dropped.
func (c *change) setAside(asked bool) error {
	if !asked {
		return nil
	}
	if c.record.Resize == nil || c.record.Resize.Mark != c.mark {
		if err := c.confirm(); err != nil {
			return err
		}
		if err := c.dropAside(); err != nil {
			return err
		}
		c.record.Resize = &resize{Mark: c.mark, Was: c.record.Spec}
		if err := c.write(c.record); err != nil {
			return err
		}
	}
	if c.record.Resize.Moved {
		return nil
	}
	disks, err := filepath.Glob(c.file("disk*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range disks {
		if err := os.Rename(path, c.file(asidePrefix+filepath.Base(path))); err != nil {
			return broken(err)
		}
	}
	c.record.Resize.Moved = true
	return c.write(c.record)
}

// copyAside makes the copies that the new guest writes to. Its config drive is
// made anew.
func (c *change) copyAside(ctx context.Context) error {
	if c.record.Resize == nil || c.record.Resize.Mark != c.mark {
		return nil
	}
	aside, err := filepath.Glob(c.file(asidePrefix + "*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range aside {
		name := strings.TrimPrefix(filepath.Base(path), asidePrefix)
		if name == configFile {
			continue
		}
		err := c.make(name, func(copied string) error {
			return runFor(ctx, copyTime, "cp", "--sparse=always", "--reflink=auto", "--", path, copied)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// take has the guest be of the spec from here on.
func (c *change) take(spec steps.ServerSpec) error {
	if err := c.confirm(); err != nil {
		return err
	}
	c.record.Spec = spec
	return c.write(c.record)
}

// keepResize drops what was set aside, while the guest may run.
func (c *change) keepResize(context.Context) error {
	if c.record.Resize == nil {
		return nil
	}
	if err := c.confirm(); err != nil {
		return err
	}
	if err := c.dropAside(); err != nil {
		return err
	}
	c.record.Resize = nil
	return c.write(c.record)
}

// undoResize has the guest be what was set aside, standing still. The record goes
// last, so that a call that is killed begins anew.
func (c *change) undoResize(ctx context.Context) error {
	was := c.record.Resize
	if was == nil {
		return nil
	}
	if err := c.kill(ctx, c.confirm); err != nil {
		return err
	}
	if err := c.confirm(); err != nil {
		return err
	}
	if err := c.putBack(was); err != nil {
		return err
	}
	if err := c.define(ctx, was.Was); err != nil {
		return err
	}
	c.record.Spec, c.record.Resize = was.Was, nil
	return c.write(c.record)
}

// putBack gives the disks that were set aside their names, in the place of the
// copies. Disks that only the new size has are removed.
func (c *change) putBack(was *resize) error {
	aside, err := filepath.Glob(c.file(asidePrefix + "*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range aside {
		if err := os.Rename(path, c.file(strings.TrimPrefix(filepath.Base(path), asidePrefix))); err != nil {
			return broken(err)
		}
	}
	kept := map[string]bool{c.file(configFile): true}
	for _, disk := range c.localDisks(was.Was) {
		kept[disk.Path] = true
	}
	disks, err := filepath.Glob(c.file("disk*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range disks {
		if kept[path] {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return broken(err)
		}
	}
	return nil
}

func (g *guest) dropAside() error {
	aside, err := filepath.Glob(g.file(asidePrefix + "*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range aside {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return faults.Wrap(err, faults.Unavailable, "HostStorage", "the host's storage failed")
		}
	}
	return nil
}
