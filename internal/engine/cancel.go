package engine

// Cancels are durable facts: what was asked is written down, and delivered to
// the workflow by the dispatcher until it has ended.

import (
	"context"
	"fmt"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// RequestCancel asks for the end of an operation, for the one that by names (a
// user id, or a word for the program). One that no workflow has begun ends on
// the spot, through its resource's Abandon if it owns the resource; a running
// one carries its cancel until it has ended; a finished one is given as it is.
// It gives the row as it is afterwards. Errors: NotFound.
func (e *Engine) RequestCancel(ctx context.Context, tx store.Tx, operationID, by string) (Operation, error) {
	op, r, l, err := e.held(ctx, tx, operationID)
	if err != nil || op.Finished() {
		return op, err
	}
	if err := noteCancel(ctx, tx, op.ID, by); err != nil {
		return op, err
	}
	if abandonable(op) {
		err := e.abandon(ctx, tx, op, r, l, ending{operations.ResultCancelled, "Cancelled", "the operation was cancelled before it began"})
		if err != nil {
			return op, err
		}
	}
	return e.Get(ctx, tx, op.ID)
}

// noteCancel writes down who asked first, and when.
func noteCancel(ctx context.Context, tx store.Tx, id, by string) error {
	_, err := tx.Exec(ctx, `UPDATE engine.operations SET cancel_requested_at = now(), cancel_requested_by = $2
		WHERE id = $1 AND cancel_requested_at IS NULL`, id, by)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, store.Translate(err))
	}
	return nil
}

// abandon ends an operation that never began. The state that its request gave
// to the resource is taken back only if it owns the resource: while it waits,
// the state shown is the running one's.
func (e *Engine) abandon(ctx context.Context, tx store.Tx, op Operation, r Resource, l lock, how ending) error {
	if err := end(ctx, tx, op, how); err != nil {
		return err
	}
	if l.next == op.ID {
		return r.await(ctx, tx, op.ResourceID, "")
	}
	if l.holder != op.ID {
		return nil
	}
	if r.Abandon != nil {
		fault := &steps.Fault{Code: how.code, Message: how.message, HTTPCode: 500}
		if err := r.Abandon(ctx, tx, op, how.result, fault); err != nil {
			return fmt.Errorf("abandon %s: %w", op.ID, err)
		}
	}
	_, err := r.release(ctx, tx, op.ResourceID, op.ID)
	return err
}
