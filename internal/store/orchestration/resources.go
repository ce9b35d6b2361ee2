package orchestration

// Resources: rows, read by the many and written by the many.

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// Resource is a row of orchestration.resources.
type Resource struct {
	ID      int64  `db:"id"`
	StackID string `db:"stack_id"`
	Name    string `db:"name"`
	Type    string `db:"type"`
	// CarriedBy is what carries it out, where its type's name stands for something
	// else; empty where it doesn't.
	CarriedBy  string `db:"carried_by"`
	Action     string `db:"action"`
	Status     string `db:"status"`
	Reason     string `db:"reason"`
	PhysicalID string `db:"physical_id"`
	// State is sealed.
	State    []byte `db:"state"`
	Metadata string `db:"metadata"`
	// DeletionPolicy is "Delete", "Retain" or "Snapshot".
	DeletionPolicy string  `db:"deletion_policy"`
	TemplateID     int64   `db:"template_id"`
	Requires       []int64 `db:"requires"`
	// Replaces is the row whose place this one takes, ReplacedBy the one that takes
	// its place; 0 if there is none.
	Replaces   int64 `db:"replaces"`
	ReplacedBy int64 `db:"replaced_by"`
	// DoneIn is the traversal that has done its part in it; WakeAt is until when
	// it waits.
	DoneIn    string     `db:"done_in"`
	WakeAt    *time.Time `db:"wake_at"`
	CreatedAt time.Time  `db:"created_at"`
	UpdatedAt *time.Time `db:"updated_at"`
}

// Carrier is what carries the resource out: its type, or what that stands for.
func (r *Resource) Carrier() string { return cmp.Or(r.CarriedBy, r.Type) }

const resourceColumns = `r.id, r.stack_id::text AS stack_id, r.name, r.type, r.carried_by, r.action, r.status, r.reason, r.physical_id, r.state, r.metadata, r.deletion_policy,
	r.template_id, r.requires, COALESCE(r.replaces, 0) AS replaces, COALESCE(r.replaced_by, 0) AS replaced_by, r.done_in, r.wake_at, r.created_at, r.updated_at`

// Resources are a stack's, in the order in which they were made.
func Resources(ctx context.Context, q store.Queryer, stackID string) ([]*Resource, error) {
	return resourcesOf(ctx, q, `WHERE r.stack_id = $1 ORDER BY r.id`, stackID)
}

// ResourcesWithNeeds are the resources of some ids, those that they need, what
// replaces them and what they replace, and all of some names.
func ResourcesWithNeeds(ctx context.Context, q store.Queryer, stackID string, ids []int64, names ...string) ([]*Resource, error) {
	return resourcesOf(ctx, q, `WHERE r.stack_id = $1 AND (r.id = ANY ($2)
		OR r.name = ANY ($3)
		OR r.id IN (SELECT unnest(n.requires) FROM orchestration.resources n WHERE n.id = ANY ($2))
		OR r.id IN (SELECT n.replaces FROM orchestration.resources n WHERE n.id = ANY ($2))
		OR r.replaces = ANY ($2)) ORDER BY r.id`, stackID, ids, names)
}

// ResourcesNamed are a stack's of one name, the newest last.
func ResourcesNamed(ctx context.Context, q store.Queryer, stackID, name string) ([]*Resource, error) {
	return resourcesOf(ctx, q, `WHERE r.stack_id = $1 AND r.name = $2 ORDER BY r.id`, stackID, name)
}

// PutSignal writes what a resource was signalled, and has those of some types that
// are in progress be looked at again. The caller holds the stack.
func PutSignal(ctx context.Context, tx store.Tx, r *Resource, waiting []string, told Event) error {
	var batch pgx.Batch
	batch.Queue(`UPDATE orchestration.resources SET metadata = $2, updated_at = now() WHERE id = $1`, r.ID, r.Metadata)
	batch.Queue(`UPDATE orchestration.resources SET wake_at = NULL WHERE stack_id = $1 AND COALESCE(NULLIF(carried_by, ''), type) = ANY ($2) AND status = '`+InProgress+`'`, r.StackID, waiting)
	if err := send(ctx, tx, &batch, "put a signal"); err != nil {
		return err
	}
	return InsertEvents(ctx, tx, []Event{told})
}

