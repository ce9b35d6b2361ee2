package engine

// Begin is the guard against running twice, and CheckFence against writing for
// somebody who has lost the resource.

import (
	"context"
	"fmt"

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
	op, r, l, err := e.held(ctx, tx, in.OperationID)
	if isNotFound(err) {
		return stop("there is no such operation, or no such resource"), nil
	}
	if err != nil {
		return steps.BeginOut{}, err
	}
	switch {
	case op.Finished():
		return stop("the operation has finished: " + string(op.Result)), nil
	case l.next == op.ID:
		return steps.BeginOut{}, faults.New(faults.Unavailable, "NotItsTurn", "operation %s waits for %s to end", op.ID, l.holder)
	case l.holder != op.ID:
		return stop("the operation is superseded"), nil
	case in.Reset && op.RunID != "" && op.RunID != in.RunID:
		return stop("the workflow was reset by hand; the engine recovers the operation"), nil
	}
	if op.RunID != "" && op.RunID != in.RunID {
		if l.generation, err = r.take(ctx, tx, op.ResourceID, op.ID); err != nil {
			return steps.BeginOut{}, err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE engine.operations
		SET run_id = $2, dispatched_at = COALESCE(dispatched_at, now()), checked_at = now() WHERE id = $1`, op.ID, in.RunID)
	if err != nil {
		return steps.BeginOut{}, fmt.Errorf("begin %s: %w", op.ID, store.Translate(err))
	}
	return e.begun(ctx, tx, op, l.generation)
}

func stop(reason string) steps.BeginOut {
	return steps.BeginOut{Verdict: steps.Stop, Reason: reason}
}

// begun describes the operation to the run that carries it out.
func (e *Engine) begun(ctx context.Context, tx store.Tx, op Operation, generation int64) (steps.BeginOut, error) {
	ledger, err := e.ledger(ctx, tx, op.ID)
	if err != nil {
		return steps.BeginOut{}, err
	}
	attempt := op.Attempt
	for _, line := range ledger {
		attempt = max(attempt, line.Attempt)
	}
	recovers, err := e.recovers(ctx, tx, op)
	if err != nil {
		return steps.BeginOut{}, err
	}
	return steps.BeginOut{
		Verdict:         steps.Run,
		Kind:            op.Kind,
		ResourceID:      op.ResourceID,
		Generation:      generation,
		Deadline:        op.Deadline,
		Step:            op.Step,
		Attempt:         attempt,
		Effects:         ledger,
		CancelRequested: op.CancelRequestedAt != nil,
		Recovers:        recovers,
	}, nil
}

// recovers finds what a recover operation ends: the first operation in its
// chain that is not a recover itself. Nil for other kinds.
func (e *Engine) recovers(ctx context.Context, q store.Queryer, op Operation) (*steps.Recovered, error) {
	if spec, _ := operations.Lookup(op.Kind); !spec.Recovers() {
		return nil, nil
	}
	for {
		var err error
		if op, err = e.Get(ctx, q, op.RetryOf); err != nil {
			return nil, err
		}
		if spec, _ := operations.Lookup(op.Kind); !spec.Recovers() {
			return &steps.Recovered{
				OperationID: op.ID,
				Kind:        op.Kind,
				Step:        op.Step,
				Cancelled:   op.CancelRequestedAt != nil,
			}, nil
		}
	}
}

// CheckFence locks the resource and the operation and says whether the fence
// still holds: the operation is unfinished, owns the resource under this
// generation, and this run carries it out. Errors: Superseded.
func (e *Engine) CheckFence(ctx context.Context, tx store.Tx, f steps.Fence) (Operation, error) {
	op, _, _, err := e.fenced(ctx, tx, f)
	return op, err
}

func (e *Engine) fenced(ctx context.Context, tx store.Tx, f steps.Fence) (Operation, Resource, lock, error) {
	op, r, l, err := e.held(ctx, tx, f.OperationID)
	switch {
	case isNotFound(err):
		err = supersededFault(f.OperationID, "it or its resource is gone")
	case err != nil:
	case op.Finished():
		err = supersededFault(op.ID, "it has finished")
	case l.holder != op.ID || l.generation != f.Generation:
		err = supersededFault(op.ID, "it has lost its resource")
	case op.RunID != f.RunID:
		err = supersededFault(op.ID, "another run carries it out")
	}
	return op, r, l, err
}
