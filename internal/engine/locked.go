package engine

// Locked: what a transaction has locked of an operation, and batches of what it
// writes then.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Locked is an operation whose resource's row and own row are locked until the
// transaction ends. Its methods write for it.
type Locked struct {
	Operation
	resource Resource
	lock     lock
}

// lock locks an operation's resource and then its row, in one statement. Its id
// says which type of resource that is. Errors: NotFound, if either is missing.
func (e *Engine) lock(ctx context.Context, tx store.Tx, id string) (Locked, error) {
	return e.read(ctx, tx, id, locking)
}

const locking = " FOR NO KEY UPDATE OF r FOR NO KEY UPDATE OF o"

// read is lock, or whatever else locking says.
func (e *Engine) read(ctx context.Context, q store.Queryer, id, locking string) (Locked, error) {
	r, err := e.resourceOf(id)
	if err != nil {
		return Locked{}, err
	}
	rows, err := q.Query(ctx, r.reading(locking), id)
	if err != nil {
		return Locked{}, fmt.Errorf("operation %s: %w", id, store.Translate(err))
	}
	return r.locked(rows, id)
}

// resourceOf gives what an operation's id says that it works on.
func (e *Engine) resourceOf(id string) (Resource, error) {
	kind, _, _, _ := operations.ParseID(id)
	r, ok := e.resources[kind]
	if !ok {
		return Resource{}, notFound(id)
	}
	return r, nil
}

// reading is the statement that reads the operation $1 and its resource.
func (r Resource) reading(locking string) string {
	return `SELECT ` + columns + `, COALESCE(r.operation_id, '') AS holder, COALESCE(r.next_operation_id, '') AS next, r.generation
		FROM ` + r.Table + ` r JOIN engine.operations o ON o.resource_id = r.` + r.key() + `
		WHERE o.id = $1` + locking
}

// locked gives what reading has found.
func (r Resource) locked(rows pgx.Rows, id string) (Locked, error) {
	type row struct {
		Operation
		Holder, Next string
		Generation   int64
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		return Locked{}, fmt.Errorf("operation %s: %w", id, store.Translate(err))
	}
	if len(found) == 0 {
		return Locked{}, notFound(id)
	}
	return Locked{found[0].Operation, r, lock{found[0].Holder, found[0].Next, found[0].Generation}}, nil
}

func notFound(id string) error {
	return faults.New(faults.NotFound, "NotFound", "operation %s could not be found", id)
}

// CheckFence locks the resource and the operation and says whether the fence
// still holds: the operation is unfinished, owns or shares the resource under
// this generation, and this run carries it out. Errors: Superseded.
func (e *Engine) CheckFence(ctx context.Context, tx store.Tx, f steps.Fence) (Locked, error) {
	op, err := e.lock(ctx, tx, f.OperationID)
	return op, op.holds(f, err)
}

// CheckLedger is CheckFence that gives the ledger too, as it is under the lock.
func (e *Engine) CheckLedger(ctx context.Context, tx store.Tx, f steps.Fence) (op Locked, ledger []operations.Effect, err error) {
	r, err := e.resourceOf(f.OperationID)
	if err != nil {
		return op, nil, op.holds(f, err)
	}
	var b batch
	var found error
	b.Queue(r.reading(locking), f.OperationID).Query(func(rows pgx.Rows) error {
		op, found = r.locked(rows, f.OperationID)
		return nil
	})
	lines := b.ledger(f.OperationID)
	if err := b.send(ctx, tx, "operation "+f.OperationID); err != nil {
		return op, nil, err
	}
	return op, *lines, op.holds(f, found)
}

// PeekFence is CheckFence for those who have read and write nothing: it locks
// nothing. What was read under a fence before it was peeked at and still held
// was read while it held, for it never comes back.
func (e *Engine) PeekFence(ctx context.Context, q store.Queryer, f steps.Fence) error {
	op, err := e.read(ctx, q, f.OperationID, "")
	return op.holds(f, err)
}

// holds says whether a fence holds for an operation that was read with err.
func (l Locked) holds(f steps.Fence, err error) error {
	switch {
	case isNotFound(err):
		return supersededFault(f.OperationID, "it or its resource is gone")
	case err != nil:
		return err
	case l.Finished():
		return supersededFault(l.ID, "it has finished")
	case l.RunID != f.RunID:
		return supersededFault(l.ID, "another run carries it out")
	case l.Shared && l.Generation != f.Generation, !l.Shared && (l.lock.holder != l.ID || l.lock.generation != f.Generation):
		return supersededFault(l.ID, "it has lost its resource")
	}
	return nil
}

// batch is statements that go to the database in one round trip, and are run
// there one after the other.
type batch struct{ pgx.Batch }

// send runs them; what says in an error what they are for. A statement that
// fails is the end of the transaction.
func (b *batch) send(ctx context.Context, tx store.Tx, what string) error {
	if err := tx.SendBatch(ctx, &b.Batch).Close(); err != nil {
		return fmt.Errorf("%s: %w", what, store.Translate(err))
	}
	return nil
}
