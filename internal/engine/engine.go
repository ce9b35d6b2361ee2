package engine

// The engine and the lock columns of the resources it knows.

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Engine accepts, begins, advances and finishes operations. Its methods that
// take a transaction do all their work in it and lock, in this order, the
// resource's row and then operations' rows.
type Engine struct {
	db        *store.DB
	resources map[operations.ResourceType]Resource
}

// New makes the engine of a database and the types of resource it locks.
func New(db *store.DB, resources ...Resource) *Engine {
	e := &Engine{db: db, resources: make(map[operations.ResourceType]Resource, len(resources))}
	for _, r := range resources {
		e.resources[r.Type] = r
	}
	return e
}

// Resource says how the engine finds the lock of a type of resource: its table
// has a key and the columns operation_id, next_operation_id and generation.
type Resource struct {
	Type operations.ResourceType
	// Table is the qualified name, "compute.servers". It is put into statements
	// as it is.
	Table string
	// Key is the column of the resource's UUID; empty is "id".
	Key string
	// Abandon makes true of the row what holds when an operation ends that never
	// began: cancelled before its workflow began, or given up. It clears the
	// transient state and writes the fault, in the caller's transaction, before
	// the lock moves on.
	Abandon func(ctx context.Context, tx store.Tx, op Operation, result operations.Result, fault *steps.Fault) error
	// Withdraw takes back what the request of an operation that never began has
	// written beside the row, whose state is another's: one that takes its place,
	// or the one that it waited for. Nil takes back nothing.
	Withdraw func(ctx context.Context, tx store.Tx, op Operation, result operations.Result) error
}

// key is the column of the resource's UUID.
func (r Resource) key() string { return cmp.Or(r.Key, "id") }

// lock is a resource's lock columns.
type lock struct {
	holder, next string // operation ids or ""
	generation   int64
}

// kind gives what is known of a kind and of the resource it works on.
func (e *Engine) kind(k operations.Kind) (operations.Spec, Resource, error) {
	spec, ok := operations.Lookup(k)
	if !ok {
		return spec, Resource{}, faults.New(faults.Internal, "UnknownKind", "no operation of kind %q is known", k)
	}
	r, ok := e.resources[spec.Resource]
	if !ok {
		return spec, r, faults.New(faults.Internal, "UnknownResource", "operations on a %s are not served here", spec.Resource)
	}
	return spec, r, nil
}

// lock locks a resource's row until the transaction ends. Errors: NotFound.
func (r Resource) lock(ctx context.Context, tx store.Tx, id string) (lock, error) {
	var l lock
	err := tx.QueryRow(ctx, `SELECT COALESCE(operation_id, ''), COALESCE(next_operation_id, ''), generation
		FROM `+r.Table+` WHERE `+r.key()+` = $1 FOR NO KEY UPDATE`, id).Scan(&l.holder, &l.next, &l.generation)
	if errors.Is(err, pgx.ErrNoRows) {
		return l, faults.New(faults.NotFound, "NotFound", "%s %s could not be found", r.Type, id)
	}
	if err != nil {
		return l, fmt.Errorf("lock %s %s: %w", r.Type, id, store.Translate(err))
	}
	return l, nil
}

// take makes an operation the owner and gives the new generation. Who waits
// goes on waiting.
func (r Resource) take(ctx context.Context, tx store.Tx, id, operationID string) (generation int64, err error) {
	var b batch
	b.take(r, id, operationID, &generation)
	return generation, b.send(ctx, tx, "take "+id)
}

func (b *batch) take(r Resource, id, operationID string, generation *int64) {
	b.Queue(`UPDATE `+r.Table+` SET operation_id = $2, generation = generation + 1
		WHERE `+r.key()+` = $1 RETURNING generation`, id, operationID).QueryRow(func(row pgx.Row) error { return row.Scan(generation) })
}

// await makes an operation the next one; empty clears it.
func (r Resource) await(ctx context.Context, tx store.Tx, id, operationID string) error {
	_, err := tx.Exec(ctx, `UPDATE `+r.Table+` SET next_operation_id = NULLIF($2, '') WHERE `+r.key()+` = $1`, id, operationID)
	return store.Translate(err)
}

// release takes the lock from its holder and hands it to the operation that
// waits, whose turn it is then. It gives that one's id, or "".
func (r Resource) release(ctx context.Context, tx store.Tx, id, holder string) (next string, err error) {
	var b batch
	b.release(r, id, holder, &next)
	if err := b.send(ctx, tx, "release "+id); err != nil || next == "" {
		return "", err
	}
	return r.turn(ctx, tx, id)
}

// Holder is the operation that holds a resource now; empty if none does.
// Errors: NotFound.
func (e *Engine) Holder(ctx context.Context, q store.Queryer, kind operations.ResourceType, id string) (holder string, err error) {
	r, ok := e.resources[kind]
	if !ok {
		return "", faults.New(faults.Internal, "UnknownResource", "operations on a %s are not served here", kind)
	}
	err = q.QueryRow(ctx, `SELECT COALESCE(operation_id, '') FROM `+r.Table+` WHERE `+r.key()+` = $1`, id).Scan(&holder)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", faults.New(faults.NotFound, "NotFound", "%s %s could not be found", kind, id)
	}
	return holder, store.Translate(err)
}

// release is Resource.release for a batch; the turn of the one that waits, which
// next names then, is left to the caller.
func (b *batch) release(r Resource, id, holder string, next *string) {
	b.Queue(`UPDATE `+r.Table+`
		SET operation_id = next_operation_id, next_operation_id = NULL, generation = generation + 1
		WHERE `+r.key()+` = $1 AND operation_id = $2 RETURNING COALESCE(operation_id, '')`, id, holder).QueryRow(func(row pgx.Row) error {
		err := row.Scan(next)
		if errors.Is(err, pgx.ErrNoRows) {
			return supersededFault(holder, "it has lost its resource")
		}
		return err
	})
}
