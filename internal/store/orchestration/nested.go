package orchestration

// Nested stacks: stacks that are resources of others.

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// PartOf is the latest operation of a kind on a stack that was accepted as a part
// of a traversal of its parent; empty if there is none.
func PartOf(ctx context.Context, q store.Queryer, stackID string, kind operations.Kind, traversal string) (operationID string, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM engine.operations WHERE resource_id = $1 AND kind = $2 AND input->>'part_of' = $3
		ORDER BY created_at DESC, id DESC LIMIT 1`, stackID, kind, traversal).Scan(&operationID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("operation on stack %s: %w", stackID, store.Translate(err))
	}
	return operationID, nil
}

// Tree are a stack and those nested in it that aren't deleted, down to a depth
// below it, each after its parent.
func Tree(ctx context.Context, q store.Queryer, stackID string, depth int) ([]*Stack, error) {
	return stacksOf(ctx, q, `JOIN (
		WITH RECURSIVE tree AS (
			SELECT id, 0 AS below FROM orchestration.stacks WHERE id = $1
			UNION ALL
			SELECT child.id, tree.below + 1 FROM orchestration.stacks child JOIN tree ON child.parent_id = tree.id
				WHERE tree.below < $2 AND child.deleted_at IS NULL
		) SELECT id, below FROM tree) t ON t.id = s.id ORDER BY t.below, s.created_at, s.id`, stackID, depth)
}

// TreeSize is how many resources the templates of all stacks have that are nested
// in the same root as a stack, or are that, but one.
func TreeSize(ctx context.Context, q store.Queryer, stackID, but string) (n int, err error) {
	err = q.QueryRow(ctx, `
		WITH RECURSIVE up AS (
			SELECT id, parent_id FROM orchestration.stacks WHERE id = $1
			UNION ALL
			SELECT s.id, s.parent_id FROM orchestration.stacks s JOIN up ON s.id = up.parent_id
		), tree AS (
			SELECT id FROM up WHERE parent_id IS NULL
			UNION ALL
			SELECT s.id FROM orchestration.stacks s JOIN tree ON s.parent_id = tree.id WHERE s.deleted_at IS NULL
		)
		SELECT COALESCE(sum(s.size), 0) FROM orchestration.stacks s JOIN tree ON tree.id = s.id WHERE s.id <> $2`, stackID, but).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("size of stack %s: %w", stackID, store.Translate(err))
	}
	return n, nil
}

// ResourcesOf are the resources of several stacks, in the order in which they were
// made.
func ResourcesOf(ctx context.Context, q store.Queryer, stackIDs []string) ([]*Resource, error) {
	return resourcesOf(ctx, q, `WHERE r.stack_id = ANY ($1::uuid[]) ORDER BY r.id`, stackIDs)
}
