package engine

// The operation's row: read, written anew, ended.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// Operation is a row of engine.operations.
type Operation struct {
	ID           string                  `db:"id"`
	Kind         operations.Kind         `db:"kind"`
	ResourceType operations.ResourceType `db:"resource_type"`
	ResourceID   string                  `db:"resource_id"`
	ProjectID    string                  `db:"project_id"`
	UserID       string                  `db:"user_id"`
	RequestID    string                  `db:"request_id"`
	// Input is what the request asked for; it holds no secret.
	Input json.RawMessage `db:"input"`
	// Step is the one it has come to, Attempt the try it is in, Host the id of
	// the host it last worked on.
	Step    string `db:"step"`
	Attempt int    `db:"attempt"`
	Host    string `db:"host"`
	// RunID is the workflow run that carries it out; empty until it has begun.
	RunID     string    `db:"run_id"`
	CreatedAt time.Time `db:"created_at"`
	Deadline  time.Time `db:"deadline"`
	// StartAfter is when the dispatcher may start it; nil while it waits for
	// another operation to let go of the resource, or to have had its turn.
	StartAfter   *time.Time `db:"start_after"`
	DispatchedAt *time.Time `db:"dispatched_at"`
	FinishedAt   *time.Time `db:"finished_at"`
	// Result, ErrorCode and Message are set when it has finished.
	Result            operations.Result `db:"result"`
	ErrorCode         string            `db:"error_code"`
	Message           string            `db:"message"`
	ParentID          string            `db:"parent_operation_id"`
	RetryOf           string            `db:"retry_of"`
	CancelRequestedAt *time.Time        `db:"cancel_requested_at"`
	CancelRequestedBy string            `db:"cancel_requested_by"`
	// Hold says why its workflow, which is there, does not go on: "paused" by
	// hand, or "failing" in a way that a worker of another release may mend.
	Hold      string    `db:"hold"`
	CheckedAt time.Time `db:"checked_at"`
	// TraceParent is the span that it was accepted in; empty if none.
	TraceParent string `db:"trace_parent"`
	// Shared says that it shares its resource, and Generation is then the one
	// that it has begun under, 0 before.
	Shared     bool  `db:"shared"`
	Generation int64 `db:"own_generation"`
}

// Finished says whether the operation has ended.
func (o Operation) Finished() bool { return o.FinishedAt != nil }

// Begun says whether a workflow has begun to carry it out.
func (o Operation) Begun() bool { return o.DispatchedAt != nil }

// columns are the fields of Operation, in a SELECT list from engine.operations o.
const columns = `o.id, o.kind, o.resource_type, o.resource_id::text AS resource_id, o.project_id, o.user_id, o.request_id, o.input,
	o.step, o.attempt, o.host, o.run_id, o.created_at, o.deadline, o.start_after, o.dispatched_at, o.finished_at,
	COALESCE(o.result, '') AS result, o.error_code, o.message, COALESCE(o.parent_operation_id, '') AS parent_operation_id,
	COALESCE(o.retry_of, '') AS retry_of, o.cancel_requested_at, o.cancel_requested_by, o.hold, o.checked_at, o.trace_parent,
	o.generation IS NOT NULL AS shared, COALESCE(o.generation, 0) AS own_generation`

// Get reads one operation. Errors: NotFound.
func (e *Engine) Get(ctx context.Context, q store.Queryer, id string) (Operation, error) {
	return one(ctx, q, id, "")
}

// lockOperation reads an operation's row and locks it until the transaction
// ends; the resource's row is locked already.
func lockOperation(ctx context.Context, tx store.Tx, id string) (Operation, error) {
	return one(ctx, tx, id, " FOR NO KEY UPDATE")
}

func one(ctx context.Context, q store.Queryer, id, locking string) (Operation, error) {
	ops, err := collect(ctx, q, `SELECT `+columns+` FROM engine.operations o WHERE id = $1`+locking, id)
	if err != nil {
		return Operation{}, err
	}
	if len(ops) == 0 {
		return Operation{}, notFound(id)
	}
	return ops[0], nil
}

