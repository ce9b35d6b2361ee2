package orchestration

// Trusts: what owners of stacks let us act by.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// AskTrust writes down that a trust is about to be asked of a user, and gives the time
// until which it is to be good: no other is good until then, so that it is found if
// nobody hears that it was given.
func AskTrust(ctx context.Context, q store.Queryer, trustorID string) (goodUntil time.Time, err error) {
	// Some thousand years of seconds, which are what Keystone shows of times, after a time
	// at which nobody cares, and before the last that databases have.
	const first, span = "2100-01-01", 200_000_000_000
	err = q.QueryRow(ctx, `INSERT INTO orchestration.trusts_asked (good_until, trustor_id)
		VALUES ($1::timestamptz + make_interval(secs => floor(random() * $2::float8)), $3) RETURNING good_until`,
		first, float64(span), trustorID).Scan(&goodUntil)
	if err != nil {
		return goodUntil, fmt.Errorf("ask trust: %w", store.Translate(err))
	}
	return goodUntil, nil
}

// InsertTrust writes down a trust that was given for a stack that is there or about to
// be. Errors: Unavailable, it took so long that the trust may have been ended.
func InsertTrust(ctx context.Context, q store.Queryer, stackID, id string, goodUntil time.Time) error {
	tag, err := q.Exec(ctx, `WITH asked AS (DELETE FROM orchestration.trusts_asked WHERE good_until = $3 RETURNING trustor_id)
		INSERT INTO orchestration.trusts (id, stack_id, trustor_id) SELECT $1, $2, trustor_id FROM asked`, id, stackID, goodUntil)
	if err != nil {
		return fmt.Errorf("insert trust: %w", store.Translate(err))
	}
	if tag.RowsAffected() == 0 {
		return faults.New(faults.Unavailable, "TrustEnded", "the trust was given too late")
	}
	return nil
}

// endedAtOnce is how much of what is to be ended at Keystone is given at a time: any of
// it, so that nothing waits for what can't be ended.
const endedAtOnce = 100

// AskedTrust is a trust that was asked for.
type AskedTrust struct {
	TrustorID string
	GoodUntil time.Time
}

// TrustsUnheard are some that were asked for a while ago.
func TrustsUnheard(ctx context.Context, q store.Queryer, while time.Duration) ([]AskedTrust, error) {
	rows, err := q.Query(ctx, `SELECT trustor_id, good_until FROM orchestration.trusts_asked
		WHERE created_at < now() - make_interval(secs => $1) ORDER BY random() LIMIT $2`, while.Seconds(), endedAtOnce)
	if err != nil {
		return nil, fmt.Errorf("trusts that were asked for: %w", store.Translate(err))
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[AskedTrust])
	if err != nil {
		return nil, fmt.Errorf("trusts that were asked for: %w", store.Translate(err))
	}
	return all, nil
}

// ForgetAsked forgets one that there isn't, or is no more.
func ForgetAsked(ctx context.Context, q store.Queryer, goodUntil time.Time) error {
	if _, err := q.Exec(ctx, `DELETE FROM orchestration.trusts_asked WHERE good_until = $1`, goodUntil); err != nil {
		return fmt.Errorf("forget a trust: %w", store.Translate(err))
	}
	return nil
}

// TrustOf gives the last trust of a stack, or of the one that it is nested in, and whose
// it is; empty if there is none.
func TrustOf(ctx context.Context, q store.Queryer, stackID string) (id, trustorID string, err error) {
	err = q.QueryRow(ctx, `
		WITH RECURSIVE above AS (
			SELECT id, parent_id, 0 AS distance FROM orchestration.stacks WHERE id = $1
			UNION ALL SELECT s.id, s.parent_id, distance + 1 FROM orchestration.stacks s JOIN above ON s.id = above.parent_id
		)
		SELECT t.id, t.trustor_id FROM orchestration.trusts t JOIN above ON above.id = t.stack_id WHERE t.created_at > '-infinity' ORDER BY distance, t.created_at DESC LIMIT 1`, stackID).Scan(&id, &trustorID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("trust of a stack: %w", store.Translate(err))
	}
	return id, trustorID, nil
}

// EndTrustsBefore has those of a stack's trusts be ended that were given before one. Of
// two that are given at once the later stays, whoever is accepted last.
func EndTrustsBefore(ctx context.Context, tx store.Tx, stackID, id string) error {
	if _, err := tx.Exec(ctx, `UPDATE orchestration.trusts SET created_at = '-infinity'
		WHERE stack_id = $1 AND created_at < (SELECT created_at FROM orchestration.trusts WHERE id = $2)`, stackID, id); err != nil {
		return fmt.Errorf("end trusts: %w", store.Translate(err))
	}
	return nil
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
	rows, err := q.Query(ctx, `
		SELECT t.id FROM orchestration.trusts t LEFT JOIN orchestration.stacks s ON s.id = t.stack_id
		WHERE s.deleted_at IS NOT NULL OR t.created_at = '-infinity' OR s.id IS NULL AND t.created_at < now() - make_interval(secs => $1)
		ORDER BY random() LIMIT $2`, unborn.Seconds(), endedAtOnce)
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
