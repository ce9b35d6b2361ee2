package engine

// Advance moves an operation's story on; events are its steps as users see them.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Advance writes the step that begins now, the effects it is about to have and
// what became of earlier ones. One that was asked to be cancelled never comes
// past its point of no return: only what became of earlier effects is written,
// the step it is in stays, and the answer says why. Nor is one that is past it undone
// by a run that doesn't know, since its task was lost. Errors: Superseded, Invalid.
func (e *Engine) Advance(ctx context.Context, tx store.Tx, in steps.AdvanceIn) (steps.AdvanceOut, error) {
	op, err := e.CheckFence(ctx, tx, in.Fence)
	if err != nil {
		return steps.AdvanceOut{}, err
	}
	var b batch
	if err := b.settle(op, in.Settle); err != nil {
		return steps.AdvanceOut{}, err
	}
	stays, err := e.stays(ctx, tx, op.Operation, in)
	if err != nil {
		return steps.AdvanceOut{}, err
	}
	now := op.Step
	if !stays {
		if err := b.intend(op, in.Intend); err != nil {
			return steps.AdvanceOut{}, err
		}
		b.moveTo(op.Operation, in)
		now = in.Step
	}
	ledger := b.ledger(op.ID)
	if err := b.send(ctx, tx, fmt.Sprintf("advance %s to %s", op.ID, in.Step)); err != nil {
		return steps.AdvanceOut{}, err
	}
	return steps.AdvanceOut{Step: now, Effects: *ledger, CancelRequested: op.CancelRequestedAt != nil}, nil
}

// stays says whether a step would lead a cancelled operation past its point of no
// return, or back over it a run that doesn't know.
func (e *Engine) stays(ctx context.Context, q store.Queryer, op Operation, in steps.AdvanceIn) (bool, error) {
	spec, _ := operations.Lookup(op.Kind)
	if in.Step == operations.StepUndo {
		return !in.Beyond && !spec.Forward() && spec.Beyond(op.Step), nil
	}
	if op.CancelRequestedAt == nil || !spec.Beyond(in.Step) {
		return false, nil
	}
	at, err := e.standing(ctx, q, op)
	return !spec.Beyond(at), err
}

// standing is the step that says how far an operation has come: the one it is
// in, or, of one that failed past its point of no return and undoes what can
// be, the last one past it.
func (e *Engine) standing(ctx context.Context, q store.Queryer, op Operation) (string, error) {
	spec, _ := operations.Lookup(op.Kind)
	beyond := slices.DeleteFunc(slices.Clone(spec.Steps), func(step string) bool { return !spec.Beyond(step) })
	if op.Step != operations.StepUndo || spec.Forward() || len(beyond) == 0 {
		return op.Step, nil
	}
	step := op.Step
	err := q.QueryRow(ctx, `SELECT step FROM engine.operation_events WHERE operation_id = $1 AND step = ANY ($2) ORDER BY seq DESC LIMIT 1`,
		op.ID, beyond).Scan(&step)
	if errors.Is(err, pgx.ErrNoRows) {
		return op.Step, nil
	}
	return step, store.Translate(err)
}

// moveTo writes the step to the operation's row and opens its event. A step
// that is written again is the same event.
func (b *batch) moveTo(op Operation, in steps.AdvanceIn) {
	to := op
	to.Step = in.Step
	if in.Attempt > 0 {
		to.Attempt = in.Attempt
	}
	if in.Host != "" {
		to.Host = in.Host
	}
	if to.Step == op.Step && to.Attempt == op.Attempt && to.Host == op.Host {
		b.Queue(`UPDATE engine.operation_events SET message = COALESCE(NULLIF($2, ''), message)
			WHERE operation_id = $1 AND finished_at IS NULL`, op.ID, in.Message)
		return
	}
	left := ending{result: operations.ResultDone}
	if to.Step == operations.StepUndo {
		left = ending{result: operations.ResultFailed, message: in.Message}
	}
	if op.Step != "" {
		b.closeEvent(op, left)
	}
	b.Queue(`UPDATE engine.operations SET step = $2, attempt = $3, host = $4 WHERE id = $1`, op.ID, to.Step, to.Attempt, to.Host)
	b.openEvent(op.ID, to.Step, to.Attempt, to.Host, in.Message)
}

// openEvent opens the event of the step that an operation comes to.
func (b *batch) openEvent(id, step string, attempt int, host, message string) {
	b.Queue(`INSERT INTO engine.operation_events (operation_id, seq, step, attempt, host, started_at, message)
		SELECT $1, COALESCE(max(seq), 0) + 1, $2, $3, $4, clock_timestamp(), $5 FROM engine.operation_events WHERE operation_id = $1`,
		id, step, attempt, host, message)
}

// closeEvent closes the event that an operation is in, if it is in one.
func (b *batch) closeEvent(op Operation, how ending) {
	b.Queue(`UPDATE engine.operation_events
		SET finished_at = clock_timestamp(), result = $2, message = COALESCE(NULLIF($3, ''), message)
		WHERE operation_id = $1 AND finished_at IS NULL`, op.ID, how.result, how.message)
}
