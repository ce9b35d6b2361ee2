package engine

// Recovery of an operation whose workflow was lost.

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// Recover ends an operation that no workflow can finish any more, and gives
// the resource, or its turn, under a new generation to a recover operation that
// takes over all it may have left outside. What waits goes on waiting.
// It gives the recover operation's id; "" where none is needed: the operation
// has finished meanwhile, never began, or has lost its resource. The caller
// knows that its workflow is closed or gone, and says why it recovers.
func (e *Engine) Recover(ctx context.Context, tx store.Tx, operationID, why string) (recoverID string, err error) {
	op, err := e.lock(ctx, tx, operationID)
	if isNotFound(err) {
		return "", endOrphan(ctx, tx, operationID)
	}
	if err != nil || op.Finished() || op.StartAfter == nil {
		return "", err
	}
	if !op.Shared && op.lock.holder != op.ID {
		return "", end(ctx, tx, op.Operation, ending{operations.ResultSuperseded, "Superseded", "it had lost its resource"})
	}
	spec, _ := operations.Lookup(op.Kind)
	if abandonable(op.Operation) && !spec.Forward() {
		return "", op.abandon(ctx, tx, ending{operations.ResultFailed, "OperationLost", why})
	}
	if wait, err := e.patience(ctx, tx, op.Operation); err != nil || wait > 0 {
		return "", err
	}
	return e.succeed(ctx, tx, op.Operation, op.resource, why)
}

// succeed puts a recover operation in the place of a dead one.
func (e *Engine) succeed(ctx context.Context, tx store.Tx, dead Operation, r Resource, why string) (string, error) {
	kind, ok := operations.RecoverKind(dead.Kind)
	if !ok {
		return "", fmt.Errorf("recover %s: no kind of operation recovers a %s", dead.ID, dead.Kind)
	}
	spec, _ := operations.Lookup(kind)
	heir := &Operation{
		ResourceID: dead.ResourceID, ProjectID: dead.ProjectID, UserID: dead.UserID, RequestID: dead.RequestID,
		Input: []byte("{}"), Attempt: dead.Attempt, Host: dead.Host, RetryOf: dead.ID,
	}
	if err := insert(ctx, tx, spec, heir, true, 0); err != nil {
		return "", err
	}
	how := ending{operations.ResultFailed, "OperationLost", why + "; recovered by " + heir.ID}
	if dead.CancelRequestedAt != nil {
		how.result, how.code = operations.ResultCancelled, "Cancelled"
	}
	if err := end(ctx, tx, dead, how); err != nil {
		return "", err
	}
	// Debts go along: room is owed only as long as the guest in it is.
	_, err := tx.Exec(ctx, `UPDATE engine.operation_effects SET operation_id = $2
		WHERE operation_id = $1 AND state IN ('intended', 'done', 'owed')`, dead.ID, heir.ID)
	if err != nil {
		return "", fmt.Errorf("recover %s: %w", dead.ID, store.Translate(err))
	}
	if dead.Shared {
		return heir.ID, nil
	}
	_, err = r.take(ctx, tx, dead.ResourceID, heir.ID)
	return heir.ID, err
}

// endOrphan ends an operation whose resource is no more.
func endOrphan(ctx context.Context, tx store.Tx, id string) error {
	op, err := lockOperation(ctx, tx, id)
	if isNotFound(err) || err == nil && op.Finished() {
		return nil
	}
	if err != nil {
		return err
	}
	return end(ctx, tx, op, ending{operations.ResultFailed, "NotFound", "its resource is no more"})
}

// maxPatience bounds the pause between recoveries of recoveries.
const maxPatience = time.Hour

// patience is how long a dead recover operation is still left alone: one that
// fails again and again is tried ever more rarely, from 1 s after the second
// up to an hour.
func (e *Engine) patience(ctx context.Context, q store.Queryer, op Operation) (time.Duration, error) {
	var depth int
	var age time.Duration
	err := q.QueryRow(ctx, `
		WITH RECURSIVE chain AS (
			SELECT id, retry_of FROM engine.operations WHERE id = $1 AND kind = $2
			UNION ALL
			SELECT o.id, o.retry_of FROM engine.operations o JOIN chain ON o.id = chain.retry_of WHERE o.kind = $2
		)
		SELECT (SELECT count(*) FROM chain), clock_timestamp() - created_at FROM engine.operations WHERE id = $1`,
		op.ID, recoverKindOf(op)).Scan(&depth, &age)
	if err != nil {
		return 0, fmt.Errorf("patience with %s: %w", op.ID, store.Translate(err))
	}
	if depth < 2 {
		return 0, nil
	}
	pause := maxPatience
	if depth < 12 {
		pause = time.Second << (depth - 2)
	}
	return max(pause-age, 0), nil
}

func recoverKindOf(op Operation) operations.Kind {
	kind, _ := operations.RecoverKind(op.Kind)
	return kind
}

// giveUp ends an operation that never began and whose deadline has passed.
// One that is forward from its first step is never given up.
func (e *Engine) giveUp(ctx context.Context, tx store.Tx, operationID string) error {
	op, err := e.lock(ctx, tx, operationID)
	if err != nil {
		return err
	}
	spec, _ := operations.Lookup(op.Kind)
	if op.Finished() || !abandonable(op.Operation) || spec.Forward() || op.StartAfter == nil || !op.Shared && op.lock.holder != op.ID || time.Now().Before(op.Deadline) {
		return nil
	}
	return op.abandon(ctx, tx, ending{operations.ResultFailed, "DeadlineExceeded", "the operation could not begin in time"})
}
