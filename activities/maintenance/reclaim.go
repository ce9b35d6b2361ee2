package maintenance

// Reclaim: soft-deleted servers are deleted when their time is over.

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

// maxReclaims bounds one part.
const maxReclaims = 20

// Reclaim is idempotent by observing: a server that an operation has, its delete
// among them, is left to it.
func (a *Activities) Reclaim(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	ids, err := compute.Reclaimable(ctx, a.db.Pool, a.o.ReclaimAfter, maxReclaims)
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		if err := a.reclaim(ctx, id); err != nil {
			return out, err
		}
		out.Changed++
	}
	out.More = len(ids) == maxReclaims
	return out, nil
}

// reclaim asks for the delete of a server that is soft-deleted still.
func (a *Activities) reclaim(ctx context.Context, id string) error {
	var accepted engine.Accepted
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		s, err := compute.LockServer(ctx, tx, "", id)
		if faults.Is(err, faults.NotFound) {
			return nil
		}
		if err != nil || s.OperationID != "" || s.VMState != servers.VMSoftDeleted {
			return err
		}
		if err := compute.SetTask(ctx, tx, id, servers.TaskDeleting); err != nil {
			return err
		}
		accepted, err = a.engine.Accept(ctx, tx, engine.Request{Kind: operations.ServerDelete, ResourceID: id, ProjectID: s.ProjectID})
		return err
	})
	if err == nil && accepted.Startable {
		a.o.Offer(accepted.OperationID)
	}
	return err
}
