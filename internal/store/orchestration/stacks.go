package orchestration

// Stacks: rows, found and written.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Actions and statuses of stacks and resources, as the API has them.
const (
	ActionInit     = "INIT"
	ActionCreate   = "CREATE"
	ActionAdopt    = "ADOPT"
	ActionUpdate   = "UPDATE"
	ActionDelete   = "DELETE"
	ActionRollback = "ROLLBACK"
	ActionCheck    = "CHECK"
	ActionSuspend  = "SUSPEND"
	ActionResume   = "RESUME"
	ActionSnapshot = "SNAPSHOT"
	ActionRestore  = "RESTORE"

	InProgress = "IN_PROGRESS"
	Complete   = "COMPLETE"
	Failed     = "FAILED"
)

// Stack is a row of orchestration.stacks.
type Stack struct {
	ID        string `db:"id"`
	Name      string `db:"name"`
	ProjectID string `db:"project_id"`
	UserID    string `db:"user_id"`
	Username  string `db:"username"`
	ParentID  string `db:"parent_id"`
	// ParentResource is the resource of the parent that the stack is, Depth how many
	// parents it has, Size how many resources its template has.
	ParentResource string `db:"parent_resource"`
	Depth          int    `db:"depth"`
	Size           int    `db:"size"`
	Description    string `db:"description"`
	Action         string `db:"action"`
	Status         string `db:"status"`
	Reason         string `db:"reason"`
	// TemplateID is the template that was asked for last.
	TemplateID      int64      `db:"template_id"`
	DisableRollback bool       `db:"disable_rollback"`
	TimeoutMins     *int       `db:"timeout_mins"`
	Tags            []string   `db:"tags"`
	UserProjectID   *string    `db:"stack_user_project_id"`
	OperationID     string     `db:"operation_id"`
	NextOperationID string     `db:"next_operation_id"`
	CreatedAt       time.Time  `db:"created_at"`
	UpdatedAt       *time.Time `db:"updated_at"`
	DeletedAt       *time.Time `db:"deleted_at"`
}

// State is its state as the API writes it.
func (s *Stack) State() string { return s.Action + "_" + s.Status }

// Shown is the operation whose state the stack shows: the one that waits for it, or
// else the one that has it.
func (s *Stack) Shown() string { return cmp.Or(s.NextOperationID, s.OperationID) }

// defaultTimeout is how long a traversal may take if nobody says.
const defaultTimeout = time.Hour

// Timeout is how long a traversal of it may take.
func (s *Stack) Timeout() time.Duration {
	if s.TimeoutMins == nil {
		return defaultTimeout
	}
	return time.Duration(*s.TimeoutMins) * time.Minute
}

const stackColumns = `s.id::text AS id, s.name, s.project_id, s.user_id, s.username, COALESCE(s.parent_id::text, '') AS parent_id, s.parent_resource, s.depth, s.size, s.description,
	s.action, s.status, s.reason, s.template_id, s.disable_rollback, s.timeout_mins, s.tags, s.stack_user_project_id,
	COALESCE(s.operation_id, '') AS operation_id, COALESCE(s.next_operation_id, '') AS next_operation_id, s.created_at, s.updated_at, s.deleted_at`

// NotFound is the original's answer to a name or id that no stack has.
func NotFound(name string) error {
	return faults.New(faults.NotFound, "EntityNotFound", "The Stack (%s) could not be found.", name)
}

// ofProject keeps to the stacks of a project, or of which it is that of their users.
const ofProject = `($2 = '' OR s.project_id = $2 OR s.stack_user_project_id = $2)`

// GetStack gives a stack by its id, deleted or not; project "" is any.
// Errors: NotFound.
func GetStack(ctx context.Context, q store.Queryer, project, id string) (*Stack, error) {
	if uuid.Validate(id) != nil {
		return nil, NotFound(id)
	}
	return oneStack(ctx, q, id, `WHERE s.id = $1 AND `+ofProject, id, project)
}

// LockStack gives a stack that isn't deleted, and locks its row until the
// transaction ends. Errors: NotFound.
func LockStack(ctx context.Context, tx store.Tx, project, id string) (*Stack, error) {
	return oneStack(ctx, tx, id, `WHERE s.id = $1 AND s.project_id = $2 AND s.deleted_at IS NULL FOR NO KEY UPDATE`, id, project)
}

// FindStack gives a living stack by its name, or any by its id.
// Errors: NotFound.
func FindStack(ctx context.Context, q store.Queryer, project, name string) (*Stack, error) {
	if uuid.Validate(name) == nil {
		s, err := GetStack(ctx, q, project, name)
		if !faults.Is(err, faults.NotFound) {
			return s, err
		}
	}
	return oneStack(ctx, q, name, `WHERE s.name = $1 AND `+ofProject+` AND s.deleted_at IS NULL AND s.parent_id IS NULL`, name, project)
}

