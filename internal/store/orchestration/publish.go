package orchestration

// What the engine knows of stacks, and what a finished operation makes true of
// one.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Locks tells the engine how stacks are locked.
func Locks() engine.Resource {
	return engine.Resource{Type: operations.Stack, Table: "orchestration.stacks", Abandon: abandon, Withdraw: withdraw}
}

// abandon says of a stack whose operation ended without having begun that it
// has failed; its resources are what they were. The caller holds the row.
func abandon(ctx context.Context, tx store.Tx, op engine.Operation, result operations.Result, f *steps.Fault) error {
	s, err := GetStack(ctx, tx, "", op.ResourceID)
	if err != nil {
		return err
	}
	reason := f.Message
	if result == operations.ResultCancelled {
		reason = "Stack " + s.Action + " cancelled"
	}
	return Publish(ctx, tx, op.ResourceID, steps.StackOutcome{Action: s.Action, Status: Failed, Reason: reason})
}

// Brief is what a workflow needs to know of a stack.
func Brief(ctx context.Context, q store.Queryer, id string) (*steps.StackBrief, error) {
	s, err := GetStack(ctx, q, "", id)
	if err != nil {
		return nil, err
	}
	snapshots, err := CountSnapshots(ctx, q, id)
	if err != nil {
		return nil, err
	}
	reason, err := reasonOf(ctx, q, s)
	if err != nil {
		return nil, err
	}
	return &steps.StackBrief{ID: s.ID, Action: s.Action, Reason: reason, Timeout: s.Timeout(), Rollback: !s.DisableRollback, Snapshots: snapshots > 0}, nil
}

// reasonOf is why a stack is in its state; of one that takes something back, why that
// has failed.
func reasonOf(ctx context.Context, q store.Queryer, s *Stack) (reason string, err error) {
	if s.Action != ActionRollback || s.Status != InProgress {
		return s.Reason, nil
	}
	err = q.QueryRow(ctx, `SELECT COALESCE((SELECT reason FROM orchestration.events
		WHERE stack_id = $1 AND physical_id = $1::text AND resource_type = '`+stackType+`' AND status = '`+Failed+`' ORDER BY seq DESC LIMIT 1), $2)`, s.ID, s.Reason).Scan(&reason)
	if err != nil {
		return "", fmt.Errorf("why stack %s is rolled back: %w", s.ID, store.Translate(err))
	}
	return reason, nil
}

