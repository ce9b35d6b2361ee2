package orchestration

// Snapshots of stacks, and what they have of resources.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Snapshot is a row of orchestration.snapshots.
type Snapshot struct {
	ID      string  `db:"id"`
	StackID string  `db:"stack_id"`
	Name    *string `db:"name"`
	// Action is CREATE, or DELETE once it is to go.
	Action string  `db:"action"`
	Status string  `db:"status"`
	Reason *string `db:"reason"`
	// TemplateID is what the stack was asked to be by.
	TemplateID int64     `db:"template_id"`
	Tags       []string  `db:"tags"`
	CreatedAt  time.Time `db:"created_at"`
}

const snapshotColumns = `n.id::text AS id, n.stack_id::text AS stack_id, n.name, n.action, n.status, n.reason, n.template_id, n.tags, n.created_at`

// InsertSnapshot writes a snapshot that is to be taken. The caller has given it an id.
func InsertSnapshot(ctx context.Context, tx store.Tx, n *Snapshot) error {
	err := tx.QueryRow(ctx, `INSERT INTO orchestration.snapshots (id, stack_id, name, template_id, tags) VALUES ($1, $2, $3, $4, $5)
		RETURNING action, status, created_at`, n.ID, n.StackID, n.Name, n.TemplateID, orEmpty(n.Tags)).Scan(&n.Action, &n.Status, &n.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert snapshot: %w", store.Translate(err))
	}
	return nil
}

// CountSnapshots is how many snapshots a stack has.
func CountSnapshots(ctx context.Context, q store.Queryer, stackID string) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM orchestration.snapshots WHERE stack_id = $1 AND deleted_at IS NULL`, stackID).Scan(&n)
	return n, store.Translate(err)
}

// Snapshots are a stack's, in the order in which they were taken.
func Snapshots(ctx context.Context, q store.Queryer, stackID string) ([]*Snapshot, error) {
	return snapshotsOf(ctx, q, `WHERE n.stack_id = $1 AND n.deleted_at IS NULL ORDER BY n.created_at, n.id`, stackID)
}

// GetSnapshot gives a stack's snapshot by its id. Errors: NotFound.
func GetSnapshot(ctx context.Context, q store.Queryer, s *Stack, id string) (*Snapshot, error) {
	return oneSnapshot(ctx, q, s, id, "")
}

// LockSnapshot is GetSnapshot, and locks the row until the transaction ends.
// Errors: NotFound.
func LockSnapshot(ctx context.Context, tx store.Tx, s *Stack, id string) (*Snapshot, error) {
	return oneSnapshot(ctx, tx, s, id, " FOR NO KEY UPDATE")
}

func oneSnapshot(ctx context.Context, q store.Queryer, s *Stack, id, locking string) (*Snapshot, error) {
	missing := faults.New(faults.NotFound, "SnapshotNotFound", "The Snapshot (%s) for Stack (%s) could not be found.", id, s.Name)
	if uuid.Validate(id) != nil {
		return nil, missing
	}
	found, err := snapshotsOf(ctx, q, `WHERE n.id = $1 AND n.stack_id = $2 AND n.deleted_at IS NULL`+locking, id, s.ID)
	if err == nil && len(found) == 0 {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func snapshotsOf(ctx context.Context, q store.Queryer, where string, args ...any) ([]*Snapshot, error) {
	rows, err := q.Query(ctx, `SELECT `+snapshotColumns+` FROM orchestration.snapshots n `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Snapshot])
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", store.Translate(err))
	}
	return found, nil
}

// StartSnapshotDelete shows that a snapshot is to go.
func StartSnapshotDelete(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE orchestration.snapshots SET action = '`+ActionDelete+`', status = '`+InProgress+`', reason = 'Snapshot delete started' WHERE id = $1`, id)
	if err != nil {
		return fmt.Errorf("delete snapshot %s: %w", id, store.Translate(err))
	}
	return nil
}

// SnapshotLocks tells the engine how snapshots are locked while they are deleted.
func SnapshotLocks() engine.Resource {
	return engine.Resource{Type: operations.Snapshot, Table: "orchestration.snapshots",
		Abandon: func(ctx context.Context, tx store.Tx, op engine.Operation, result operations.Result, f *steps.Fault) error {
			return PublishSnapshot(ctx, tx, op.ResourceID, result, f)
		}}
}

// PublishSnapshot makes true of a snapshot what has come of its deletion.
func PublishSnapshot(ctx context.Context, tx store.Tx, id string, result operations.Result, f *steps.Fault) error {
	if result == operations.ResultDone {
		_, err := tx.Exec(ctx, `UPDATE orchestration.snapshots SET status = '`+Complete+`', deleted_at = now() WHERE id = $1`, id)
		return store.Translate(err)
	}
	why := "it could not be deleted"
	if f != nil {
		why = cmp.Or(f.Message, why)
	}
	_, err := tx.Exec(ctx, `UPDATE orchestration.snapshots SET status = '`+Failed+`', reason = $2 WHERE id = $1`, id, why)
	return store.Translate(err)
}

// endSnapshot says of the snapshot that is being taken of a stack, if there is one,
// that it is over.
func endSnapshot(ctx context.Context, tx store.Tx, stackID, status, reason string) error {
	_, err := tx.Exec(ctx, `UPDATE orchestration.snapshots SET status = $2, reason = $3
		WHERE stack_id = $1 AND action = '`+ActionCreate+`' AND status = '`+InProgress+`'`, stackID, status, reason)
	if err != nil {
		return fmt.Errorf("snapshot of stack %s: %w", stackID, store.Translate(err))
	}
	return nil
}

