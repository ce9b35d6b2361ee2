package qemu

// A guest that goes on on another volume: one that runs while QEMU copies, one that is
// off once qemu-img has.
//
//	swap    swap.record  swap.copy  swap.pivot  swap.define  swap.keep  swap.done
//	unswap  unswap.end  unswap.copy  unswap.pivot  unswap.define  unswap.keep  unswap.done
//
// What QEMU copies it also keeps the same, until it is told to go on on the copy. Which
// of the two a guest is on libvirt knows: the domain's XML has both while it is copied,
// and its definition follows what runs. If libvirt has lost the domain, the record says
// which of the two has all that was written.

import (
	"context"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// swap is kept of the last one that was begun.
type swap struct {
	Old steps.Volume `json:"old"`
	// To is the volume that the guest goes on on, Path where the host has that.
	To   string `json:"to"`
	Path string `json:"path"`
	// On says that the guest has gone on there.
	On bool `json:"on,omitempty"`
}

// copying is a disk on its way to another file or block device.
type copying struct {
	*guest
	// id is the volume's, by which the guest has it.
	id      string
	to      domain.Disk
	record  record
	confirm libvirt.Confirm
}

// Swap has the guest go on on another volume.
func (d *Driver) Swap(ctx context.Context, serverID string, asked libvirt.Swap, confirm libvirt.Confirm) error {
	g, err := d.guest(serverID)
	if err != nil {
		return err
	}
	c := &copying{guest: g, id: asked.Volume.ID, confirm: confirm}
	if c.record, err = g.read(); err != nil {
		return err
	}
	if c.to, err = g.reached(ctx, asked.To); err != nil {
		return err
	}
	return g.steps(ctx,
		subStep{"swap.record", func(context.Context) error { return c.begin(asked) }},
		subStep{"swap.copy", c.copy},
		subStep{"swap.pivot", func(ctx context.Context) error { return c.goOn(ctx, true) }},
		subStep{"swap.define", c.define},
		subStep{"swap.keep", func(context.Context) error { return c.keep(asked.Volume) }},
		subStep{"swap.done", nil},
	)
}

// reached asks how a volume is reached that the guest hasn't.
func (g *guest) reached(ctx context.Context, volumeID string) (domain.Disk, error) {
	disks, err := g.volumes(ctx, steps.ServerSpec{Volumes: []steps.Volume{{ID: volumeID}}})
	if err != nil {
		return domain.Disk{}, err
	}
	return disks[0], nil
}

// begin writes down which volume the guest has.
func (c *copying) begin(asked libvirt.Swap) error {
	if c.record.Swap != nil && c.record.Swap.To == asked.To {
		return nil
	}
	old := c.record.Spec.Volume(c.id)
	if old == nil {
		return c.missing()
	}
	if err := c.confirm(); err != nil {
		return err
	}
	c.record.Swap = &swap{Old: *old, To: asked.To, Path: c.to.Path}
	return c.write(c.record)
}

// missing has the words of nova.exception.DiskNotFound.
func (c *copying) missing() error {
	return faults.New(faults.NotFound, "DiskNotFound", "No disk at %s", c.id)
}

// look finds the disk as the domain has it. Errors: NotFound, it has none.
func (c *copying) look(ctx context.Context, where golibvirt.DomainModificationImpact) (*domain.VolumeDisk, error) {
	text, err := c.describe(ctx, as(where))
	if err != nil {
		return nil, err
	}
	disk, err := domain.FindVolume(text, c.id)
	if err == nil && disk == nil {
		err = c.missing()
	}
	return disk, err
}

// standing looks at the guest; of one that libvirt has lost the domain is defined anew,
// on the volume that it was on.
func (c *copying) standing(ctx context.Context) (state, error) {
	now, err := c.settled(ctx)
	if err == nil && now.missing {
		err = c.defineAnew(ctx)
	}
	if err == nil && now.power == libvirt.Suspended {
		err = faults.New(faults.Conflict, "InstanceInvalidState", "can't swap a volume of a guest in power state %d", now.power)
	}
	return now, err
}

func (c *copying) defineAnew(ctx context.Context) error {
	disks, err := c.disks(ctx, c.record.Spec)
	if err != nil {
		return err
	}
	if c.record.Swap.On {
		on, err := c.reached(ctx, c.record.Swap.To)
		if err != nil {
			return err
		}
		for i, d := range disks {
			if d.Serial == c.id {
				disks[i].Path, disks[i].Format, disks[i].Block = on.Path, on.Format, on.Block
			}
		}
	}
	return c.defineWith(ctx, c.record.Spec, disks)
}

// copy has all of the disk be at the other place.
func (c *copying) copy(ctx context.Context) error {
	now, err := c.standing(ctx)
	if err != nil {
		return err
	}
	if !now.active {
		return c.copyOff(ctx)
	}
	if err := c.beginCopy(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(c.driver.poll)
	defer tick.Stop()
	for {
		disk, err := c.look(ctx, live)
		if err != nil {
			return err
		}
		switch at, ready := disk.Copy(); {
		case disk.Path() == c.to.Path, at == c.to.Path && ready:
			return nil
		case at == "":
			return faults.New(faults.Unavailable, "VolumeRebaseFailed", "Volume rebase failed: the copy of volume %s has ended before all was there", c.id)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// copyOff copies the disk of a guest that is off.
func (c *copying) copyOff(ctx context.Context) error {
	disk, err := c.look(ctx, config)
	if err != nil || disk.Path() == c.to.Path {
		return err
	}
	if err := c.confirm(); err != nil {
		return err
	}
	return images.QemuImg(ctx, "convert", "-n", "-f", disk.Format(), "-O", c.to.Format, disk.Path(), c.to.Path)
}

// beginCopy has QEMU copy the disk, unless it does or has done so.
func (c *copying) beginCopy(ctx context.Context) error {
	disk, err := c.look(ctx, live)
	if err != nil || disk.Path() == c.to.Path {
		return err
	}
	switch at, _ := disk.Copy(); at {
	case c.to.Path:
		return nil
	case "":
	default:
		if err := c.endCopy(ctx, at); err != nil {
			return err
		}
	}
	text, err := disk.At(c.to)
	if err != nil {
		return err
	}
	if err := c.confirm(); err != nil {
		return err
	}
	return c.domain(ctx, startTime, "copy a volume", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) error {
		return rpc.DomainBlockCopy(dom, disk.Name(), text, nil, golibvirt.DomainBlockCopyReuseExt|golibvirt.DomainBlockCopyTransientJob)
	})
}

// endCopy has QEMU give up a copy to a place; the guest stays where it is.
func (c *copying) endCopy(ctx context.Context, path string) error {
	now, err := c.settled(ctx)
	if err != nil || !now.active {
		return err
	}
	for deadline := time.Now().Add(callTime); time.Now().Before(deadline); {
		disk, err := c.look(ctx, live)
		if faults.Is(err, faults.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if at, _ := disk.Copy(); at != path {
			return nil
		}
		if err := c.confirm(); err != nil {
			return err
		}
		err = c.endJob(ctx, disk.Name(), 0)
		if err != nil && !faults.Is(err, faults.Conflict) { // it has just ended by itself
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.driver.poll):
		}
	}
	return faults.New(faults.Unavailable, "CopyRuns", "the copy of volume %s can't be ended", c.id)
}

func (c *copying) endJob(ctx context.Context, disk string, how golibvirt.DomainBlockJobAbortFlags) error {
	return c.domain(ctx, startTime, "end the copy of a volume", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) error {
		return rpc.DomainBlockJobAbort(dom, disk, how)
	})
}

// goOn has the guest go on on the copy, which is the new volume or the old one.
func (c *copying) goOn(ctx context.Context, new bool) error {
	err := c.pivot(ctx)
	if err != nil || c.record.Swap.On == new {
		return err
	}
	c.record.Swap.On = new
	return c.write(c.record)
}

// pivot does so. A guest that has gone off meanwhile took the copy with it.
func (c *copying) pivot(ctx context.Context) error {
	now, err := c.standing(ctx)
	if err != nil {
		return err
	}
	if !now.active {
		return c.copyOff(ctx)
	}
	disk, err := c.look(ctx, live)
	if err != nil || disk.Path() == c.to.Path {
		return err
	}
	if err := c.confirm(); err != nil {
		return err
	}
	if err := c.endJob(ctx, disk.Name(), golibvirt.DomainBlockJobAbortPivot); err != nil {
		return err
	}
	if disk, err = c.look(ctx, live); err == nil && disk.Path() != c.to.Path {
		err = faults.New(faults.Unavailable, "VolumeRebaseFailed", "Volume rebase failed: the guest has not gone on on the copy of volume %s", c.id)
	}
	return err
}

// define has the guest's next start be from the copy too.
func (c *copying) define(ctx context.Context) error {
	disk, err := c.look(ctx, config)
	if err != nil || disk.Path() == c.to.Path {
		return err
	}
	text, err := disk.At(c.to)
	if err != nil {
		return err
	}
	if err := c.confirm(); err != nil {
		return err
	}
	return c.domain(ctx, callTime, "define a disk", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) error {
		return rpc.DomainUpdateDeviceFlags(dom, text, golibvirt.DomainDeviceModifyFlags(config))
	})
}

// keep writes down what the guest has of the volume now.
func (c *copying) keep(volume steps.Volume) error {
	if err := c.confirm(); err != nil {
		return err
	}
	c.record.Spec = libvirt.Replace(c.record.Spec, volume)
	return c.write(c.record)
}

// UndoSwap has the guest be on the volume that it had.
func (d *Driver) UndoSwap(ctx context.Context, serverID, from string, confirm libvirt.Confirm) error {
	g, err := d.guest(serverID)
	if err != nil {
		return err
	}
	c := &copying{guest: g, confirm: confirm}
	c.record, err = g.read()
	if faults.Is(err, faults.NotFound) || err == nil && (c.record.Swap == nil || c.record.Swap.To != from) {
		return nil
	}
	if err != nil {
		return err
	}
	was := *c.record.Swap
	c.id = was.Old.ID
	back := false
	ifBack := func(do func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			if !back {
				return nil
			}
			return do(ctx)
		}
	}
	return g.steps(ctx,
		subStep{"unswap.end", func(ctx context.Context) (err error) {
			if err = c.endCopy(ctx, was.Path); err == nil {
				back, err = c.goesBack(ctx, was)
			}
			return err
		}},
		subStep{"unswap.copy", ifBack(c.copy)},
		subStep{"unswap.pivot", ifBack(func(ctx context.Context) error { return c.goOn(ctx, false) })},
		subStep{"unswap.define", ifBack(c.define)},
		subStep{"unswap.keep", func(context.Context) error {
			c.record.Swap = nil
			return c.keep(was.Old)
		}},
		subStep{"unswap.done", nil},
	)
}

// goesBack says whether the guest is on the new volume, and finds the old one. A guest
// that has been made anew on another host has that there.
func (c *copying) goesBack(ctx context.Context, was swap) (bool, error) {
	on, err := c.hasGoneOn(ctx, was)
	if err != nil || !on {
		return false, err
	}
	c.to, err = c.reached(ctx, c.id)
	if faults.Is(err, faults.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// hasGoneOn says whether the guest is on the new volume, or starts from it next.
func (c *copying) hasGoneOn(ctx context.Context, was swap) (on bool, err error) {
	now, err := c.settled(ctx)
	if err != nil || now.missing {
		return was.On, err
	}
	for _, where := range places(now) {
		disk, err := c.look(ctx, where)
		if faults.Is(err, faults.NotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		on = on || disk.Path() == was.Path
	}
	return on, nil
}
