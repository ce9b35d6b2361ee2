package maintenance

// What servers come to when their time is over: operations like any other's, which
// nobody but the clock has asked for.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// maxDue bounds one part.
const maxDue = 20

// due is an operation that a server may have come to.
type due struct {
	kind operations.Kind
	// task is what the server shows meanwhile.
	task servers.TaskState
	// still looks again, the row being locked.
	still func(*compute.Server) bool
	// with writes what the request for it would write beside; nil is nothing.
	with func(context.Context, store.Tx, *compute.Server) error
}

var (
	dueStop = due{kind: operations.ServerStop, task: servers.TaskPoweringOff,
		still: func(s *compute.Server) bool { return servers.OutOfStep(s.VMState, s.PowerState) }}
	dueReclaim = due{kind: operations.ServerDelete, task: servers.TaskDeleting, still: in(servers.VMSoftDeleted)}
	dueOffload = due{kind: operations.ServerShelveOffload, task: servers.TaskShelvingOffloading, still: in(servers.VMShelved)}
	dueConfirm = due{kind: operations.ServerConfirmResize, task: servers.TaskNone, still: in(servers.VMResized),
		with: func(ctx context.Context, tx store.Tx, s *compute.Server) error {
			return compute.SetMigrationStatus(ctx, tx, s.ID, servers.MigrationConfirming)
		}}
)

func in(state servers.VMState) func(*compute.Server) bool {
	return func(s *compute.Server) bool { return s.VMState == state }
}

// Reclaim is idempotent by observing: a server that an operation has, its delete
// among them, is left to it.
func (a *Activities) Reclaim(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	ids, err := compute.Reclaimable(ctx, a.db.Pool, a.o.ReclaimAfter, maxDue)
	if err != nil {
		return out, err
	}
	return a.all(ctx, ids, dueReclaim)
}

// OffloadShelved is idempotent as Reclaim is.
func (a *Activities) OffloadShelved(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	ids, err := compute.Offloadable(ctx, a.db.Pool, a.o.OffloadAfter, maxDue)
	if err != nil {
		return out, err
	}
	return a.all(ctx, ids, dueOffload)
}

// ConfirmResized is idempotent as Reclaim is.
func (a *Activities) ConfirmResized(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	ids, err := compute.Unconfirmed(ctx, a.db.Pool, a.o.ConfirmAfter, maxDue)
	if err != nil {
		return out, err
	}
	return a.all(ctx, ids, dueConfirm)
}

// all asks for the operation of each server.
func (a *Activities) all(ctx context.Context, ids []string, d due) (out steps.MaintenanceOut, err error) {
	for _, id := range ids {
		if err := a.ask(ctx, id, d); err != nil {
			return out, err
		}
		out.Changed++
	}
	out.More = len(ids) == maxDue
	return out, nil
}

// ask asks for the operation of a server that has come to it still.
func (a *Activities) ask(ctx context.Context, id string, d due) error {
	var accepted engine.Accepted
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		s, err := compute.LockServer(ctx, tx, "", id)
		if faults.Is(err, faults.NotFound) {
			return nil
		}
		if err != nil || s.OperationID != "" || !d.still(s) {
			return err
		}
		if d.with != nil {
			if err := d.with(ctx, tx, s); err != nil {
				return err
			}
		}
		if err := compute.SetTask(ctx, tx, id, d.task); err != nil {
			return err
		}
		accepted, err = a.engine.Accept(ctx, tx, engine.Request{Kind: d.kind, ResourceID: id, ProjectID: s.ProjectID})
		return err
	})
	if err == nil && accepted.Startable {
		a.o.Offer(accepted.OperationID)
	}
	return err
}
