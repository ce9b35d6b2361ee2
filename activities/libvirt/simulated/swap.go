package simulated

// Volumes that take the place of others: what a guest has of a volume says which one
// it writes to.
//
//	swap    swap.copy  swap.pivot  swap.done
//	unswap  unswap.copy  unswap.pivot  unswap.done

import (
	"context"
	"slices"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// swap is kept of the last one that was begun.
type swap struct {
	Old steps.Volume `json:"old"`
	New steps.Volume `json:"new"`
	// To is the volume that it is copied to.
	To string `json:"to"`
}

// Swap has the guest go on on another volume.
func (d *Driver) Swap(ctx context.Context, serverID string, asked libvirt.Swap, confirm libvirt.Confirm) error {
	run, err := d.run(serverID, nil)
	if err != nil {
		return err
	}
	return run.steps(ctx,
		subStep{"swap.copy", func() error { return run.copyVolume(asked, confirm) }},
		subStep{"swap.pivot", func() error { return run.pivot(confirm, func(s *swap) steps.Volume { return s.New }) }},
		subStep{"swap.done", nil},
	)
}

// copyVolume notes that a volume has been copied.
func (r *run) copyVolume(asked libvirt.Swap, confirm libvirt.Confirm) error {
	have, err := r.folder.domain()
	switch {
	case err != nil:
		return err
	case have == nil:
		return notFound(r.serverID)
	case have.Swap != nil && have.Swap.To == asked.To:
		return nil
	}
	old := have.Spec.Volume(asked.Volume.ID)
	if old == nil {
		return faults.New(faults.NotFound, "DiskNotFound", "the guest of server %s has no volume %s", r.serverID, asked.Volume.ID)
	}
	if err := confirm(); err != nil {
		return err
	}
	have.Swap = &swap{Old: *old, New: asked.Volume, To: asked.To}
	return r.folder.define(have)
}

// pivot has the guest write to one of the volumes of its swap.
func (r *run) pivot(confirm libvirt.Confirm, to func(*swap) steps.Volume) error {
	have, err := r.folder.domain()
	if err != nil || have == nil || have.Swap == nil {
		return err
	}
	volume := to(have.Swap)
	if slices.Contains(have.Spec.Volumes, volume) {
		return nil
	}
	if err := confirm(); err != nil {
		return err
	}
	have.Spec = libvirt.Replace(have.Spec, volume)
	return r.folder.define(have)
}

// UndoSwap has the guest be on the volume that it had.
func (d *Driver) UndoSwap(ctx context.Context, serverID, from string, confirm libvirt.Confirm) error {
	run, err := d.run(serverID, nil)
	if err != nil {
		return err
	}
	have, err := run.folder.domain()
	if err != nil || have == nil || have.Swap == nil || have.Swap.To != from {
		return err
	}
	return run.steps(ctx,
		subStep{"unswap.copy", nil},
		subStep{"unswap.pivot", func() error { return run.pivot(confirm, func(s *swap) steps.Volume { return s.Old }) }},
		subStep{"unswap.done", run.forgetSwap},
	)
}

func (r *run) forgetSwap() error {
	have, err := r.folder.domain()
	if err != nil || have == nil {
		return err
	}
	have.Swap = nil
	return r.folder.define(have)
}

// Attachment gives the attachment by which the guest has a volume; empty if it hasn't.
func (d *Driver) Attachment(serverID, volumeID string) (string, error) {
	f, err := d.folder(serverID)
	if err != nil {
		return "", err
	}
	have, err := f.domain()
	if err != nil || have == nil {
		return "", err
	}
	if v := have.Spec.Volume(volumeID); v != nil {
		return v.AttachmentID, nil
	}
	return "", nil
}
