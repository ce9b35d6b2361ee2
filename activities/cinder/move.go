package cinder

// Volumes that go from one host to another with their server.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Move is idempotent by doing all of it again: whatever attachments there are,
// each volume has one in the end, which the host has.
func (a *Activities) Move(ctx context.Context, in steps.MoveVolumesIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, t.move(ctx, in.HostID, t.note)
}

// move reserves the volumes, and connects them to the host.
func (t *task) move(ctx context.Context, hostID string, note func(context.Context, *compute.BlockDevice) error) error {
	connector, err := t.a.connector(ctx, hostID)
	if err != nil {
		return err
	}
	if err := t.disconnect(ctx, note); err != nil {
		return err
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	for _, at := range have {
		if at.Status == reserved {
			if err := t.connect(ctx, at, connector); err != nil {
				return err
			}
		}
		if err := t.complete(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// PayMoved takes the volumes, which could not be while Cinder was down, to the
// host that the server is on. It is idempotent as Move is, and waits while an
// operation has the server. One that is deleted or on no host has them nowhere:
// then nothing is owed any more. Errors: Unavailable.
func (a *Activities) PayMoved(ctx context.Context, d engine.Debt) error {
	t := &task{a: a}
	err := a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, d.Ref) })
	if err != nil {
		return err
	}
	if err := t.server.Idle(); err != nil {
		return err
	}
	if t.server.DeletedAt == nil && t.server.HostID != "" {
		if err := t.reach(ctx, func() {}); err != nil {
			return err
		}
		note := func(ctx context.Context, device *compute.BlockDevice) error {
			return a.db.InTx(ctx, func(tx store.Tx) error { return compute.SetVolume(ctx, tx, device) })
		}
		if err := t.move(ctx, t.server.HostID, note); err != nil && !faults.Is(err, faults.NotFound) {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq)
		return err
	})
}
