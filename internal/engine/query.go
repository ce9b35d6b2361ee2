package engine

// Operations as operators and the services' own histories (Nova's instance
// actions, for one) read them.

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// State is an operation's state as people see it: one of these, or the Result
// of a finished one.
type State string

const (
	// Waiting: another operation has the resource.
	Waiting State = "waiting"
	// Pending: accepted, and not begun by a workflow yet.
	Pending State = "pending"
	// Running: a workflow carries it out.
	Running State = "running"
	// Held: an operator has paused its workflow.
	Held State = "held"
	// Unfinished is any of the above, in a Filter.
	Unfinished State = "unfinished"
)

// State says where the operation stands.
func (o Operation) State() State {
	switch {
	case o.Finished():
		return State(o.Result)
	case o.Hold != "":
		return Held
	case o.Begun():
		return Running
	case o.StartAfter == nil:
		return Waiting
	}
	return Pending
}

// conditions say the same in SQL.
var conditions = map[State]string{
	Unfinished:                         "finished_at IS NULL",
	Held:                               "finished_at IS NULL AND hold <> ''",
	Running:                            "finished_at IS NULL AND hold = '' AND dispatched_at IS NOT NULL",
	Waiting:                            "finished_at IS NULL AND hold = '' AND dispatched_at IS NULL AND start_after IS NULL",
	Pending:                            "finished_at IS NULL AND hold = '' AND dispatched_at IS NULL AND start_after IS NOT NULL",
	State(operations.ResultDone):       "result = 'done'",
	State(operations.ResultFailed):     "result = 'failed'",
	State(operations.ResultCancelled):  "result = 'cancelled'",
	State(operations.ResultSuperseded): "result = 'superseded'",
}

// Filter chooses operations; an empty field chooses all.
type Filter struct {
	Kind       operations.Kind
	State      State
	ProjectID  string
	ResourceID string
	RequestID  string
	// Host is the id of a host.
	Host      string
	ErrorCode string
	// OlderThan is the least age since acceptance.
	OlderThan time.Duration
	// After is the last operation of the page before.
	After string
	// Limit is at most 1000; 0 is 100.
	Limit int
}

const (
	defaultPage = 100
	maxPage     = 1000
)

// Operations lists operations, newest first. Errors: Invalid for a State,
// Limit or After that isn't one.
func (e *Engine) Operations(ctx context.Context, q store.Queryer, f Filter) ([]Operation, error) {
	state := "true"
	if f.State != "" {
		var ok bool
		if state, ok = conditions[f.State]; !ok {
			return nil, faults.New(faults.Invalid, "InvalidFilter", "%q is not a state of operations", f.State)
		}
	}
	if f.Limit < 0 || f.Limit > maxPage {
		return nil, faults.New(faults.Invalid, "InvalidFilter", "a page has 1 to %d operations", maxPage)
	}
	if f.Limit == 0 {
		f.Limit = defaultPage
	}
	if f.After != "" {
		if _, err := e.Get(ctx, q, f.After); isNotFound(err) {
			return nil, faults.New(faults.Invalid, "InvalidFilter", "there is no operation %q to go on after", f.After)
		} else if err != nil {
			return nil, err
		}
	}
	return collect(ctx, q, `SELECT `+columns+` FROM engine.operations
		WHERE `+state+`
			AND ($1 = '' OR kind = $1) AND ($2 = '' OR project_id = $2) AND ($3 = '' OR resource_id::text = $3)
			AND ($4 = '' OR request_id = $4) AND ($5 = '' OR host = $5) AND ($6 = '' OR error_code = $6)
			AND created_at <= now() - $7::interval
			AND ($8 = '' OR (created_at, id) < (SELECT created_at, id FROM engine.operations WHERE id = $8))
		ORDER BY created_at DESC, id DESC LIMIT $9`,
		f.Kind, f.ProjectID, f.ResourceID, f.RequestID, f.Host, f.ErrorCode, f.OlderThan, f.After, f.Limit)
}

// OperationEvent is one step of an operation, as it was taken.
type OperationEvent struct {
	OperationID string `db:"operation_id"`
	Seq         int    `db:"seq"`
	Step        string `db:"step"`
	Attempt     int    `db:"attempt"`
	// Host is the id of the host it was taken on.
	Host       string     `db:"host"`
	StartedAt  time.Time  `db:"started_at"`
	FinishedAt *time.Time `db:"finished_at"`
	// Result is that of an operation; empty while the step is being taken.
	Result  operations.Result `db:"result"`
	Message string            `db:"message"`
}

// Events gives the steps of operations, each operation's in their order.
func (e *Engine) Events(ctx context.Context, q store.Queryer, operationIDs ...string) ([]OperationEvent, error) {
	rows, err := q.Query(ctx, `SELECT operation_id, seq, step, attempt, host, started_at, finished_at, result, message
		FROM engine.operation_events WHERE operation_id = ANY ($1) ORDER BY operation_id, seq`, operationIDs)
	if err != nil {
		return nil, fmt.Errorf("events: %w", store.Translate(err))
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByName[OperationEvent])
	if err != nil {
		return nil, fmt.Errorf("events: %w", store.Translate(err))
	}
	return events, nil
}

// Effects gives an operation's ledger, by Seq.
func (e *Engine) Effects(ctx context.Context, q store.Queryer, operationID string) ([]operations.Effect, error) {
	return e.ledger(ctx, q, operationID)
}
