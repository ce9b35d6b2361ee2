package orchestration

// Events: what users are told of changes of state.

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// Event is a row of orchestration.events.
type Event struct {
	ID           string    `db:"id"`
	StackID      string    `db:"stack_id"`
	ResourceName string    `db:"resource_name"`
	ResourceType string    `db:"resource_type"`
	PhysicalID   string    `db:"physical_id"`
	Action       string    `db:"action"`
	Status       string    `db:"status"`
	Reason       string    `db:"reason"`
	CreatedAt    time.Time `db:"created_at"`
}

// EventOf is the event that the present state of a stack's resource is. One that
// isn't there is told by the name that it is to have.
func EventOf(s *Stack, r *Resource) Event {
	return Event{StackID: r.StackID, ResourceName: r.Name, ResourceType: r.Type, PhysicalID: cmp.Or(r.PhysicalID, MarkOf(s, r)),
		Action: r.Action, Status: r.Status, Reason: r.Reason}
}

// InsertEvents writes events in their order.
func InsertEvents(ctx context.Context, tx store.Tx, events []Event) error {
	var batch pgx.Batch
	for _, e := range events {
		batch.Queue(`INSERT INTO orchestration.events (stack_id, resource_name, resource_type, physical_id, action, status, reason)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, e.StackID, e.ResourceName, e.ResourceType, e.PhysicalID, e.Action, e.Status, e.Reason)
	}
	return send(ctx, tx, &batch, "insert events")
}

// stackType is the type that a stack has in its own events.
const stackType = "OS::Heat::Stack"

// noteStack writes the event of a stack's present state.
func noteStack(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `INSERT INTO orchestration.events (stack_id, resource_name, resource_type, physical_id, action, status, reason)
		SELECT id, name, '`+stackType+`', id::text, action, status, reason FROM orchestration.stacks WHERE id = $1`, id)
	if err != nil {
		return fmt.Errorf("event of stack %s: %w", id, store.Translate(err))
	}
	return nil
}

// maxEvents is how many events of a stack are kept, once an operation on it has
// ended.
const maxEvents = 1000

func purgeEvents(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM orchestration.events WHERE stack_id = $1 AND seq <=
		(SELECT seq FROM orchestration.events WHERE stack_id = $1 ORDER BY seq DESC OFFSET $2 LIMIT 1)`, id, maxEvents)
	if err != nil {
		return fmt.Errorf("events of stack %s: %w", id, store.Translate(err))
	}
	return nil
}

// EventFilter says which events of some stacks a list has. A nil list is any, but
// for that of the stacks.
type EventFilter struct {
	StackIDs                        []string
	Resource, ID                    string
	Names, Types, Actions, Statuses []string
	// Marker is the id of the last event of the page before.
	Marker     string
	Descending bool
	// Limit is the most that there are; 0 is all that are kept.
	Limit int
}

// ListEvents gives events in the order in which they came.
func ListEvents(ctx context.Context, q store.Queryer, f EventFilter) ([]*Event, error) {
	direction, beyond := "ASC", ">"
	if f.Descending {
		direction, beyond = "DESC", "<"
	}
	if f.Limit == 0 {
		f.Limit = most
	}
	rows, err := q.Query(ctx, `SELECT e.id::text AS id, e.stack_id::text AS stack_id, e.resource_name, e.resource_type, e.physical_id, e.action, e.status, e.reason, e.created_at
		FROM orchestration.events e WHERE e.stack_id = ANY ($1::uuid[]) AND ($2 = '' OR e.resource_name = $2) AND ($3 = '' OR e.id::text = $3)
			AND ($4::text[] IS NULL OR e.resource_name = ANY ($4)) AND ($5::text[] IS NULL OR e.resource_type = ANY ($5))
			AND ($6::text[] IS NULL OR e.action = ANY ($6))
			AND ($7::text[] IS NULL OR e.status = ANY ($7) OR e.action || '_' || e.status = ANY ($7))
			AND COALESCE(e.seq `+beyond+` (SELECT m.seq FROM orchestration.events m WHERE m.id::text = $8), true)
		ORDER BY e.seq `+direction+` LIMIT $9`,
		f.StackIDs, f.Resource, f.ID, f.Names, f.Types, f.Actions, f.Statuses, f.Marker, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("events: %w", store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Event])
	if err != nil {
		return nil, fmt.Errorf("events: %w", store.Translate(err))
	}
	return found, nil
}

// most bounds a list that asks for no bound: what a stack of the largest size
// has while it is worked on.
const most = 20000

// Span is when an action on a resource began last, and when it ended; nil is not yet.
type Span struct {
	StackID      string     `db:"stack_id"`
	ResourceName string     `db:"resource_name"`
	Action       string     `db:"action"`
	Began        time.Time  `db:"began"`
	Ended        *time.Time `db:"ended"`
}

// SpansOf gives how long actions on the resources of some stacks have last taken, as
// far as their events are kept.
func SpansOf(ctx context.Context, q store.Queryer, stackIDs []string) ([]Span, error) {
	rows, err := q.Query(ctx, `SELECT stack_id::text AS stack_id, resource_name, action, began, CASE WHEN ended >= began THEN ended END AS ended FROM (
			SELECT stack_id, resource_name, action, max(created_at) FILTER (WHERE status = '`+InProgress+`') AS began,
				max(created_at) FILTER (WHERE status <> '`+InProgress+`') AS ended
			FROM orchestration.events WHERE stack_id = ANY ($1::uuid[]) GROUP BY 1, 2, 3
		) e WHERE began IS NOT NULL`, stackIDs)
	if err != nil {
		return nil, fmt.Errorf("spans of events: %w", store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Span])
	if err != nil {
		return nil, fmt.Errorf("spans of events: %w", store.Translate(err))
	}
	return found, nil
}
