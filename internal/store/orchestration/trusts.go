package orchestration

// Trusts: what owners of stacks let us act by.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// InsertTrust writes down a trust for a stack that is there or about to be.
func InsertTrust(ctx context.Context, q store.Queryer, stackID, id string) error {
	if _, err := q.Exec(ctx, `INSERT INTO orchestration.trusts (id, stack_id) VALUES ($1, $2)`, id, stackID); err != nil {
		return fmt.Errorf("insert trust: %w", store.Translate(err))
	}
	return nil
}

// TrustOf gives the last trust of a stack, or of the one that it is nested in;
// empty if there is none.
func TrustOf(ctx context.Context, q store.Queryer, stackID string) (id string, err error) {
	err = q.QueryRow(ctx, `
		WITH RECURSIVE above AS (
			SELECT id, parent_id, 0 AS distance FROM orchestration.stacks WHERE id = $1
			UNION ALL SELECT s.id, s.parent_id, distance + 1 FROM orchestration.stacks s JOIN above ON s.id = above.parent_id
		)
		SELECT t.id FROM orchestration.trusts t JOIN above ON above.id = t.stack_id WHERE t.created_at > '-infinity' ORDER BY distance, t.created_at DESC LIMIT 1`, stackID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("trust of a stack: %w", store.Translate(err))
	}
	return id, nil
}

// EndTrust has a trust be ended whose stack is not to be.
func EndTrust(ctx context.Context, q store.Queryer, id string) error {
	if _, err := q.Exec(ctx, `UPDATE orchestration.trusts SET created_at = '-infinity' WHERE id = $1`, id); err != nil {
		return fmt.Errorf("end trust: %w", store.Translate(err))
	}
	return nil
}

// TrustsToEnd are some trusts of stacks that are deleted, or that have not come to
// be for a while.
func TrustsToEnd(ctx context.Context, q store.Queryer, unborn time.Duration) ([]string, error) {
	const atOnce = 100
	rows, err := q.Query(ctx, `
		SELECT t.id FROM orchestration.trusts t LEFT JOIN orchestration.stacks s ON s.id = t.stack_id
		WHERE s.deleted_at IS NOT NULL OR t.created_at = '-infinity' OR s.id IS NULL AND t.created_at < now() - make_interval(secs => $1)
		ORDER BY t.created_at LIMIT $2`, unborn.Seconds(), atOnce)
	if err != nil {
		return nil, fmt.Errorf("trusts: %w", store.Translate(err))
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("trusts: %w", store.Translate(err))
	}
	return ids, nil
}

// DeleteTrust forgets a trust that has ended.
func DeleteTrust(ctx context.Context, q store.Queryer, id string) error {
	if _, err := q.Exec(ctx, `DELETE FROM orchestration.trusts WHERE id = $1`, id); err != nil {
		return fmt.Errorf("delete trust: %w", store.Translate(err))
	}
	return nil
}
