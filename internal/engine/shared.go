package engine

// Shared operations: they don't hold their resource, so they show in no task of
// it and nothing waits in its columns for them. They take turns instead, in the
// order in which they were accepted, and one that wants the resource for itself
// has its turn when they have ended.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// sharing gives the operations that share a resource and have not ended, the
// one whose turn it is first. The caller holds the resource's row.
func sharing(ctx context.Context, tx store.Tx, resourceID string) ([]Operation, error) {
	return collect(ctx, tx, `SELECT `+columns+` FROM engine.operations o
		WHERE resource_id = $1 AND finished_at IS NULL AND generation IS NOT NULL
		ORDER BY start_after IS NULL, created_at, id FOR NO KEY UPDATE`, resourceID)
}

// share accepts an operation that shares its resource with those of others.
// It is refused while one has the resource for itself.
func (e *Engine) share(ctx context.Context, tx store.Tx, r Request, spec operations.Spec, running *Operation, others []Operation, generation int64) (Accepted, error) {
	for _, other := range others {
		if operations.Meet(other.Kind, r.Kind) != operations.Queue {
			return Accepted{}, busy(spec, r, other.ID)
		}
	}
	if running != nil {
		return Accepted{}, busy(spec, r, running.ID)
	}
	op, err := r.operation()
	if err != nil {
		return Accepted{}, err
	}
	accepted := Accepted{Startable: len(others) == 0, Generation: generation}
	if !accepted.Startable {
		accepted.Meeting = operations.Queue
	}
	err = insert(ctx, tx, spec, op, accepted.Startable, starterGrace, r.Effects...)
	accepted.OperationID = op.ID
	return accepted, err
}

// mayFollow says whether an operation that wants the resource for itself may
// come after those that share it. Errors: Conflict (code OperationInProgress).
func mayFollow(others []Operation, spec operations.Spec, r Request) error {
	for _, other := range others {
		switch operations.Meet(other.Kind, r.Kind) {
		case operations.Preempt, operations.Queue:
		default:
			return busy(spec, r, other.ID)
		}
	}
	return nil
}

// givesWay says whether a shared operation ends on the spot for one of kind
// incoming.
func givesWay(other Operation, incoming operations.Kind) bool {
	return operations.Meet(other.Kind, incoming) == operations.Preempt && abandonable(other)
}

// preempt ends, for the operation by, those that share the resource and give
// way, and asks for the cancel of others that may be cut short.
func preempt(ctx context.Context, tx store.Tx, res Resource, others []Operation, incoming operations.Kind, by string) error {
	for _, other := range others {
		var err error
		switch {
		case givesWay(other, incoming):
			err = Locked{Operation: other, resource: res}.drop(ctx, tx, supersededBy(by))
		case operations.Meet(other.Kind, incoming) == operations.Preempt:
			err = noteCancel(ctx, tx, other.ID, by)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// turn lets the next operation on a resource be started, its time starting anew:
// the oldest that shares it, or, when none does, the one that holds it. It gives
// that one's id; "" if the turn is somebody's already or nobody waits.
func (r Resource) turn(ctx context.Context, tx store.Tx, id string) (next string, err error) {
	err = tx.QueryRow(ctx, `UPDATE engine.operations
		SET start_after = now() + $2::interval, deadline = now() + (deadline - created_at)
		WHERE start_after IS NULL AND finished_at IS NULL AND id = COALESCE(
			(SELECT o.id FROM engine.operations o WHERE o.resource_id = $1 AND o.finished_at IS NULL AND o.generation IS NOT NULL
				ORDER BY o.start_after IS NULL, o.created_at, o.id LIMIT 1),
			(SELECT operation_id FROM `+r.Table+` WHERE `+r.key()+` = $1))
		RETURNING id`, id, starterGrace).Scan(&next)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return next, store.Translate(err)
}

// raise gives a shared operation a generation of its resource's that nothing has
// worked under yet.
func (l *Locked) raise(ctx context.Context, tx store.Tx) error {
	err := tx.QueryRow(ctx, `WITH raised AS (UPDATE `+l.resource.Table+` SET generation = generation + 1 WHERE `+l.resource.key()+` = $2 RETURNING generation)
		UPDATE engine.operations o SET generation = raised.generation FROM raised WHERE o.id = $1 RETURNING o.generation`,
		l.ID, l.ResourceID).Scan(&l.lock.generation)
	l.Generation = l.lock.generation
	return store.Translate(err)
}

func busy(spec operations.Spec, r Request, with string) error {
	return faults.New(faults.Conflict, "OperationInProgress", "the %s %s is busy with operation %s", spec.Resource, r.ResourceID, with)
}