// Publish makes o true of a stack: its state, and the event of that, unless an
// operation that waits for the stack has shown its own, and the end of whatever is still in progress of
// its resources. The caller has checked the fence.
func Publish(ctx context.Context, tx store.Tx, id string, o steps.StackOutcome) error {
	if err := stopResources(ctx, tx, id, o.Interrupted); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		WITH told AS (
			INSERT INTO orchestration.events (stack_id, resource_name, resource_type, physical_id, action, status, reason)
			SELECT id, name, '`+stackType+`', id::text, $2::text, $3::text, $4::text FROM orchestration.stacks WHERE id = $1 AND deleted_at IS NULL AND (next_operation_id IS NULL OR $5)
		)
		UPDATE orchestration.stacks SET action = $2, status = $3, reason = $4,
			updated_at = CASE WHEN $2 = '`+ActionCreate+`' THEN updated_at ELSE now() END, deleted_at = CASE WHEN $5 THEN now() END
		WHERE id = $1 AND deleted_at IS NULL AND (next_operation_id IS NULL OR $5)`, id, o.Action, o.Status, o.Reason, o.Deleted)
	if err != nil {
		return fmt.Errorf("publish stack %s: %w", id, store.Translate(err))
	}
	if err := endSnapshot(ctx, tx, id, o.Status, o.Reason); err != nil {
		return err
	}
	if err := purgeSnapshots(ctx, tx, id, o.Deleted); err != nil {
		return err
	}
	if err := purgeTemplates(ctx, tx, id); err != nil {
		return err
	}
	return purgeEvents(ctx, tx, id)
}

// purgeTemplates forgets the templates that no resource is made by, and that
// nobody asks for but the operation that ends.
func purgeTemplates(ctx context.Context, tx store.Tx, id string) error {
	rows, err := tx.Query(ctx, `DELETE FROM orchestration.templates t WHERE t.stack_id = $1
		AND NOT EXISTS (SELECT FROM orchestration.stacks s WHERE s.id = $1 AND s.template_id = t.id)
		AND NOT EXISTS (SELECT FROM orchestration.resources r WHERE r.stack_id = $1 AND r.template_id = t.id)
		AND NOT EXISTS (SELECT FROM orchestration.snapshots n WHERE n.stack_id = $1 AND n.template_id = t.id)
		AND NOT EXISTS (SELECT FROM engine.operations o JOIN orchestration.stacks s ON s.id = o.resource_id
			WHERE o.resource_id = $1 AND o.finished_at IS NULL AND o.id IS DISTINCT FROM s.operation_id AND t.id IN ((o.input->>'template')::bigint, (o.input->>'previous')::bigint))
		RETURNING t.files_id`, id)
	if err != nil {
		return fmt.Errorf("templates of stack %s: %w", id, store.Translate(err))
	}
	files, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("templates of stack %s: %w", id, store.Translate(err))
	}
	return purgeFiles(ctx, tx, files)
}

// purgeFiles forgets those of some files that no template has any more. Of two who
// forget the last templates that have some, one waits here for the other.
func purgeFiles(ctx context.Context, tx store.Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `SELECT FROM orchestration.files WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE`, ids); err != nil {
		return fmt.Errorf("files: %w", store.Translate(err))
	}
	_, err := tx.Exec(ctx, `DELETE FROM orchestration.files f WHERE f.id = ANY ($1) AND NOT EXISTS (SELECT FROM orchestration.templates t WHERE t.files_id = f.id)`, ids)
	if err != nil {
		return fmt.Errorf("files: %w", store.Translate(err))
	}
	return nil
}

// ShowRollback shows that a stack takes back what failed, after the event of that, and
// ends what is still in progress of its resources;
// what it was before the operation is what it is asked to be from then on.
func ShowRollback(ctx context.Context, tx store.Tx, id, reason string) error {
	tag, err := tx.Exec(ctx, `
		WITH failed AS (
			INSERT INTO orchestration.events (stack_id, resource_name, resource_type, physical_id, action, status, reason)
			SELECT id, name, '`+stackType+`', id::text, action, '`+Failed+`', $2 FROM orchestration.stacks
			WHERE id = $1 AND action <> '`+ActionRollback+`' AND next_operation_id IS NULL
		)
		UPDATE orchestration.stacks SET action = '`+ActionRollback+`', status = '`+InProgress+`', reason = 'Stack `+ActionRollback+` started', updated_at = now(),
			template_id = COALESCE((SELECT (o.input->>'previous')::bigint FROM engine.operations o WHERE o.id = operation_id), template_id)
		WHERE id = $1 AND action <> '`+ActionRollback+`' AND next_operation_id IS NULL`, id, reason)
	if err != nil {
		return fmt.Errorf("roll back stack %s: %w", id, store.Translate(err))
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	why := ""
	if timedOut(reason) {
		why = "Timed out"
	}
	if err := stopResources(ctx, tx, id, why); err != nil {
		return err
	}
	return noteStack(ctx, tx, id)
}

// timedOut says whether a reason is that of a stack that has taken too long, "Create timed
// out", and not what one of its resources says.
func timedOut(reason string) bool {
	action, late := strings.CutSuffix(reason, " timed out")
	return late && !strings.Contains(action, " ")
}

// stopResources says of resources that are in progress that they are no more. One
// that was only looked at, or copied, is what it was: nobody has found anything wrong
// with it. One that waits before it is worked on, or after, waits no longer.
func stopResources(ctx context.Context, tx store.Tx, id, why string) error {
	if why == "" {
		why = "user triggered cancel"
	}
	rows, err := tx.Query(ctx, `
		WITH woken AS (
			UPDATE orchestration.resources SET wake_at = NULL WHERE stack_id = $1 AND status <> '`+InProgress+`' AND wake_at IS NOT NULL
		), stopped AS (
			UPDATE orchestration.resources SET status = CASE WHEN action IN ('`+ActionCheck+`', '`+ActionSnapshot+`') THEN '`+Complete+`' ELSE '`+Failed+`' END, reason = action || ' aborted (' || $2 || ')', wake_at = NULL, updated_at = now()
			WHERE stack_id = $1 AND status = '`+InProgress+`' RETURNING *
		)
		SELECT `+resourceColumns+` FROM stopped r ORDER BY r.id`, id, why)
	if err != nil {
		return fmt.Errorf("stop resources of stack %s: %w", id, store.Translate(err))
	}
	stopped, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Resource])
	if err != nil {
		return fmt.Errorf("stop resources of stack %s: %w", id, store.Translate(err))
	}
	if len(stopped) == 0 {
		return nil
	}
	s, err := GetStack(ctx, tx, "", id)
	if err != nil {
		return err
	}
	events := make([]Event, len(stopped))
	for i, r := range stopped {
		events[i] = EventOf(s, r)
	}
	return InsertEvents(ctx, tx, events)
}

// PurgeStacks forgets stacks that were deleted longer ago than age; 0 keeps them
// for ever. At most limit at a time.
func PurgeStacks(ctx context.Context, tx store.Tx, age time.Duration, limit int) (int, error) {
	if age == 0 {
		return 0, nil
	}
	rows, err := tx.Query(ctx, `WITH gone AS (DELETE FROM orchestration.stacks WHERE id IN (SELECT s.id FROM orchestration.stacks s
		WHERE s.deleted_at < now() - $1::interval AND s.operation_id IS NULL AND s.next_operation_id IS NULL
			AND NOT EXISTS (SELECT FROM orchestration.stacks child WHERE child.parent_id = s.id)
		ORDER BY s.deleted_at LIMIT $2) RETURNING id)
		SELECT ARRAY (SELECT t.files_id FROM orchestration.templates t WHERE t.stack_id = gone.id) FROM gone`, age, limit)
	if err != nil {
		return 0, fmt.Errorf("purge stacks: %w", store.Translate(err))
	}
	files, err := pgx.CollectRows(rows, pgx.RowTo[[]int64])
	if err != nil {
		return 0, fmt.Errorf("purge stacks: %w", store.Translate(err))
	}
	return len(files), purgeFiles(ctx, tx, slices.Concat(files...))
}
