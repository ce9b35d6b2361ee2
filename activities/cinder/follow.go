package cinder

// Volumes of a guest that has moved while it ran: the host that it is on now has
// them, and the old one no more.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Follow is idempotent by what is true afterwards: each volume has one attachment,
// the host's. Done again it makes that anew.
func (a *Activities) Follow(ctx context.Context, in steps.FollowIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, refuses(t.follow(ctx, in.HostID, t.note))
}

// follow gives each volume an attachment to the host before it deletes the
// others, so that nobody else gets it in between. Note writes a device down.
func (t *task) follow(ctx context.Context, hostID string, note func(context.Context, *compute.BlockDevice) error) error {
	connector, err := t.a.connector(ctx, hostID)
	if err != nil {
		return err
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	for _, d := range t.devices {
		if d.AttachmentID == "" {
			continue
		}
		var now *attachment
		for _, at := range have {
			if at.VolumeID == d.VolumeID && at.Status == reserved {
				now = at
			}
		}
		if now == nil {
			if now, err = t.reserve(ctx, d); err != nil {
				return err
			}
		}
		d.AttachmentID = now.ID
		if err := note(ctx, d); err != nil {
			return err
		}
		if err := t.connect(ctx, now, connector); err != nil {
			return err
		}
		if err := t.complete(ctx, now); err != nil {
			return err
		}
		for _, at := range have {
			if at.VolumeID != d.VolumeID || at.ID == now.ID {
				continue
			}
			if err := t.detach(ctx, at); err != nil && !faults.Is(err, faults.NotFound) {
				return err
			}
		}
	}
	return nil
}

// PayOldConnections does what Follow could not while Cinder was down. It is
// idempotent as that is, and waits while an operation has the server. One that is
// deleted or on no host has no volumes on one. Errors: Unavailable.
func (a *Activities) PayOldConnections(ctx context.Context, d engine.Debt) error {
	t := &task{a: a}
	err := a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, d.Ref) })
	if err != nil {
		return err
	}
	if t.server.DeletedAt == nil && t.server.HostID != "" {
		if err := t.server.Idle(); err != nil {
			return err
		}
		if err := t.reach(ctx, func() {}); err != nil {
			return err
		}
		note := func(ctx context.Context, device *compute.BlockDevice) error {
			return a.db.InTx(ctx, func(tx store.Tx) error { return compute.SetVolume(ctx, tx, device) })
		}
		if err := t.follow(ctx, t.server.HostID, note); err != nil {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq)
		return err
	})
}
