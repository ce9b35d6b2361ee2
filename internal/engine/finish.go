package engine

// Finish is the last step of every path.

import (
	"context"
	"fmt"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Finish ends an operation: its ledger is settled, and on success all that is
// still open passes to the resource's own rows; its row and event are closed;
// the lock goes to the operation that waits or is let go. The caller has
// published the resource's state before, in the same transaction and under the
// same fence. A second Finish finds the fence gone and changes nothing.
// Errors: Superseded, Invalid.
func (e *Engine) Finish(ctx context.Context, tx store.Tx, in steps.FinishIn) (steps.FinishOut, error) {
	op, r, _, err := e.fenced(ctx, tx, in.Fence)
	if err != nil {
		return steps.FinishOut{}, err
	}
	if err := settle(ctx, tx, op, in.Settle); err != nil {
		return steps.FinishOut{}, err
	}
	if in.Result == operations.ResultDone {
		if err := passOn(ctx, tx, op); err != nil {
			return steps.FinishOut{}, err
		}
	}
	how := ending{result: in.Result, message: in.Note}
	if in.Fault != nil {
		how.message = in.Fault.Message
		// A recovery that is done may still tell the user what was lost.
		if in.Result != operations.ResultDone {
			how.code = in.Fault.Code
		}
	}
	if op.Step == operations.StepUndo {
		// Undoing is a step that went well; why it was needed stands with the
		// step before it.
		if err := closeEvent(ctx, tx, op, ending{result: operations.ResultDone}); err != nil {
			return steps.FinishOut{}, err
		}
	}
	if err := end(ctx, tx, op, how); err != nil {
		return steps.FinishOut{}, err
	}
	if err := clearInbox(ctx, tx, op); err != nil {
		return steps.FinishOut{}, err
	}
	next, err := r.release(ctx, tx, op.ResourceID, op.ID)
	return steps.FinishOut{Next: next}, err
}

// passOn hands what is open in the ledger to the resource's own rows.
func passOn(ctx context.Context, tx store.Tx, op Operation) error {
	_, err := tx.Exec(ctx, `UPDATE engine.operation_effects SET state = 'passed', updated_at = now()
		WHERE operation_id = $1 AND state IN ('intended', 'done')`, op.ID)
	if err != nil {
		return fmt.Errorf("pass on the effects of %s: %w", op.ID, store.Translate(err))
	}
	return nil
}