func oneStack(ctx context.Context, q store.Queryer, name, where string, args ...any) (*Stack, error) {
	found, err := stacksOf(ctx, q, where, args...)
	if err == nil && len(found) == 0 {
		err = NotFound(name)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func stacksOf(ctx context.Context, q store.Queryer, where string, args ...any) ([]*Stack, error) {
	rows, err := q.Query(ctx, `SELECT `+stackColumns+` FROM orchestration.stacks s `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("stacks: %w", store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Stack])
	if err != nil {
		return nil, fmt.Errorf("stacks: %w", store.Translate(err))
	}
	return found, nil
}

// InsertStack writes a stack and its first template. The caller has given it an
// id. Errors: Conflict (code StackExists).
func InsertStack(ctx context.Context, tx store.Tx, s *Stack, t *Template) error {
	err := tx.QueryRow(ctx, `
		WITH own AS (
			INSERT INTO orchestration.files (contents) SELECT $14::text WHERE $19::bigint = 0 RETURNING id
		), written AS (
			INSERT INTO orchestration.templates (stack_id, template, environment, files_id, facade, zones)
			VALUES ($1, $12, $13, COALESCE((SELECT id FROM own), $19::bigint), $20, $21) RETURNING id
		)
		INSERT INTO orchestration.stacks (id, name, project_id, user_id, username, description, action, status, reason,
			disable_rollback, timeout_mins, tags, template_id, parent_id, parent_resource, depth, size)
		SELECT $1, $2, $3, $4, $5, $6, $7, '`+InProgress+`', $8, $9, $10, $11, id, NULLIF($15, '')::uuid, $16, $17, $18 FROM written RETURNING template_id, created_at`,
		s.ID, s.Name, s.ProjectID, s.UserID, s.Username, s.Description, s.Action, s.Reason,
		s.DisableRollback, s.TimeoutMins, orEmpty(s.Tags), t.Template, t.Environment, t.Files,
		s.ParentID, s.ParentResource, s.Depth, s.Size, t.FilesID, t.Facade, t.Zones).Scan(&s.TemplateID, &s.CreatedAt)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "stacks_name" {
		return Exists(s.Name)
	}
	if err != nil {
		return fmt.Errorf("insert stack: %w", store.Translate(err))
	}
	t.ID, t.StackID, s.Status = s.TemplateID, s.ID, InProgress
	return noteStack(ctx, tx, s.ID)
}

// Exists is the original's answer to a second stack of a name.
func Exists(name string) error {
	return faults.New(faults.Conflict, "StackExists", "The Stack (%s) already exists.", name)
}

// NameTaken says whether a living stack of a project has a name.
func NameTaken(ctx context.Context, q store.Queryer, project, name string) (taken bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM orchestration.stacks WHERE project_id = $1 AND name = $2 AND deleted_at IS NULL AND parent_id IS NULL)`, project, name).Scan(&taken)
	return taken, store.Translate(err)
}

// CountStacks is how many living stacks a project has; nobody makes another
// until the transaction ends.
func CountStacks(ctx context.Context, tx store.Tx, project string) (n int, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('stacks of ' || $1, 0))`, project); err != nil {
		return 0, fmt.Errorf("count stacks: %w", store.Translate(err))
	}
	err = tx.QueryRow(ctx, `SELECT count(*) FROM orchestration.stacks WHERE project_id = $1 AND deleted_at IS NULL AND parent_id IS NULL`, project).Scan(&n)
	return n, store.Translate(err)
}

// StartAction shows what a stack begins to do, in the transaction that accepts
// the operation. A delete tells first that it cuts short what the stack does.
func StartAction(ctx context.Context, tx store.Tx, id, action string) error {
	_, err := tx.Exec(ctx, `
		WITH cut AS (
			INSERT INTO orchestration.events (stack_id, resource_name, resource_type, physical_id, action, status, reason)
			SELECT id, name, '`+stackType+`', id::text, action, '`+Failed+`', 'Stack ' || action || ' cancelled' FROM orchestration.stacks
			WHERE id = $1 AND $2 = '`+ActionDelete+`' AND status = '`+InProgress+`'
		)
		UPDATE orchestration.stacks SET action = $2, status = '`+InProgress+`', reason = 'Stack ' || $2 || ' started', updated_at = now()
		WHERE id = $1`, id, action)
	if err != nil {
		return fmt.Errorf("start %s of stack %s: %w", action, id, store.Translate(err))
	}
	return noteStack(ctx, tx, id)
}

