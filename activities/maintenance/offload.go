package maintenance

// OffloadShelved: shelved servers leave their hosts when their time there is over.

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

// maxOffloads bounds one part.
const maxOffloads = 20

// OffloadShelved is idempotent by observing: a server that an operation has, its
// offload among them, is left to it.
func (a *Activities) OffloadShelved(ctx context.Context, _ struct{}) (out steps.MaintenanceOut, err error) {
	ids, err := compute.Offloadable(ctx, a.db.Pool, a.o.OffloadAfter, maxOffloads)
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		if err := a.offload(ctx, id); err != nil {
			return out, err
		}
		out.Changed++
	}
	out.More = len(ids) == maxOffloads
	return out, nil
}

// offload asks for the offload of a server that is shelved on its host still.
func (a *Activities) offload(ctx context.Context, id string) error {
	var accepted engine.Accepted
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		s, err := compute.LockServer(ctx, tx, "", id)
		if faults.Is(err, faults.NotFound) {
			return nil
		}
		if err != nil || s.OperationID != "" || s.VMState != servers.VMShelved {
			return err
		}
		if err := compute.SetTask(ctx, tx, id, servers.TaskShelvingOffloading); err != nil {
			return err
		}
		accepted, err = a.engine.Accept(ctx, tx, engine.Request{Kind: operations.ServerShelveOffload, ResourceID: id, ProjectID: s.ProjectID})
		return err
	})
	if err == nil && accepted.Startable {
		a.o.Offer(accepted.OperationID)
	}
	return err
}
