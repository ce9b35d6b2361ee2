package qemu

// Rescue: the guest runs from another image, its own disks beside it. A second
// domain is never defined: libvirt's one is the rescue's for a while, and the
// record says how to come back.

import (
	"context"
	"errors"
	"io/fs"
	"os"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// Files that a rescue makes.
const (
	rescueBase   = "rescue.raw"
	rescueFile   = "disk.rescue"
	rescueConfig = "disk.rescue.config"
)

// rescue is what the record says of one.
type rescue struct {
	// WasRunning says how the guest was before.
	WasRunning bool `json:"was_running,omitempty"`
	// Off says that it has been turned off: from here on the domain is the rescue's.
	Off bool `json:"off,omitempty"`
}

// Rescue makes the rescue's disk while the guest runs on, turns the guest off,
// and starts it from there.
func (d *Driver) Rescue(ctx context.Context, serverID string, from steps.Rescue, confirm libvirt.Confirm) (libvirt.Guest, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	have, err := g.read()
	if err != nil {
		return libvirt.Guest{}, err
	}
	c := &change{guest: g, record: have, confirm: confirm}
	err = g.steps(ctx,
		subStep{"rescue.image", c.linkRescue},
		subStep{"rescue.disk", c.makeRescue},
		subStep{"rescue.config", c.makeRescueConfig},
		subStep{"rescue.off", c.makeWay},
		subStep{"rescue.define", func(ctx context.Context) error { return c.defineRescue(ctx, from) }},
		subStep{"rescue.start", func(ctx context.Context) error { return c.start(ctx, c.record.Spec, confirm) }},
		subStep{"rescue.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return d.Observe(ctx, serverID)
}

// linkRescue brings the base of the rescue's image into the folder. Its size is
// no matter of the flavor's.
func (c *change) linkRescue(ctx context.Context) error {
	return c.make(rescueBase, func(path string) error {
		return c.driver.cache.Link(ctx, c.id, path, func(int64) error { return nil })
	})
}

func (c *change) makeRescue(ctx context.Context) error {
	return c.make(rescueFile, func(path string) error {
		return images.QemuImg(ctx, "create", "-q", "-f", "qcow2", "-F", "raw", "-b", c.file(rescueBase), path)
	})
}

// makeRescueConfig: the rescue's system is told its own admin password.
func (c *change) makeRescueConfig(ctx context.Context) error {
	if !c.record.Spec.ConfigDrive {
		return nil
	}
	return c.writeConfigDrive(ctx, rescueConfig)
}

// makeWay turns the guest off, once, and notes how it was.
func (c *change) makeWay(ctx context.Context) (err error) {
	if c.now, err = c.state(ctx); err != nil {
		return err
	}
	if c.record.Rescue == nil {
		if err := c.confirm(); err != nil {
			return err
		}
		c.record.Rescue = &rescue{WasRunning: c.now.power == libvirt.Running}
		if err := c.write(c.record); err != nil {
			return err
		}
	}
	if c.record.Rescue.Off {
		return nil
	}
	if err := c.turnOff(ctx); err != nil {
		return err
	}
	c.record.Rescue.Off = true
	return c.write(c.record)
}

// defineRescue makes the domain the rescue's, unless it runs by now.
func (c *change) defineRescue(ctx context.Context, from steps.Rescue) error {
	if now, err := c.state(ctx); err != nil || now.active {
		return err
	}
	spec := c.record.Spec
	disks, err := c.rescueDisks(ctx, from)
	if err != nil {
		return err
	}
	if !from.Stable() {
		spec.ImageProperties = from.ImageProperties
	}
	text, err := c.xml(spec, disks)
	if err != nil {
		return err
	}
	return c.call(ctx, callTime, "define the domain", func(rpc *golibvirt.Libvirt) error {
		_, err := rpc.DomainDefineXMLFlags(text, golibvirt.DomainDefineValidate)
		return err
	})
}

// rescueDisks are the image's and the guest's own root disk or, in a stable
// rescue, all of the guest's where they are and then the image's.
func (c *change) rescueDisks(ctx context.Context, from steps.Rescue) ([]domain.Disk, error) {
	added := domain.Disk{Path: c.file(rescueFile), Format: "qcow2"}
	if !from.Stable() {
		disks := []domain.Disk{added, {Path: c.file(rootFile), Format: "qcow2"}}
		if c.record.Spec.ConfigDrive {
			disks = append(disks, domain.Disk{Path: c.file(rescueConfig), Format: "raw", CDROM: true})
		}
		return disks, nil
	}
	switch device := from.ImageProperties["hw_rescue_device"]; device {
	case "", "disk":
	case "cdrom":
		added.CDROM = true
	default:
		return nil, faults.New(faults.Invalid, "InvalidImageProperty", "Invalid image metadata. Error: hw_rescue_device is %q; it must be disk or cdrom", device)
	}
	added.Bus, added.Boots = from.ImageProperties["hw_rescue_bus"], true
	disks, err := c.disks(ctx, c.record.Spec)
	for i := range disks {
		if disks[i].Path == c.file(configFile) {
			disks[i].Path = c.file(rescueConfig)
		}
	}
	return append(disks, added), err
}

// unrescue has the guest run from its own disk.
func (c *change) unrescue(ctx context.Context) error { return c.leaveRescue(ctx, true) }

// undoRescue has it be as it was.
func (c *change) undoRescue(ctx context.Context) error {
	return c.leaveRescue(ctx, c.record.Rescue != nil && c.record.Rescue.WasRunning)
}

// leaveRescue makes the domain the guest's own again. The record goes last, so
// that a call that is killed begins anew.
func (c *change) leaveRescue(ctx context.Context, start bool) error {
	if err := c.confirm(); err != nil {
		return err
	}
	if was := c.record.Rescue; was != nil && was.Off {
		if err := c.kill(ctx, c.confirm); err != nil {
			return err
		}
		if err := c.define(ctx, c.record.Spec); err != nil {
			return err
		}
	}
	if err := c.dropRescue(); err != nil {
		return err
	}
	if start {
		if err := c.start(ctx, c.record.Spec, c.confirm); err != nil {
			return err
		}
	}
	if c.record.Rescue == nil {
		return nil
	}
	c.record.Rescue = nil
	return c.write(c.record)
}

// dropRescue removes what a rescue has made.
func (g *guest) dropRescue() error {
	for _, name := range []string{rescueFile, rescueConfig, rescueBase} {
		if err := os.Remove(g.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return broken(err)
		}
	}
	return nil
}
