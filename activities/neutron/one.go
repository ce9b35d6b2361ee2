package neutron

// One interface, which comes or goes while the server is there.

import (
	"context"
	"slices"
	"strconv"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// only leaves the row at a position; nil leaves all.
func (t *task) only(position *int) {
	if position != nil {
		t.rows = slices.DeleteFunc(t.rows, func(row *compute.ServerPort) bool { return row.Position != *position })
	}
}

// payOne does what Deallocate of one port could not while Neutron was down. The
// row stays until then, so its place was given to no other.
func (a *Activities) payOne(ctx context.Context, d engine.Debt) error {
	_, serverID, _, _ := operations.ParseID(d.OperationID)
	position, err := strconv.Atoi(d.Ref)
	if err != nil {
		return err
	}
	t := &task{}
	err = a.db.InTx(ctx, func(tx store.Tx) error { return t.read(ctx, tx, serverID) })
	if err != nil {
		return err
	}
	t.only(&position)
	if err := t.reach(ctx, a.o.Client, func() {}); err != nil {
		return err
	}
	if err := t.deallocate(ctx); err != nil {
		return refuses(err)
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq); err != nil {
			return err
		}
		return compute.ForgetPort(ctx, tx, serverID, position)
	})
}
