package cinder

// One volume, which comes or goes while the server is there.

import (
	"context"
	"slices"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// only leaves the device of one volume; an empty id leaves all. Errors: NotFound.
func (t *task) only(volumeID string) error {
	if volumeID == "" {
		return nil
	}
	t.devices = slices.DeleteFunc(t.devices, func(d *compute.BlockDevice) bool { return d.VolumeID != volumeID })
	if len(t.devices) == 0 {
		return faults.New(faults.NotFound, "VolumeBDMNotFound", "No volume Block Device Mapping with id %s.", volumeID)
	}
	return nil
}

// releaseOne takes the server off a volume, which stays, and forgets its row.
func (t *task) releaseOne(ctx context.Context, volumeID string) error {
	if err := t.detachOne(ctx, volumeID); err != nil {
		return refuses(err)
	}
	return t.write(ctx, func(tx store.Tx, serverID string) error {
		return compute.ForgetVolume(ctx, tx, serverID, volumeID)
	})
}

func (t *task) detachOne(ctx context.Context, volumeID string) error {
	if err := t.unswapAll(ctx, volumeID); err != nil {
		return err
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	return t.leave(ctx, have, volumeID)
}

// payOne does what releaseOne could not while Cinder was down. The row stays
// until then, so the volume has not been given to the server anew.
func (t *task) payOne(ctx context.Context, d engine.Debt) error {
	_, serverID, _, _ := operations.ParseID(d.OperationID)
	err := t.a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, serverID) })
	if err != nil {
		return err
	}
	if err := t.reach(ctx, func() {}); err != nil {
		return err
	}
	if err := t.detachOne(ctx, d.Ref); err != nil {
		return refuses(err)
	}
	return t.a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := t.a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq); err != nil {
			return err
		}
		return compute.ForgetVolume(ctx, tx, serverID, d.Ref)
	})
}
