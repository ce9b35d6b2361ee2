package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/testenv"
)

// messages counts what is sent over connections: statements and batches.
type messages struct{ n int }

func (m *messages) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	m.n++
	return ctx
}
func (m *messages) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (m *messages) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	m.n++
	return ctx
}
func (m *messages) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (m *messages) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// A transaction is one whatever its first statement is, and costs no message for
// its begin.
func TestTransactions(t *testing.T) {
	t.Parallel()
	var sent messages
	cfg, err := pgxpool.ParseConfig(testenv.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	cfg.ConnConfig.Tracer = &sent
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	db := &store.DB{Pool: pool}
	ctx := t.Context()
	if _, err := pool.Exec(ctx, `CREATE TABLE engine.t (n integer PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO engine.t VALUES ($1) RETURNING n`
	insertBatch := func(tx store.Tx, numbers ...int) error {
		var b pgx.Batch
		for _, n := range numbers {
			b.Queue(insert, n)
		}
		return tx.SendBatch(ctx, &b).Close()
	}
	failure := errors.New("no")
	for _, c := range []struct {
		name string
		// first inserts 1, or what fails; it is told the table's rows before.
		first func(tx store.Tx) error
		fails bool
		sent  int
	}{
		{"nothing", func(store.Tx) error { return nil }, false, 0},
		{"nothing, and an error", func(store.Tx) error { return failure }, true, 0},
		{"exec", func(tx store.Tx) error { _, err := tx.Exec(ctx, insert, 1); return err }, false, 2},
		{"exec that fails", func(tx store.Tx) error { _, err := tx.Exec(ctx, insert, 0); return err }, true, 2},
		{"query row", func(tx store.Tx) error { var n int; return tx.QueryRow(ctx, insert, 1).Scan(&n) }, false, 2},
		{"query row that fails", func(tx store.Tx) error { var n int; return tx.QueryRow(ctx, insert, 0).Scan(&n) }, true, 2},
		{"query row that has none", func(tx store.Tx) error {
			var n int
			return tx.QueryRow(ctx, `SELECT n FROM engine.t WHERE n = 7`).Scan(&n)
		}, true, 2},
		{"query", func(tx store.Tx) error {
			rows, err := tx.Query(ctx, insert, 1)
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, pgx.RowTo[int])
			return err
		}, false, 2},
		{"query that fails", func(tx store.Tx) error {
			rows, err := tx.Query(ctx, insert, 0)
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, pgx.RowTo[int])
			return err
		}, true, 2},
		{"query of bad SQL", func(tx store.Tx) error { _, err := tx.Query(ctx, `SELEC`); return err }, true, 0},
		{"batch", func(tx store.Tx) error { return insertBatch(tx, 1, 2) }, false, 2},
		{"batch that fails", func(tx store.Tx) error { return insertBatch(tx, 1, 0) }, true, 2},
		{"and an error later", func(tx store.Tx) error {
			_, err := tx.Exec(ctx, insert, 1)
			return errors.Join(err, insertBatch(tx, 2), failure)
		}, true, 3},
		{"a failure that is passed over", func(tx store.Tx) error { _, _ = tx.Exec(ctx, insert, 0); return nil }, true, 2},
	} {
		if _, err := pool.Exec(ctx, `TRUNCATE engine.t`); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(ctx, `INSERT INTO engine.t VALUES (0)`); err != nil {
			t.Fatal(err)
		}
		before := sent.n
		err := db.InTx(ctx, c.first)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := sent.n - before; c.sent > 0 && n != c.sent {
			t.Errorf("%s: %d messages were sent, want %d", c.name, n, c.sent)
		}
		var more bool
		if err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM engine.t WHERE n > 0)`).Scan(&more); err != nil || more != (!c.fails && c.sent > 0) {
			t.Errorf("%s: rows were left: %t, %v", c.name, more, err)
		}
		if status := connectionStatus(t, pool); status != 'I' {
			t.Errorf("%s: the connection is left in state %c", c.name, status)
		}
	}
}

func connectionStatus(t *testing.T, pool *pgxpool.Pool) byte {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	return conn.Conn().PgConn().TxStatus()
}

// Nothing stays of a transaction whose function panics.
func TestTransactionThatPanics(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), testenv.Database(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	func() {
		defer func() { _ = recover() }()
		_ = db.InTx(t.Context(), func(tx store.Tx) error {
			if _, err := tx.Exec(t.Context(), `CREATE TABLE engine.t (n integer)`); err != nil {
				t.Error(err)
			}
			panic("no")
		})
	}()
	if _, err := db.Pool.Exec(t.Context(), `CREATE TABLE engine.t (n integer)`); err != nil {
		t.Errorf("the table is left: %v", err)
	}
}

// A server that has ended is told of once, not once by each connection that the pool had
// to it.
func TestAServerThatEndedIsToldOfOnce(t *testing.T) {
	t.Parallel()
	dsn := testenv.Database(t)
	db, err := store.Open(t.Context(), dsn, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var held []*pgxpool.Conn
	for range 4 {
		conn, err := db.Pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	admin, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(t.Context()) }() // the server ends it, too
	for _, conn := range held {
		if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend($1, 30000)`, conn.Conn().PgConn().PID()); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range held {
		conn.Release()
	}
	told := 0
	for range 4 {
		if _, err := db.Now(t.Context()); err != nil {
			told++
			if !faults.Is(err, faults.Unavailable) {
				t.Errorf("%v, want unavailable", err)
			}
		}
	}
	if told > 1 {
		t.Errorf("%d callers were told", told)
	}
}