// collect runs a query for whole rows.
func collect(ctx context.Context, q store.Queryer, sql string, args ...any) ([]Operation, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("operations: %w", store.Translate(err))
	}
	ops, err := pgx.CollectRows(rows, pgx.RowToStructByName[Operation])
	if err != nil {
		return nil, fmt.Errorf("operations: %w", store.Translate(err))
	}
	return ops, nil
}

// unfinished locks an operation's row and gives it if it has not ended; nil if
// it has, or if id is empty.
func unfinished(ctx context.Context, tx store.Tx, id string) (*Operation, error) {
	if id == "" {
		return nil, nil
	}
	op, err := lockOperation(ctx, tx, id)
	if err != nil || op.Finished() {
		return nil, err
	}
	return &op, nil
}

// starterGrace is how long an operation is left to the starter of the process
// that accepted it before the dispatcher takes it.
const starterGrace = 2 * time.Second

// insert writes a new operation and the effects that its ledger begins with. One
// whose turn it is may be started after grace; one that waits may not be started.
func insert(ctx context.Context, tx store.Tx, spec operations.Spec, op *Operation, startable bool, grace time.Duration, effects ...operations.Effect) error {
	var b batch
	if err := b.insert(ctx, spec, op, startable, grace, effects...); err != nil {
		return err
	}
	return b.send(ctx, tx, "accept "+op.ID)
}

func (b *batch) insert(ctx context.Context, spec operations.Spec, op *Operation, startable bool, grace time.Duration, effects ...operations.Effect) error {
	if len(effects) > 0 && spec.Exclusive && !spec.Prepared {
		return faults.New(faults.Internal, "NotPrepared", "a request for %s has effects of its own", spec.Kind)
	}
	op.ID = operations.NewID(spec.Kind, op.ResourceID, time.Now())
	op.Kind, op.ResourceType = spec.Kind, spec.Resource
	b.Queue(`
		INSERT INTO engine.operations (id, kind, resource_type, resource_id, project_id, user_id, request_id, input,
			attempt, host, deadline, start_after, parent_operation_id, retry_of, generation)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() + $11::interval, CASE WHEN $12 THEN now() + $13::interval END, NULLIF($14, ''), NULLIF($15, ''),
			CASE WHEN $16 THEN 0 END)`,
		op.ID, op.Kind, op.ResourceType, op.ResourceID, op.ProjectID, op.UserID, op.RequestID, op.Input,
		max(op.Attempt, 1), op.Host, spec.Deadline, startable, grace, op.ParentID, op.RetryOf, !spec.Exclusive)
	b.noteTrace(ctx, op.ID)
	return b.intend(Locked{Operation: *op}, effects)
}

// ending is how an operation ends.
type ending struct {
	result  operations.Result
	code    string
	message string
}

// unended says that the row found by its id is not finished, in words that
// promise no partial index anything. Before a table has statistics the planner
// takes all of such an index for a shorter way than the id's own, and a prepared
// statement keeps to the way it has found.
const unended = "num_nulls(finished_at) = 1"

// end finishes an operation's row and closes the event it was in.
func end(ctx context.Context, tx store.Tx, op Operation, how ending) error {
	var b batch
	b.end(op, how)
	return b.send(ctx, tx, "finish "+op.ID)
}

func (b *batch) end(op Operation, how ending) {
	b.Queue(`UPDATE engine.operations
		SET finished_at = now(), result = $2, error_code = $3, message = $4, hold = ''
		WHERE id = $1 AND `+unended, op.ID, how.result, how.code, how.message).
		Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				return supersededFault(op.ID, "it has finished")
			}
			return nil
		})
	b.closeEvent(op, how)
	if how.result != operations.ResultDone {
		b.cancelParts(op.ID)
	}
}

// cancelParts asks for the end of the operations that were a part of one which ends
// without having done what it should.
func (b *batch) cancelParts(operationID string) {
	b.Queue(`UPDATE engine.operations SET cancel_requested_at = now(), cancel_requested_by = $1
		WHERE parent_operation_id = $1 AND finished_at IS NULL AND cancel_requested_at IS NULL`, operationID)
}

// supersededFault tells a workflow that its operation is no longer its own.
func supersededFault(id, why string) error {
	return faults.New(faults.Superseded, "Superseded", "operation %s may not go on: %s", id, why)
}

func isNotFound(err error) bool {
	var f *faults.Error
	return errors.As(err, &f) && f.Kind == faults.NotFound
}
