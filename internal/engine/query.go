package engine

// Operations as operators and the services' own histories (Nova's instance
// actions, for one) read them.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
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
	// Held: its workflow is there and does not go on (Operation.Hold).
	Held State = "held"
	// Unfinished is any of the above, in a Filter, and Cancelling one of them that was
	// asked to end.
	Unfinished State = "unfinished"
	Cancelling State = "cancelling"
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
	Cancelling:                         "finished_at IS NULL AND cancel_requested_at IS NOT NULL",
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
// ResourceID, Limit or After that isn't one.
func (e *Engine) Operations(ctx context.Context, q store.Queryer, f Filter) ([]Operation, error) {
	c, err := f.conditions()
	if err != nil {
		return nil, err
	}
	if f.After != "" {
		after, err := e.Get(ctx, q, f.After)
		if isNotFound(err) {
			return nil, faults.New(faults.Invalid, "InvalidFilter", "there is no operation %q to go on after", f.After)
		} else if err != nil {
			return nil, err
		}
		c.add("(created_at, id) < (%s, %s)", after.CreatedAt, after.ID)
	}
	if f.Limit < 0 || f.Limit > maxPage {
		return nil, faults.New(faults.Invalid, "InvalidFilter", "a page has 1 to %d operations", maxPage)
	}
	if f.Limit == 0 {
		f.Limit = defaultPage
	}
	return collect(ctx, q, fmt.Sprintf(`SELECT %s FROM engine.operations o WHERE %s ORDER BY created_at DESC, id DESC LIMIT %d`,
		columns, strings.Join(c.all, " AND "), f.Limit), c.args...)
}

func stateNames() string {
	var names []string
	for state := range conditions {
		names = append(names, string(state))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// conditions says in SQL what the filter asks for, its place in the list left out.
func (f Filter) conditions() (*where, error) {
	c := &where{all: []string{"true"}}
	if f.State != "" {
		state, ok := conditions[f.State]
		if !ok {
			return nil, faults.New(faults.Invalid, "InvalidFilter", "%q is not a state of operations; there are %s", f.State, stateNames())
		}
		c.add(state)
	}
	if f.ResourceID != "" {
		id, err := uuid.Parse(f.ResourceID)
		if err != nil {
			return nil, faults.Wrap(err, faults.Invalid, "InvalidFilter", "%q is not the id of a resource", f.ResourceID)
		}
		c.add("resource_id = %s", id.String())
	}
	for _, equal := range []struct{ column, value string }{
		{"kind", string(f.Kind)}, {"project_id", f.ProjectID}, {"request_id", f.RequestID}, {"host", f.Host}, {"error_code", f.ErrorCode},
	} {
		if equal.value != "" {
			c.add(equal.column+" = %s", equal.value)
		}
	}
	if f.OlderThan > 0 {
		c.add("created_at <= now() - %s::interval", f.OlderThan)
	}
	return c, nil
}

// where collects conditions and their arguments.
type where struct {
	all  []string
	args []any
}

// add adds a condition; each %s in it is the place of an argument.
func (c *where) add(condition string, args ...any) {
	places := make([]any, len(args))
	for i, arg := range args {
		c.args = append(c.args, arg)
		places[i] = fmt.Sprintf("$%d", len(c.args))
	}
	c.all = append(c.all, fmt.Sprintf(condition, places...))
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

// RetriedBy gives the newest operation of the same kind that was made to do an
// operation again; "" if none was. A recover operation is none.
func (e *Engine) RetriedBy(ctx context.Context, q store.Queryer, operationID string) (id string, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE((SELECT heir.id FROM engine.operations o JOIN engine.operations heir ON heir.retry_of = o.id AND heir.kind = o.kind
		WHERE o.id = $1 ORDER BY heir.created_at DESC, heir.id DESC LIMIT 1), '')`, operationID).Scan(&id)
	return id, store.Translate(err)
}
