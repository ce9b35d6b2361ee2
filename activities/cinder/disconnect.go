package cinder

// Volumes that leave their host and stay reserved for the server.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Disconnect is idempotent by the attachments: a volume that has one without a
// host keeps it, and loses every other.
func (a *Activities) Disconnect(ctx context.Context, in steps.DisconnectIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, refuses(t.disconnect(ctx, t.note))
}

// disconnect reserves each volume anew before it lets go of the host's
// attachment, so that nobody else gets it in between. Note writes a device down.
func (t *task) disconnect(ctx context.Context, note func(context.Context, *compute.BlockDevice) error) error {
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	for _, d := range t.devices {
		if d.AttachmentID == "" {
			continue
		}
		var kept *attachment
		for _, at := range have {
			if at.VolumeID == d.VolumeID && at.Status == reserved {
				kept = at
			}
		}
		if kept == nil {
			if kept, err = t.reserve(ctx, d); err != nil {
				return err
			}
		}
		d.AttachmentID = kept.ID
		if err := note(ctx, d); err != nil {
			return err
		}
		for _, at := range have {
			if at.VolumeID != d.VolumeID || at.ID == kept.ID {
				continue
			}
			if err := t.detach(ctx, at); err != nil && !faults.Is(err, faults.NotFound) {
				return err
			}
		}
	}
	return nil
}

// PayConnections does what Disconnect could not while Cinder was down. It is
// idempotent as that is, and waits while an operation has the server. One that is
// on a host again has had its volumes connected there, and one that is deleted
// has none: then nothing is owed any more. Errors: Unavailable.
func (a *Activities) PayConnections(ctx context.Context, d engine.Debt) error {
	t := &task{a: a}
	err := a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, d.Ref) })
	if err != nil {
		return err
	}
	if void := t.server.DeletedAt != nil || t.server.HostID != "" && t.server.OperationID == ""; !void {
		if err := t.server.Unused(); err != nil {
			return err
		}
		if err := t.reach(ctx, func() {}); err != nil {
			return err
		}
		note := func(ctx context.Context, device *compute.BlockDevice) error {
			return a.db.InTx(ctx, func(tx store.Tx) error { return compute.SetVolume(ctx, tx, device) })
		}
		if err := t.disconnect(ctx, note); err != nil {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq)
		return err
	})
}
