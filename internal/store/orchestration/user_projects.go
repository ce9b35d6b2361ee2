package orchestration

// Projects of stacks' own users.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// UserProject is the project that a stack, and those nested in it, have users of
// their own in.
type UserProject struct {
	// StackID is the stack that is nested in none.
	StackID string `db:"stack_id"`
	Name    string `db:"name"`
	// ID is empty as long as nobody has heard that it was made.
	ID string `db:"id"`
}

// maxProjectName is how long Keystone has names of projects be.
const maxProjectName = 64

// ExpectUserProject writes down that the project of a stack's users is about to be
// there, of the name that the original gives it.
func ExpectUserProject(ctx context.Context, tx store.Tx, stackID string) (p UserProject, err error) {
	err = tx.QueryRow(ctx, `
		WITH RECURSIVE above AS (
			SELECT id, parent_id, project_id FROM orchestration.stacks WHERE id = $1
			UNION ALL SELECT s.id, s.parent_id, s.project_id FROM orchestration.stacks s JOIN above ON s.id = above.parent_id
		)
		INSERT INTO orchestration.user_projects (stack_id, name) SELECT id, left(project_id || '-' || id, $2) FROM above WHERE parent_id IS NULL
		ON CONFLICT (stack_id) DO UPDATE SET name = user_projects.name
		RETURNING stack_id::text, name, COALESCE(project_id, '')`, stackID, maxProjectName).Scan(&p.StackID, &p.Name, &p.ID)
	if err != nil {
		return p, fmt.Errorf("project of the users of stack %s: %w", stackID, store.Translate(err))
	}
	return p, nil
}

// PutUserProject writes down what Keystone calls a project, and has stacks show it.
func PutUserProject(ctx context.Context, q store.Queryer, p UserProject, stacks ...string) error {
	if _, err := q.Exec(ctx, `UPDATE orchestration.user_projects SET project_id = $2 WHERE stack_id = $1 AND project_id IS DISTINCT FROM $2`, p.StackID, p.ID); err != nil {
		return fmt.Errorf("project of the users of stack %s: %w", p.StackID, store.Translate(err))
	}
	for _, id := range append(stacks, p.StackID) {
		if _, err := q.Exec(ctx, `UPDATE orchestration.stacks SET stack_user_project_id = $2 WHERE id = $1 AND stack_user_project_id IS DISTINCT FROM $2`, id, p.ID); err != nil {
			return fmt.Errorf("project of the users of stack %s: %w", id, store.Translate(err))
		}
	}
	return nil
}

// UserProjectsToEnd are some projects of stacks that are deleted.
func UserProjectsToEnd(ctx context.Context, q store.Queryer) ([]UserProject, error) {
	rows, err := q.Query(ctx, `
		SELECT p.stack_id::text AS stack_id, p.name, COALESCE(p.project_id, '') AS id FROM orchestration.user_projects p LEFT JOIN orchestration.stacks s ON s.id = p.stack_id
		WHERE s.id IS NULL OR s.deleted_at IS NOT NULL ORDER BY random() LIMIT $1`, endedAtOnce)
	if err != nil {
		return nil, fmt.Errorf("projects of users of stacks: %w", store.Translate(err))
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[UserProject])
	if err != nil {
		return nil, fmt.Errorf("projects of users of stacks: %w", store.Translate(err))
	}
	return all, nil
}

// DeleteUserProject forgets a project that is gone.
func DeleteUserProject(ctx context.Context, q store.Queryer, stackID string) error {
	if _, err := q.Exec(ctx, `DELETE FROM orchestration.user_projects WHERE stack_id = $1`, stackID); err != nil {
		return fmt.Errorf("forget the project of the users of stack %s: %w", stackID, store.Translate(err))
	}
	return nil
}
