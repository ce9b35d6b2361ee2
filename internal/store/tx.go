package store

// A transaction that costs one message less: BEGIN goes with its first statement.

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is a transaction.
type Tx interface {
	Queryer
	// SendBatch sends statements in one message. Results of queries are read by
	// their callbacks, when the results are closed.
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// lateTx begins with its first statement.
type lateTx struct {
	conn  *pgx.Conn
	begun bool
}

func (t *lateTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if t.begun {
		return t.conn.Exec(ctx, sql, args...)
	}
	results := t.first(ctx, sql, args)
	tag, err := results.Exec()
	if closed := results.Close(); err == nil {
		err = closed
	}
	return tag, err
}

func (t *lateTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.begun {
		return t.conn.Query(ctx, sql, args...)
	}
	results := t.first(ctx, sql, args)
	rows, err := results.Query()
	first := &firstRows{rows, results}
	if err != nil {
		first.Close()
	}
	return first, err
}

func (t *lateTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if t.begun {
		return t.conn.QueryRow(ctx, sql, args...)
	}
	rows, err := t.Query(ctx, sql, args...)
	return firstRow{rows, err}
}

func (t *lateTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if t.begun {
		return t.conn.SendBatch(ctx, b)
	}
	t.begun = true
	with := &pgx.Batch{}
	with.Queue("begin")
	with.QueuedQueries = append(with.QueuedQueries, b.QueuedQueries...)
	results := t.conn.SendBatch(ctx, with)
	_, _ = results.Exec() // of begin; its error is every later result's too
	return results
}

func (t *lateTx) first(ctx context.Context, sql string, args []any) pgx.BatchResults {
	b := &pgx.Batch{}
	b.Queue(sql, args...)
	return t.SendBatch(ctx, b)
}

// end commits, or rolls back if f has failed. A connection that can't even do
// that is in no state for another transaction, and the pool drops it.
func (t *lateTx) end(ctx context.Context, failure error) error {
	if !t.begun {
		return failure
	}
	if failure != nil {
		_, _ = t.conn.Exec(ctx, "rollback")
		return failure
	}
	tag, err := t.conn.Exec(ctx, "commit")
	if err == nil && tag.String() == "ROLLBACK" {
		err = pgx.ErrTxCommitRollback
	}
	return err
}

// firstRows are those of the first statement; the results that they come in are
// closed with them.
type firstRows struct {
	pgx.Rows
	results pgx.BatchResults
}

func (r *firstRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *firstRows) Close() {
	r.Rows.Close()
	_ = r.results.Close() // the error is the rows' too
}

// firstRow is the only row that is looked at.
type firstRow struct {
	rows pgx.Rows
	err  error
}

func (r firstRow) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