func resourcesOf(ctx context.Context, q store.Queryer, where string, args ...any) ([]*Resource, error) {
	rows, err := q.Query(ctx, `SELECT `+resourceColumns+` FROM orchestration.resources r `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("resources: %w", store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Resource])
	if err != nil {
		return nil, fmt.Errorf("resources: %w", store.Translate(err))
	}
	return found, nil
}

// InsertResources writes rows of resources that nothing was done for yet, and
// gives them their ids.
func InsertResources(ctx context.Context, tx store.Tx, stackID string, templateID int64, resources []*Resource) error {
	names, types, carried := make([]string, len(resources)), make([]string, len(resources)), make([]string, len(resources))
	for i, r := range resources {
		names[i], types[i], carried[i] = r.Name, r.Type, r.CarriedBy
	}
	rows, err := tx.Query(ctx, `INSERT INTO orchestration.resources (stack_id, name, type, carried_by, template_id)
		SELECT $1, name, type, carried_by, $2 FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS asked (name, type, carried_by, place) ORDER BY place
		RETURNING name, id`, stackID, templateID, names, types, carried)
	if err != nil {
		return fmt.Errorf("insert resources: %w", store.Translate(err))
	}
	ids := map[string]int64{}
	var name string
	var id int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &id}, func() error { ids[name] = id; return nil }); err != nil {
		return fmt.Errorf("insert resources: %w", store.Translate(err))
	}
	for _, r := range resources {
		r.ID, r.StackID, r.TemplateID, r.Action, r.Status = ids[r.Name], stackID, templateID, ActionInit, Complete
		r.DeletionPolicy, r.Metadata = "Delete", "{}"
	}
	return nil
}

// InsertSealed is InsertResources of those of which something is sealed, once they have
// their ids.
func InsertSealed(ctx context.Context, tx store.Tx, stackID string, templateID int64, resources []*Resource, seal func() error) error {
	if err := InsertResources(ctx, tx, stackID, templateID, resources); err != nil {
		return err
	}
	if err := seal(); err != nil {
		return err
	}
	return PutResources(ctx, tx, resources)
}

// PutRequires writes what resources need.
func PutRequires(ctx context.Context, tx store.Tx, resources []*Resource) error {
	var batch pgx.Batch
	for _, r := range resources {
		if len(r.Requires) > 0 {
			batch.Queue(`UPDATE orchestration.resources SET requires = $2 WHERE id = $1`, r.ID, r.Requires)
		}
	}
	return send(ctx, tx, &batch, "put what resources need")
}

// PutResources writes what has become of resources.
func PutResources(ctx context.Context, tx store.Tx, resources []*Resource) error {
	var batch pgx.Batch
	for _, r := range resources {
		batch.Queue(`UPDATE orchestration.resources SET action = $2, status = $3, reason = $4, physical_id = $5, state = $6, metadata = $7,
			template_id = $8, done_in = $9, wake_at = $10, deletion_policy = $11, requires = $12, replaces = NULLIF($13::bigint, 0), replaced_by = NULLIF($14::bigint, 0), updated_at = now() WHERE id = $1`,
			r.ID, r.Action, r.Status, r.Reason, r.PhysicalID, r.State, r.Metadata, r.TemplateID, r.DoneIn, r.WakeAt, r.DeletionPolicy, orEmpty(r.Requires), r.Replaces, r.ReplacedBy)
	}
	return send(ctx, tx, &batch, "put resources")
}

// DeleteResources removes the rows of resources that are gone.
func DeleteResources(ctx context.Context, tx store.Tx, ids []int64) error {
	_, err := tx.Exec(ctx, `WITH gone AS (DELETE FROM orchestration.resources WHERE id = ANY ($1))
		UPDATE orchestration.resources SET replaces = NULL WHERE replaces = ANY ($1) AND id <> ALL ($1)`, ids)
	if err != nil {
		return fmt.Errorf("delete resources: %w", store.Translate(err))
	}
	return nil
}

func send(ctx context.Context, tx store.Tx, batch *pgx.Batch, what string) error {
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("%s: %w", what, store.Translate(err))
	}
	return nil
}
