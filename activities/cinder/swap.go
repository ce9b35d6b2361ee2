package cinder

// A volume that takes the place of another, which Cinder migrates: that one keeps its
// id, and the new one is gone in the end.

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Values of the migration_status of a volume: its new one is being filled, takes its
// place, or will not.
const (
	migrating    = "migrating"
	completing   = "completing"
	notCompleted = "error"
)

// swapTo is the device that a volume is to take the place of, or has taken it; nil if
// it is none's, any more.
func (t *task) swapTo(newVolumeID string) *compute.BlockDevice {
	i := slices.IndexFunc(t.devices, func(d *compute.BlockDevice) bool { return d.Swap.Pending() && d.Swap.VolumeID == newVolumeID })
	if i < 0 {
		return nil
	}
	return t.devices[i]
}

// BeginSwap is idempotent by the attachment, which is looked for by the server's id.
func (a *Activities) BeginSwap(ctx context.Context, in steps.SwapVolumeIn) (out steps.BeginSwapOut, err error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return out, err
	}
	d := t.swapTo(in.NewVolumeID)
	if d == nil {
		return out, faults.New(faults.NotFound, "VolumeBDMNotFound", "No volume Block Device Mapping with id %s.", in.NewVolumeID)
	}
	connector, err := a.connector(ctx, in.HostID)
	if err != nil {
		return out, err
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return out, err
	}
	at, err := t.attach(ctx, have, &compute.BlockDevice{ServerID: d.ServerID, VolumeID: d.Swap.VolumeID}, connector)
	if err != nil {
		return out, err
	}
	d.Swap.AttachmentID = at.ID
	err = t.write(ctx, func(tx store.Tx, _ string) error { return compute.SetSwap(ctx, tx, d) })
	return steps.BeginSwapOut{AttachmentID: at.ID}, err
}

// CancelSwap is idempotent by the device's row and by the volume's migration_status.
func (a *Activities) CancelSwap(ctx context.Context, in steps.SwapVolumeIn) (struct{}, error) {
	return struct{}{}, a.closeSwap(ctx, in)
}

// EndSwap is idempotent by the device's row and by the attachment, which is the old
// volume's once Cinder has completed the migration.
func (a *Activities) EndSwap(ctx context.Context, in steps.SwapVolumeIn) (struct{}, error) {
	return struct{}{}, a.closeSwap(ctx, in)
}

func (a *Activities) closeSwap(ctx context.Context, in steps.SwapVolumeIn) error {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return err
	}
	if d := t.swapTo(in.NewVolumeID); d != nil {
		return refuses(t.unswap(ctx, d))
	}
	return nil
}

