package engine

// Begin is the guard against running twice.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Begin gives a workflow run its operation, or tells it to stop: the operation
// is missing or finished, another one owns the resource, or the run was made by
// resetting by hand the one that began it. Any other run takes over: the engine
// never has two open runs of one id, so the run in the row is gone, with the
// database of Temporal perhaps. What it may still try is fenced off by the new
// run id and a new generation.
//
// An operation that waits for another to let go of the resource is never
// started; were it started all the same, its Begin fails until it is its turn
// (Unavailable, which is retried): a run that stopped could not be started
// again, since the id of a closed workflow is not used twice.
//
// Server is left to the caller. Errors: Unavailable (code NotItsTurn).
func (e *Engine) Begin(ctx context.Context, tx store.Tx, in steps.BeginIn) (steps.BeginOut, error) {
	op, err := e.lock(ctx, tx, in.OperationID)
	if isNotFound(err) {
		return stop("there is no such operation, or no such resource"), nil
	}
	if err != nil {
		return steps.BeginOut{}, err
	}
	switch {
	case op.Finished():
		return stop("the operation has finished: " + string(op.Result)), nil
	case !op.Shared && op.lock.holder != op.ID && op.lock.next != op.ID:
		return stop("the operation is superseded"), nil
	case op.StartAfter == nil:
		return steps.BeginOut{}, faults.New(faults.Unavailable, "NotItsTurn", "operation %s waits for others to end", op.ID)
	case in.Reset && op.RunID != "" && op.RunID != in.RunID:
		return stop("the workflow was reset by hand; the engine recovers the operation"), nil
	}
	switch takesOver := op.RunID != "" && op.RunID != in.RunID; {
	case op.Shared && (takesOver || op.RunID == ""):
		err = op.raise(ctx, tx)
	case op.Shared:
		op.lock.generation = op.Generation
	case takesOver:
		op.lock.generation, err = op.resource.take(ctx, tx, op.ResourceID, op.ID)
	}
	if err != nil {
		return steps.BeginOut{}, err
	}
	step := op.Step
	if step == "" && op.CancelRequestedAt == nil {
		step = in.First
	}
	var b batch
	b.Queue(`UPDATE engine.operations
		SET run_id = $2, dispatched_at = COALESCE(dispatched_at, now()), checked_at = now(), step = $3 WHERE id = $1`, op.ID, in.RunID, step)
	if step != op.Step {
		b.openEvent(op.ID, step, op.Attempt, op.Host, "")
	}
	ledger := b.ledger(op.ID)
	if err := b.send(ctx, tx, "begin "+op.ID); err != nil {
		return steps.BeginOut{}, err
	}
	out, err := e.begun(ctx, tx, op, *ledger)
	out.Opened = in.First != "" && step == in.First
	return out, err
}

func stop(reason string) steps.BeginOut {
	return steps.BeginOut{Verdict: steps.Stop, Reason: reason}
}

// begun describes the operation to the run that carries it out.
func (e *Engine) begun(ctx context.Context, tx store.Tx, op Locked, ledger []operations.Effect) (steps.BeginOut, error) {
	attempt := op.Attempt
	for _, line := range ledger {
		attempt = max(attempt, line.Attempt)
	}
	recovers, input, err := e.recovers(ctx, tx, op.Operation)
	if err != nil {
		return steps.BeginOut{}, err
	}
	step, err := e.standing(ctx, tx, op.Operation)
	if err != nil {
		return steps.BeginOut{}, err
	}
	return steps.BeginOut{
		Verdict:         steps.Run,
		Kind:            op.Kind,
		ResourceID:      op.ResourceID,
		Generation:      op.lock.generation,
		Deadline:        op.Deadline,
		Step:            step,
		HostLater:       true,
		Attempt:         attempt,
		Effects:         ledger,
		CancelRequested: op.CancelRequestedAt != nil,
		Input:           input,
		Recovers:        recovers,
	}, nil
}

// Asked is the operation that says what is to be done: for one that recovers another,
// the first in its chain that is not a recover itself; for any other, itself.
func (e *Engine) Asked(ctx context.Context, q store.Queryer, op Operation) (Operation, error) {
	for {
		if spec, _ := operations.Lookup(op.Kind); !spec.Recovers() {
			return op, nil
		}
		var err error
		if op, err = e.Get(ctx, q, op.RetryOf); err != nil {
			return op, err
		}
	}
}

// recovers finds what a recover operation ends, and what that was asked for. For
// other kinds it is nil and the operation's own input.
func (e *Engine) recovers(ctx context.Context, q store.Queryer, op Operation) (*steps.Recovered, json.RawMessage, error) {
	asked, err := e.Asked(ctx, q, op)
	if err != nil || asked.ID == op.ID {
		return nil, asked.Input, err
	}
	step, err := e.standing(ctx, q, asked)
	return &steps.Recovered{
		OperationID: asked.ID,
		Kind:        asked.Kind,
		Step:        step,
		Cancelled:   asked.CancelRequestedAt != nil,
	}, asked.Input, err
}