// withdraw ends the snapshot that an operation was to take that never began.
func withdraw(ctx context.Context, tx store.Tx, op engine.Operation, _ operations.Result) error {
	if op.Kind != operations.StackSnapshot {
		return nil
	}
	return endSnapshot(ctx, tx, op.ResourceID, Failed, "Stack "+ActionSnapshot+" cancelled")
}

// purgeSnapshots forgets the snapshots of a stack that are gone; all, if the stack is.
func purgeSnapshots(ctx context.Context, tx store.Tx, stackID string, all bool) error {
	_, err := tx.Exec(ctx, `DELETE FROM orchestration.snapshots WHERE stack_id = $1 AND (deleted_at IS NOT NULL OR $2) AND operation_id IS NULL`, stackID, all)
	if err != nil {
		return fmt.Errorf("snapshots of stack %s: %w", stackID, store.Translate(err))
	}
	return nil
}

// StackOfSnapshot gives the id of the stack that a snapshot was taken of.
// Errors: NotFound.
func StackOfSnapshot(ctx context.Context, q store.Queryer, id string) (stackID string, err error) {
	err = q.QueryRow(ctx, `SELECT stack_id::text FROM orchestration.snapshots WHERE id = $1`, id).Scan(&stackID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", faults.New(faults.NotFound, "SnapshotNotFound", "The Snapshot (%s) could not be found.", id)
	}
	if err != nil {
		return "", fmt.Errorf("snapshot %s: %w", id, store.Translate(err))
	}
	return stackID, nil
}

// ResourceSnapshot is a row of orchestration.resource_snapshots.
type ResourceSnapshot struct {
	ID         int64  `db:"id"`
	SnapshotID string `db:"snapshot_id"`
	Name       string `db:"name"`
	Type       string `db:"type"`
	CarriedBy  string `db:"carried_by"`
	// Mark is the resource's own.
	Mark       string `db:"mark"`
	Action     string `db:"action"`
	Status     string `db:"status"`
	PhysicalID string `db:"physical_id"`
	Metadata   string `db:"metadata"`
	// State is sealed.
	State []byte `db:"state"`
}

// Carrier is what carried the resource out.
func (r *ResourceSnapshot) Carrier() string { return cmp.Or(r.CarriedBy, r.Type) }

const resourceSnapshotColumns = `k.id, k.snapshot_id::text AS snapshot_id, k.name, k.type, k.carried_by, k.mark, k.action, k.status, k.physical_id, k.metadata, k.state`

// ResourceSnapshots are what some snapshots have of resources.
func ResourceSnapshots(ctx context.Context, q store.Queryer, snapshotIDs []string) ([]*ResourceSnapshot, error) {
	return resourceSnapshotsOf(ctx, q, `WHERE k.snapshot_id = ANY ($1::uuid[]) ORDER BY k.id`, snapshotIDs)
}

// ResourceSnapshotsOfStack are what all snapshots of a stack have of resources.
func ResourceSnapshotsOfStack(ctx context.Context, q store.Queryer, stackID string) ([]*ResourceSnapshot, error) {
	return resourceSnapshotsOf(ctx, q, `JOIN orchestration.snapshots n ON n.id = k.snapshot_id WHERE n.stack_id = $1 ORDER BY k.id`, stackID)
}

// ResourceSnapshotNamed is what a snapshot has of a resource; nil is nothing.
func ResourceSnapshotNamed(ctx context.Context, q store.Queryer, snapshotID, name string) (*ResourceSnapshot, error) {
	found, err := resourceSnapshotsOf(ctx, q, `WHERE k.snapshot_id = $1 AND k.name = $2`, snapshotID, name)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// ResourceSnapshotsByID are those of some ids that are there still.
func ResourceSnapshotsByID(ctx context.Context, q store.Queryer, ids []int64) ([]*ResourceSnapshot, error) {
	return resourceSnapshotsOf(ctx, q, `WHERE k.id = ANY ($1) ORDER BY k.id`, ids)
}

func resourceSnapshotsOf(ctx context.Context, q store.Queryer, where string, args ...any) ([]*ResourceSnapshot, error) {
	rows, err := q.Query(ctx, `SELECT `+resourceSnapshotColumns+` FROM orchestration.resource_snapshots k `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("resource snapshots: %w", store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[ResourceSnapshot])
	if err != nil {
		return nil, fmt.Errorf("resource snapshots: %w", store.Translate(err))
	}
	return found, nil
}

// PutResourceSnapshots writes what a snapshot has of resources by now.
func PutResourceSnapshots(ctx context.Context, tx store.Tx, kept []*ResourceSnapshot) error {
	var batch pgx.Batch
	for _, k := range kept {
		batch.Queue(`INSERT INTO orchestration.resource_snapshots (snapshot_id, name, type, carried_by, mark, action, status, physical_id, metadata, state)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (snapshot_id, name) DO UPDATE SET action = $6, status = $7, physical_id = $8, metadata = $9, state = $10`,
			k.SnapshotID, k.Name, k.Type, k.CarriedBy, k.Mark, k.Action, k.Status, k.PhysicalID, k.Metadata, k.State)
	}
	return send(ctx, tx, &batch, "put resource snapshots")
}

// DeleteResourceSnapshots removes the rows of copies that are gone.
func DeleteResourceSnapshots(ctx context.Context, tx store.Tx, ids []int64) error {
	if _, err := tx.Exec(ctx, `DELETE FROM orchestration.resource_snapshots WHERE id = ANY ($1)`, ids); err != nil {
		return fmt.Errorf("delete resource snapshots: %w", store.Translate(err))
	}
	return nil
}
