package orchestration

// Control workers, which are the engines that clients know of.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/store"
)

// Engine is a control worker.
type Engine struct {
	ID   string `db:"id"`
	Host string `db:"host"`
	// CreatedAt is when it was first heard of, LastSeen when last, SeenAgo the seconds
	// since then by the database's clock.
	CreatedAt time.Time `db:"created_at"`
	LastSeen  time.Time `db:"last_seen"`
	SeenAgo   float64   `db:"seen_ago"`
}

// Engines are the control workers that have been heard of.
func Engines(ctx context.Context, q store.Queryer) ([]*Engine, error) {
	rows, err := q.Query(ctx, `SELECT id::text AS id, host, created_at, last_seen, extract(epoch FROM now() - last_seen)::float8 AS seen_ago
		FROM compute.services WHERE "binary" = 'nova-conductor' ORDER BY number`)
	if err != nil {
		return nil, store.Translate(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Engine])
	return all, store.Translate(err)
}
