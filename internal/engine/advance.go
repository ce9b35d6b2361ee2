package engine

// Advance moves an operation's story on; events are its steps as users see them.

import (
	"context"
	"fmt"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Advance writes the step that begins now, the effects it is about to have and
// what became of earlier ones. Errors: Superseded, Invalid.
func (e *Engine) Advance(ctx context.Context, tx store.Tx, in steps.AdvanceIn) (steps.AdvanceOut, error) {
	op, err := e.CheckFence(ctx, tx, in.Fence)
	if err != nil {
		return steps.AdvanceOut{}, err
	}
	if err := settle(ctx, tx, op, in.Settle); err != nil {
		return steps.AdvanceOut{}, err
	}
	if err := intend(ctx, tx, op, in.Fence.Generation, in.Intend); err != nil {
		return steps.AdvanceOut{}, err
	}
	if err := moveTo(ctx, tx, op, in); err != nil {
		return steps.AdvanceOut{}, err
	}
	ledger, err := e.ledger(ctx, tx, op.ID)
	return steps.AdvanceOut{Effects: ledger, CancelRequested: op.CancelRequestedAt != nil}, err
}

// moveTo writes the step to the operation's row and opens its event. A step
// that is written again is the same event.
func moveTo(ctx context.Context, tx store.Tx, op Operation, in steps.AdvanceIn) error {
	to := op
	to.Step = in.Step
	if in.Attempt > 0 {
		to.Attempt = in.Attempt
	}
	if in.Host != "" {
		to.Host = in.Host
	}
	if to.Step == op.Step && to.Attempt == op.Attempt && to.Host == op.Host {
		_, err := tx.Exec(ctx, `UPDATE engine.operation_events SET message = COALESCE(NULLIF($2, ''), message)
			WHERE operation_id = $1 AND finished_at IS NULL`, op.ID, in.Message)
		return store.Translate(err)
	}
	left := ending{result: operations.ResultDone}
	if to.Step == operations.StepUndo {
		left = ending{result: operations.ResultFailed, message: in.Message}
	}
	if err := closeEvent(ctx, tx, op, left); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		WITH moved AS (UPDATE engine.operations SET step = $2, attempt = $3, host = $4 WHERE id = $1)
		INSERT INTO engine.operation_events (operation_id, seq, step, attempt, host, started_at, message)
		SELECT $1, COALESCE(max(seq), 0) + 1, $2, $3, $4, clock_timestamp(), $5 FROM engine.operation_events WHERE operation_id = $1`,
		op.ID, to.Step, to.Attempt, to.Host, in.Message)
	if err != nil {
		return fmt.Errorf("advance %s to %s: %w", op.ID, in.Step, store.Translate(err))
	}
	return nil
}

// closeEvent closes the event that an operation is in, if it is in one.
func closeEvent(ctx context.Context, tx store.Tx, op Operation, how ending) error {
	_, err := tx.Exec(ctx, `UPDATE engine.operation_events
		SET finished_at = clock_timestamp(), result = $2, message = COALESCE(NULLIF($3, ''), message)
		WHERE operation_id = $1 AND finished_at IS NULL`, op.ID, how.result, how.message)
	if err != nil {
		return fmt.Errorf("close the event of %s: %w", op.ID, store.Translate(err))
	}
	return nil
}
