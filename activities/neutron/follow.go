package neutron

// Ports of a guest that has moved while it ran.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Follow is idempotent by what Neutron says: a port that is bound to the host is
// left alone.
func (a *Activities) Follow(ctx context.Context, in steps.FollowIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence, in.HostID, nil)
	if err != nil {
		return struct{}{}, err
	}
	if err := t.allocate(ctx); err != nil {
		return struct{}{}, refuses(err)
	}
	return struct{}{}, a.write(ctx, in.Fence, t.bindRows(ctx))
}

// bindRows writes what is known of the ports.
func (t *task) bindRows(ctx context.Context) func(store.Tx) error {
	return func(tx store.Tx) error {
		for _, row := range t.rows {
			if err := compute.BindPort(ctx, tx, row); err != nil {
				return err
			}
		}
		return nil
	}
}

// PayFollow does what Follow, or the Allocate of a move, could not while Neutron
// was down: the ports of the server are bound to the host that it is on. It is
// idempotent as that is, and waits while an operation has the server. One that is deleted or
// on no host has no ports on one. Errors: Unavailable.
func (a *Activities) PayFollow(ctx context.Context, d engine.Debt) error {
	t := &task{}
	err := a.db.InTx(ctx, func(tx store.Tx) (err error) {
		if err = t.read(ctx, tx, d.Ref); err == nil && t.server.HostID != "" {
			t.host, err = compute.GetHost(ctx, tx, t.server.HostID)
		}
		return err
	})
	if err != nil {
		return err
	}
	void := t.server.DeletedAt != nil || t.host == nil
	if !void {
		if err := t.server.Idle(); err != nil {
			return err
		}
		if err := t.reach(ctx, a.o.Client, func() {}); err != nil {
			return err
		}
		if err := t.allocate(ctx); err != nil {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq); err != nil || void {
			return err
		}
		return t.bindRows(ctx)(tx)
	})
}
