package cinder

// Volumes that leave their host and stay reserved for the server.

import (
	"cmp"
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
	return struct{}{}, refuses(t.renew(ctx, t.note, func(*attachment) error { return nil }))
}

// note writes a device down.
type note func(context.Context, *compute.BlockDevice) error

// renew reserves each volume anew and does something with that attachment, before
// it lets go of the others, so that nobody else gets the volume in between. One that
// is gone keeps it from no other: NotFound comes when all have had their turn.
func (t *task) renew(ctx context.Context, write note, use func(*attachment) error) error {
	if err := t.unswapAll(ctx, ""); err != nil {
		return err
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	var gone error
	for _, d := range t.devices {
		if d.AttachmentID == "" {
			continue
		}
		err := t.renewOne(ctx, d, have, write, use)
		if err != nil && !faults.Is(err, faults.NotFound) {
			return err
		}
		gone = cmp.Or(gone, err)
	}
	return gone
}

func (t *task) renewOne(ctx context.Context, d *compute.BlockDevice, have []*attachment, write note, use func(*attachment) error) (err error) {
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
	if err := write(ctx, d); err != nil {
		return err
	}
	if err := use(kept); err != nil {
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
	return nil
}

// PayConnections does what Disconnect could not while Cinder was down. It is
// idempotent as that is, and waits while an operation has the server. One that is
// on a host again has had its volumes connected there, and one that is deleted
// has none: then nothing is owed any more. Errors: Unavailable.
func (a *Activities) PayConnections(ctx context.Context, d engine.Debt) error {
	return a.payVolumes(ctx, d,
		func(s *compute.Server) bool { return s.DeletedAt == nil && (s.HostID == "" || s.OperationID != "") },
		(*compute.Server).Unused,
		func(ctx context.Context, t *task, write note) error {
			return t.renew(ctx, write, func(*attachment) error { return nil })
		})
}

// payVolumes does what is owed of a server's volumes if it is due still, once the
// server is free for it.
func (a *Activities) payVolumes(ctx context.Context, d engine.Debt, due func(*compute.Server) bool, free func(*compute.Server) error,
	do func(context.Context, *task, note) error) error {
	t := &task{a: a}
	err := a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, d.Ref) })
	if err != nil {
		return err
	}
	if due(t.server) {
		if err := free(t.server); err != nil {
			return err
		}
		if err := t.reach(ctx, func() {}); err != nil {
			return err
		}
		write := func(ctx context.Context, device *compute.BlockDevice) error {
			return a.db.InTx(ctx, func(tx store.Tx) error { return compute.SetVolume(ctx, tx, device) })
		}
		// A volume that is gone is on no host.
		if err := do(ctx, t, write); err != nil && !faults.Is(err, faults.NotFound) {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq)
		return err
	})
}