// unswap has Cinder say of a device what its row does: that the server has the new
// volume, and the migration is over; or that it has the old one, and there is none.
func (t *task) unswap(ctx context.Context, d *compute.BlockDevice) error {
	if !d.Swap.Pending() {
		return nil
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	id := d.VolumeID
	if d.Swap.Replaced {
		id, err = t.migrated(ctx, d, have)
	} else {
		err = t.notMigrated(ctx, d, have)
	}
	if err != nil {
		return err
	}
	// It is over once for all, whoever says so.
	if err := t.a.db.InTx(ctx, func(tx store.Tx) error { return compute.EndSwap(ctx, tx, d, id) }); err != nil {
		return err
	}
	d.VolumeID, d.Swap = id, compute.Swap{}
	return nil
}

// unswapAll does so for a volume's device, or for all of them: whatever is done to
// their attachments needs Cinder to know which are whose.
func (t *task) unswapAll(ctx context.Context, volumeID string) error {
	for _, d := range t.devices {
		if volumeID != "" && d.VolumeID != volumeID {
			continue
		}
		if err := t.unswap(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// migrated lets go of the old volume and has the new one take its place. It gives the
// id that the volume has then.
func (t *task) migrated(ctx context.Context, d *compute.BlockDevice, have []*attachment) (string, error) {
	for _, at := range have {
		switch {
		case at.ID == d.AttachmentID && at.VolumeID == d.VolumeID:
			return d.VolumeID, nil
		case at.ID == d.AttachmentID && at.Status != attached:
			if err := t.complete(ctx, at); err != nil {
				return "", err
			}
		}
	}
	if err := t.leave(ctx, have, d.VolumeID); err != nil {
		return "", err
	}
	return t.completeMigration(ctx, d, false)
}

// notMigrated lets go of the new volume.
func (t *task) notMigrated(ctx context.Context, d *compute.BlockDevice, have []*attachment) error {
	if err := t.leave(ctx, have, d.Swap.VolumeID); err != nil {
		return err
	}
	_, err := t.completeMigration(ctx, d, true)
	return err
}

// completeMigration tells Cinder how the migration has ended, unless it has heard so,
// or has no new volume any more. An administrator may have reset the status meanwhile:
// it is put back, since Cinder hears of nothing else, and would keep both volumes. Only
// an administrator may do so: the service user is one in its own project.
func (t *task) completeMigration(ctx context.Context, d *compute.BlockDevice, failed bool) (string, error) {
	client, err := t.a.o.Client(ctx, "")
	if err != nil {
		return "", err
	}
	admin := &calls{client: client, alive: t.alive}
	v, err := admin.volume(ctx, d.VolumeID)
	if err == nil {
		_, err = admin.volume(ctx, d.Swap.VolumeID)
	}
	switch {
	case faults.Is(err, faults.NotFound), err == nil && failed && v.MigrationStatus == notCompleted:
		return d.VolumeID, nil
	case err == nil && v.MigrationStatus == completing:
		err = faults.New(faults.Unavailable, "MigrationCompletes", "Cinder has not yet completed the migration of volume %s", d.VolumeID)
	case err == nil && v.MigrationStatus != migrating:
		err = admin.resetMigration(ctx, d.VolumeID)
	}
	if err != nil {
		return "", err
	}
	return admin.migrateCompletion(ctx, d.VolumeID, d.Swap.VolumeID, failed)
}

// resetMigration has the volume be one that is migrated.
func (c *calls) resetMigration(ctx context.Context, volumeID string) error {
	c.alive()
	body := map[string]any{"os-reset_status": map[string]string{"migration_status": migrating}}
	_, err := c.client.Post(ctx, c.client.ServiceURL("volumes", volumeID, "action"), body, nil, &gophercloud.RequestOpts{OkCodes: []int{202}})
	return fault(err, about{volume: volumeID})
}

// migrateCompletion gives the id that the volume has from then on.
func (c *calls) migrateCompletion(ctx context.Context, volumeID, newVolumeID string, failed bool) (string, error) {
	c.alive()
	body := map[string]any{"os-migrate_volume_completion": map[string]any{"new_volume": newVolumeID, "error": failed}}
	var saved struct {
		ID string `json:"save_volume_id"`
	}
	_, err := c.client.Post(ctx, c.client.ServiceURL("volumes", volumeID, "action"), body, &saved, &gophercloud.RequestOpts{OkCodes: []int{200, 202}})
	return saved.ID, fault(err, about{volume: newVolumeID})
}

// PaySwap does what CancelSwap or EndSwap could not while Cinder was down. It is
// idempotent as they are, and waits while the guest may still be on the volume that is
// to go. Errors: Unavailable.
func (a *Activities) PaySwap(ctx context.Context, debt engine.Debt) error {
	owed, err := a.engine.Owed(ctx, a.db.Pool, debt.OperationID, operations.EffectSwapped, debt.Ref)
	if err != nil {
		return err
	}
	if owed {
		return faults.New(faults.Unavailable, "GuestOwed", "the guest may still be on volume %s", debt.Ref)
	}
	t := &task{a: a}
	_, serverID, _, _ := operations.ParseID(debt.OperationID)
	if err := a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, serverID) }); err != nil {
		return err
	}
	if d := t.swapTo(debt.Ref); d != nil {
		if err := t.reach(ctx, func() {}); err != nil {
			return err
		}
		if err := t.unswap(ctx, d); err != nil {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, "", debt.OperationID, debt.Seq)
		return err
	})
}
