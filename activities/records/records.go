package records

// Begin, Advance and Finish: an operation's story in the database.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/orchestration"
)

// Activities implements steps.RecordsActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	offer  func(operationID string)

	// DownAfter is the silence after which a host counts as down; zero is
	// compute.DownAfter. It is set before the first step.
	DownAfter time.Duration
	// Finished is told of each operation that Finish has ended; nil tells nobody.
	Finished func(kind operations.Kind, result operations.Result, created time.Time)
	// Knock tells an operation on a stack that the node has something new
	// (engine.Starter.KnockAt); nil tells nobody. It must not block.
	Knock func(operationID string, node int64)
}

var _ steps.RecordsActivities = (*Activities)(nil)

// New gives the steps. Offer is told of the operation that a finished one has
// handed its resource to (engine.Starter.Offer); it must not block.
func New(db *store.DB, e *engine.Engine, offer func(operationID string)) *Activities {
	return &Activities{db: db, engine: e, offer: offer}
}

// Begin is idempotent by the run's id: the same run begins the same operation
// again and reads the ledger as it is by then.
func (a *Activities) Begin(ctx context.Context, in steps.BeginIn) (out steps.BeginOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		out, err = a.engine.Begin(ctx, tx, in)
		if err != nil || out.Verdict != steps.Run {
			return err
		}
		spec, _ := operations.Lookup(out.Kind)
		return resources[spec.Resource].brief(ctx, tx, &out)
	})
	return out, err
}

// Advance is idempotent by the names of what it writes: a step is one event,
// and an effect one line of the ledger, however often they are written.
// Errors: Superseded.
func (a *Activities) Advance(ctx context.Context, in steps.AdvanceIn) (out steps.AdvanceOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		out, err = a.engine.Advance(ctx, tx, in)
		if err != nil {
			return err
		}
		kind, id := subject(in.Fence.OperationID)
		spec, _ := operations.Lookup(kind)
		if in.Node != nil && out.Step == in.Step {
			if err := baremetal.Move(ctx, tx, id, *in.Node); err != nil {
				return err
			}
		}
		return resources[spec.Resource].show(ctx, tx, kind, id, out.Step, in.Message)
	})
	return out, err
}

// Finish is idempotent by the operation's row: once it has finished, the run
// that finished it is told so again and nothing is written. Nothing is written
// either if a cancel came first (FinishOut.Cancelled). Errors: Superseded.
func (a *Activities) Finish(ctx context.Context, in steps.FinishIn) (out steps.FinishOut, err error) {
	var op engine.Locked
	err = a.db.InTx(ctx, func(tx store.Tx) (err error) {
		if op, err = a.engine.CheckFence(ctx, tx, in.Fence); err != nil {
			return err
		}
		if out.Cancelled = cancelledInTime(op.Operation, in); out.Cancelled {
			return nil
		}
		if !op.Shared {
			if err := resources[op.ResourceType].publish(ctx, tx, op.ResourceID, in); err != nil {
				return err
			}
		}
		out, err = op.Finish(ctx, tx, in)
		return err
	})
	if err == nil && !out.Cancelled && a.Finished != nil {
		a.Finished(op.Kind, in.Result, op.CreatedAt)
	}
	if faults.Is(err, faults.Superseded) {
		op.Operation, out, err = a.finished(ctx, in.Fence, err)
	}
	if err == nil && out.Next != "" {
		a.offer(out.Next)
	}
	if err == nil && !out.Cancelled {
		err = a.tellParent(ctx, op.Operation)
	}
	return out, err
}

// tellParent has whoever works now on the stack that one is nested in look at the node
// that an operation on it was; at all if that was asked for by nobody who works on the
// parent. What has taken over from the operation that this was a part of waits for its
// end, too.
func (a *Activities) tellParent(ctx context.Context, op engine.Operation) error {
	if a.Knock == nil || op.ResourceType != operations.Stack {
		return nil
	}
	parent, err := orchestration.WorkOnParent(ctx, a.db.Pool, op.ResourceID)
	if err != nil || parent == "" {
		return err
	}
	var part steps.TraversalInput
	if len(op.Input) > 0 {
		if err := json.Unmarshal(op.Input, &part); err != nil {
			return fmt.Errorf("input of %s: %w", op.ID, err)
		}
	}
	a.Knock(parent, part.Node)
	return nil
}

// cancelledInTime says that the operation is to be finished as done, but was
// cancelled before its point of no return: it has to be undone instead.
func cancelledInTime(op engine.Operation, in steps.FinishIn) bool {
	spec, _ := operations.Lookup(op.Kind)
	return in.Result == operations.ResultDone && op.CancelRequestedAt != nil && !spec.Beyond(op.Step)
}

// finished tells a repeated Finish, whose answer was lost, from one that lost
// its resource.
func (a *Activities) finished(ctx context.Context, f steps.Fence, superseded error) (engine.Operation, steps.FinishOut, error) {
	op, err := a.engine.Get(ctx, a.db.Pool, f.OperationID)
	if err != nil || !op.Finished() || op.RunID != f.RunID {
		return op, steps.FinishOut{}, superseded
	}
	next, err := a.engine.Holder(ctx, a.db.Pool, op.ResourceType, op.ResourceID)
	return op, steps.FinishOut{Next: next}, err
}

// subject reads the kind and the resource's id from an operation's id.
func subject(operationID string) (operations.Kind, string) {
	resource, id, verb, _ := operations.ParseID(operationID)
	return operations.Kind(string(resource) + "." + verb), id
}
