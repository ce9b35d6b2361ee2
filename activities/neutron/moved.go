package neutron

// Ports that a move could not bind to their host again while Neutron was down.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// PayMoved binds the server's ports to the host that it is on. It is idempotent as
// Allocate is, and waits while an operation has the server. One that is deleted or
// on no host has them nowhere: then nothing is owed any more. Errors: Unavailable.
func (a *Activities) PayMoved(ctx context.Context, d engine.Debt) error {
	t := &task{}
	err := a.db.InTx(ctx, func(tx store.Tx) (err error) {
		if err = t.read(ctx, tx, d.Ref); err != nil {
			return err
		}
		if err = t.server.Idle(); err == nil && t.server.HostID != "" {
			t.host, err = compute.GetHost(ctx, tx, t.server.HostID)
		}
		return err
	})
	if err != nil {
		return err
	}
	bound := t.server.DeletedAt == nil && t.host != nil
	if bound {
		if err := t.reach(ctx, a.o.Client, func() {}); err != nil {
			return err
		}
		if err := t.allocate(ctx); err != nil {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq); err != nil || !bound {
			return err
		}
		for _, row := range t.rows {
			if err := compute.BindPort(ctx, tx, row); err != nil {
				return err
			}
		}
		return nil
	})
}
