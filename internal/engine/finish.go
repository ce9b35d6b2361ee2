package engine

// Finish is the last step of every path.

import (
	"context"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Finish ends an operation: its ledger is settled, and on success all that is
// still open passes to the resource's own rows; its row and event are closed;
// the lock, or the turn, goes to the operation that waits or is let go. The caller has
// published the resource's state before, in the same transaction and under the
// same fence. A second Finish finds the fence gone and changes nothing.
// Errors: Superseded, Invalid.
func (e *Engine) Finish(ctx context.Context, tx store.Tx, in steps.FinishIn) (steps.FinishOut, error) {
	op, err := e.CheckFence(ctx, tx, in.Fence)
	if err != nil {
		return steps.FinishOut{}, err
	}
	return op.Finish(ctx, tx, in)
}

// Finish is Engine.Finish for an operation whose fence was checked.
func (l Locked) Finish(ctx context.Context, tx store.Tx, in steps.FinishIn) (steps.FinishOut, error) {
	var b batch
	if err := b.settle(l, in.Settle); err != nil {
		return steps.FinishOut{}, err
	}
	if in.Result == operations.ResultDone {
		b.passOn(l.ID)
	}
	if l.Step == operations.StepUndo {
		// Undoing is a step that went well; why it was needed stands with the
		// step before it.
		b.closeEvent(l.Operation, ending{result: operations.ResultDone})
	}
	b.end(l.Operation, endingOf(in))
	b.clearInbox(l.Operation)
	var next string
	if !l.Shared {
		b.release(l.resource, l.ResourceID, l.ID, &next)
	}
	err := b.send(ctx, tx, "finish "+l.ID)
	if err == nil && (l.Shared || next != "") {
		next, err = l.resource.turn(ctx, tx, l.ResourceID)
	}
	return steps.FinishOut{Next: next}, err
}

func endingOf(in steps.FinishIn) ending {
	how := ending{result: in.Result, message: in.Note}
	if in.Fault != nil {
		how.message = in.Fault.Message
		// A recovery that is done may still tell the user what was lost.
		if in.Result != operations.ResultDone {
			how.code = in.Fault.Code
		}
	}
	return how
}

// passOn hands what is open in an operation's ledger to the resource's own rows.
func (b *batch) passOn(operationID string) {
	b.Queue(`UPDATE engine.operation_effects SET state = 'passed', updated_at = now()
		WHERE operation_id = $1 AND state IN ('intended', 'done')`, operationID)
}
