package neutron

// Ports that leave their host and stay the server's.

import (
	"context"
	"slices"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Unbind is idempotent by what Neutron says: ports that are gone, or on no host,
// are left alone.
func (a *Activities) Unbind(ctx context.Context, in steps.UnbindIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence, "", nil)
	if err != nil {
		return struct{}{}, err
	}
	if err := t.unbind(ctx); err != nil {
		return struct{}{}, refuses(err)
	}
	return struct{}{}, a.write(ctx, in.Fence, func(tx store.Tx) error { return compute.ReleasePorts(ctx, tx, t.server.ID) })
}

// unbind takes the server's ports off whatever host they are on.
func (t *task) unbind(ctx context.Context) error {
	have, err := t.portsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	for _, p := range have {
		ours := slices.ContainsFunc(t.rows, func(row *compute.ServerPort) bool { return row.PortID == p.ID })
		if !ours || p.HostID == "" {
			continue
		}
		_, err := t.bind(ctx, p.ID, binding{device: t.server.ID, owner: p.Owner})
		if err != nil && !faults.Is(err, faults.NotFound) {
			return err
		}
	}
	return nil
}

// PayBindings does what Unbind could not while Neutron was down. It is idempotent
// as that is, and waits while an operation has the server. One that is on a host
// again has had its ports bound there, and one that is deleted has none: then
// nothing is owed any more. Errors: Unavailable.
func (a *Activities) PayBindings(ctx context.Context, d engine.Debt) error {
	t := &task{}
	err := a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, d.Ref) })
	if err != nil {
		return err
	}
	void := t.server.DeletedAt != nil || t.server.HostID != "" && t.server.OperationID == ""
	if !void {
		if err := t.server.Unused(); err != nil {
			return err
		}
		if err := t.reach(ctx, a.o.Client, func() {}); err != nil {
			return err
		}
		if err := t.unbind(ctx); err != nil {
			return refuses(err)
		}
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq); err != nil || void {
			return err
		}
		return compute.ReleasePorts(ctx, tx, d.Ref)
	})
}