// PutUpdate writes what an update asks of a stack, and its template.
func PutUpdate(ctx context.Context, tx store.Tx, s *Stack, t *Template) error {
	err := tx.QueryRow(ctx, `
		WITH own AS (
			INSERT INTO orchestration.files (contents) SELECT $4::text WHERE $10::bigint = 0 RETURNING id
		), written AS (
			INSERT INTO orchestration.templates (stack_id, template, environment, files_id, facade, zones)
			VALUES ($1, $2, $3, COALESCE((SELECT id FROM own), $10::bigint), $11, $12) RETURNING id
		)
		UPDATE orchestration.stacks s SET template_id = written.id, description = $5, disable_rollback = $6, timeout_mins = $7, tags = $8, size = $9
		FROM written WHERE s.id = $1 RETURNING s.template_id`,
		s.ID, t.Template, t.Environment, t.Files, s.Description, s.DisableRollback, s.TimeoutMins, orEmpty(s.Tags), s.Size, t.FilesID, t.Facade, t.Zones).Scan(&t.ID)
	if err != nil {
		return fmt.Errorf("update stack %s: %w", s.ID, store.Translate(err))
	}
	s.TemplateID, t.StackID = t.ID, s.ID
	return nil
}

// WorkOnParent is the operation that holds the stack that another is nested in; "" if
// there is none.
func WorkOnParent(ctx context.Context, q store.Queryer, id string) (operation string, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE((SELECT p.operation_id FROM orchestration.stacks s JOIN orchestration.stacks p ON p.id = s.parent_id
		WHERE s.id = $1), '')`, id).Scan(&operation)
	if err != nil {
		return "", fmt.Errorf("work on the parent of stack %s: %w", id, store.Translate(err))
	}
	return operation, nil
}

// PutTemplateBack has a stack be asked for what it was before an update.
func PutTemplateBack(ctx context.Context, tx store.Tx, id string, template int64) error {
	_, err := tx.Exec(ctx, `UPDATE orchestration.stacks SET template_id = $2 WHERE id = $1`, id, template)
	if err != nil {
		return fmt.Errorf("template of stack %s: %w", id, store.Translate(err))
	}
	return nil
}

// Template is what a stack was asked to be.
type Template struct {
	ID      int64  `db:"id"`
	StackID string `db:"stack_id"`
	// Template and Files are JSON, Environment is sealed.
	Template    string `db:"template"`
	Environment []byte `db:"environment"`
	Files       string `db:"files"`
	// FilesID is what the files are kept as, for those who have them in common; 0 has
	// them written.
	FilesID int64 `db:"files_id"`
	// Facade is JSON: what the template may ask of the resource that the stack is; "" if it
	// may ask for nothing.
	Facade string `db:"facade"`
	// Zones is JSON: the availability zones that the owner had when the template asked for
	// them; "" is that nobody has asked for them yet.
	Zones string `db:"zones"`
}

// GetTemplate gives a template by its id. Errors: NotFound.
func GetTemplate(ctx context.Context, q store.Queryer, id int64) (*Template, error) {
	found, err := Templates(ctx, q, []int64{id})
	return found[id], err
}

// Templates gives templates by their ids. Errors: NotFound, one isn't there.
func Templates(ctx context.Context, q store.Queryer, ids []int64) (map[int64]*Template, error) {
	rows, err := q.Query(ctx, `SELECT t.id, t.stack_id::text AS stack_id, t.template, t.environment, t.files_id, f.contents AS files, t.facade, t.zones
		FROM orchestration.templates t JOIN orchestration.files f ON f.id = t.files_id WHERE t.id = ANY ($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("templates %d: %w", ids, store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Template])
	if err != nil {
		return nil, fmt.Errorf("templates %d: %w", ids, store.Translate(err))
	}
	byID := make(map[int64]*Template, len(found))
	for _, t := range found {
		byID[t.ID] = t
	}
	for _, id := range ids {
		if byID[id] == nil {
			return nil, fmt.Errorf("template %d: %w", id, store.Translate(pgx.ErrNoRows))
		}
	}
	return byID, nil
}

// PutZones has a template have the zones of its stack's owner, unless it has them. The
// caller has checked the fence.
func PutZones(ctx context.Context, tx store.Tx, template int64, zones string) error {
	if _, err := tx.Exec(ctx, `UPDATE orchestration.templates SET zones = $2 WHERE id = $1 AND zones = ''`, template, zones); err != nil {
		return fmt.Errorf("zones of template %d: %w", template, store.Translate(err))
	}
	return nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
