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
	op, err := e.lock(ctx, tx, operationID)
	if err != nil || op.Finished() {
		return op.Operation, err
	}
	if err := noteCancel(ctx, tx, op.ID, by); err != nil {
		return op.Operation, err
	}
	if abandonable(op.Operation) {
		err := op.abandon(ctx, tx, ending{operations.ResultCancelled, "Cancelled", "the operation was cancelled before it began"})
		if err != nil {
			return op.Operation, err
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
// to the resource is taken back only if it owns or shares the resource: while
// it waits in next, the state shown is the running one's.
func (l Locked) abandon(ctx context.Context, tx store.Tx, how ending) error {
	switch {
	case l.Shared:
		if err := l.drop(ctx, tx, how); err != nil {
			return err
		}
		_, err := l.resource.turn(ctx, tx, l.ResourceID)
		return err
	case l.lock.next == l.ID:
		if err := l.resource.withdraw(ctx, tx, l.Operation, how); err != nil {
			return err
		}
		return l.resource.await(ctx, tx, l.ResourceID, "")
	case l.lock.holder != l.ID:
		return end(ctx, tx, l.Operation, how)
	}
	if err := l.drop(ctx, tx, how); err != nil {
		return err
	}
	_, err := l.resource.release(ctx, tx, l.ResourceID, l.ID)
	return err
}

// drop ends an operation that never began, and has its resource take back what
// the request had written for it.
func (l Locked) drop(ctx context.Context, tx store.Tx, how ending) error {
	var b batch
	b.Queue(`UPDATE engine.operation_effects SET state = 'undone', updated_at = now()
		WHERE operation_id = $1 AND state IN ('intended', 'done')`, l.ID)
	b.end(l.Operation, how)
	if err := b.send(ctx, tx, "finish "+l.ID); err != nil || l.resource.Abandon == nil {
		return err
	}
	fault := &steps.Fault{Code: how.code, Message: how.message, HTTPCode: 500}
	if err := l.resource.Abandon(ctx, tx, l.Operation, how.result, fault); err != nil {
		return fmt.Errorf("abandon %s: %w", l.ID, err)
	}
	return nil
}

// withdraw ends an operation that never began and that has no say in what its
// resource shows.
func (r Resource) withdraw(ctx context.Context, tx store.Tx, op Operation, how ending) error {
	if err := end(ctx, tx, op, how); err != nil || r.Withdraw == nil {
		return err
	}
	if err := r.Withdraw(ctx, tx, op, how.result); err != nil {
		return fmt.Errorf("withdraw %s: %w", op.ID, err)
	}
	return nil
}
