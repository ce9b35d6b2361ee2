package computetest

// Connections that are cut, as those of a process that is killed.

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/internal/store"
)

// Knife cuts a connection before one of the round trips that go over those that
// it holds.
type Knife struct{ left int }

// Hold gives the same database over connections that can be cut.
func (k *Knife) Hold(t testing.TB, db *store.DB) *store.DB {
	t.Helper()
	k.left = -1
	cfg := db.Pool.Config()
	cfg.ConnConfig.Tracer = k
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &store.DB{Pool: pool}
}

// After cuts once n more round trips have been made.
func (k *Knife) After(n int) { k.left = n }

// HasCut says whether it has since.
func (k *Knife) HasCut() bool { return k.left < 0 }

func (k *Knife) cut(c *pgx.Conn) {
	if k.left == 0 {
		_ = c.PgConn().Conn().Close() // the write that follows fails
	}
	k.left--
}

// TraceQueryStart and the others implement pgx.QueryTracer and pgx.BatchTracer.
func (k *Knife) TraceQueryStart(ctx context.Context, c *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	k.cut(c)
	return ctx
}

// TraceQueryEnd does nothing.
func (k *Knife) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart is the start of a batch, one round trip.
func (k *Knife) TraceBatchStart(ctx context.Context, c *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	k.cut(c)
	return ctx
}

// TraceBatchQuery does nothing.
func (k *Knife) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (k *Knife) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
