package store

// The pool and its transactions.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/jackc/puddle/v2"
	"github.com/pressly/goose/v3"

	"holdfast.dev/internal/faults"
	"holdfast.dev/schemas"
)

// Queryer is what a query needs: a pool, a connection or a transaction.
type Queryer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// DB is the product's database.
type DB struct {
	Pool *pgxpool.Pool
}

// Open connects to the database that dsn names, with at most maxConns
// connections (0: pgx's default). It does not migrate.
func Open(ctx context.Context, dsn string, maxConns int32) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	if maxConns > 0 {
		cfg.MaxConns = maxConns
	}
	// A row lock that is not had in this time is a clean, retryable error well
	// inside any HTTP deadline.
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = "5s"
	cfg.ConnConfig.RuntimeParams["application_name"] = "holdfast"
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	// Statements are prepared; the other cache would be room for 512 that nothing uses.
	cfg.ConnConfig.DescriptionCacheCapacity = 0
	// What one connection hears of a server that has ended is true of all: one caller
	// is told, and the next has a new connection.
	var all atomic.Pointer[pgxpool.Pool] // it connects before it is made, where the address asks for that
	closes := cfg.ConnConfig.OnPgError
	cfg.ConnConfig.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if pool := all.Load(); pool != nil && ended[err.Code] {
			pool.Reset()
		}
		return closes(conn, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	all.Store(pool)
	return &DB{pool}, nil
}

// ended are the codes of a server that ends or has crashed: admin_shutdown and
// crash_shutdown.
var ended = map[string]bool{"57P01": true, "57P02": true}

// Close waits for connections in use and closes them all.
func (db *DB) Close() { db.Pool.Close() }

// InTx runs f in one transaction: committed if f returns nil, rolled back
// otherwise. Serialization failures, deadlocks and lock timeouts come back as
// faults.Unavailable, a lost connection too; whether the commit then happened
// is unknown, so f must be safe to run again.
func (db *DB) InTx(ctx context.Context, f func(tx Tx) error) error {
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		return Translate(err)
	}
	// After a panic the transaction is open, and the pool drops the connection.
	defer conn.Release()
	tx := &lateTx{conn: conn.Conn()}
	return Translate(tx.end(ctx, f(tx)))
}

// Now is the time of the database's clock, which is one for all processes.
func (db *DB) Now(ctx context.Context) (time.Time, error) { return Now(ctx, db.Pool) }

// Now is DB.Now for those who are in a transaction: one of many that all wait for a
// second connection would wait for ever.
func Now(ctx context.Context, q Queryer) (now time.Time, err error) {
	err = q.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, Translate(err)
}

// Translate turns a database error into a fault; faults and nil pass.
func Translate(err error) error {
	var f *faults.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return faults.Wrap(err, faults.NotFound, "NotFound", "no such row")
	}
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		return translateSQL(err, pg)
	case errors.Is(err, context.Canceled):
		return err
	case unreachable(err):
		return faults.Wrap(err, faults.Unavailable, codeUnavailable, "the database can't be reached")
	}
	return faults.Wrap(err, faults.Internal, "DatabaseError", "a database statement failed")
}

// Codes of faults of a database that may answer later.
const (
	codeUnavailable = "DatabaseUnavailable"
	codeBusy        = "DatabaseBusy"
)

// IsAway says that the database could not be asked: it can't be reached, is starting, or
// has too much to do.
func IsAway(err error) bool {
	f := faults.As(err)
	return f != nil && (f.Code == codeUnavailable || f.Code == codeBusy)
}

// translateSQL turns what PostgreSQL itself said into a fault, by SQLSTATE.
func translateSQL(err error, pg *pgconn.PgError) error {
	switch pg.Code {
	case "23505", "23503", "23514": // unique, foreign key, check
		return faults.Wrap(err, faults.Conflict, "Conflict", "the change conflicts with %s", pg.ConstraintName)
	case "22021", "22P05": // a NUL in a text
		return faults.Wrap(err, faults.Invalid, "InvalidText", "A text holds a character that can't be stored.")
	case "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300":
		return faults.Wrap(err, faults.Unavailable, codeBusy, "the database is busy")
	}
	return faults.Wrap(err, faults.Internal, "DatabaseError", "a database statement failed")
}

// unreachable says that err is the connection's: none was had, it broke, or
// its time was up. A statement that the client itself refuses is none of these.
func unreachable(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, puddle.ErrClosedPool)
}

// migrating is the advisory lock of whoever changes the schema.
const migrating = 0x686f6c6466617374

// Migrate brings the schema of the database to this release's. Of several at
// once one does it, and the others wait; one that is killed has done whole
// migrations only, and leaves the lock with its connection.
func Migrate(ctx context.Context, dsn string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return fmt.Errorf("open for migration: %w", err)
	}
	defer db.Close()
	folder, err := fs.Sub(schemas.Migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	// One that was merged after others with higher numbers is done too.
	provider, err := goose.NewProvider(goose.DialectPostgres, db, folder, goose.WithAllowOutofOrder(true))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	holder, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect for migration: %w", err)
	}
	defer holder.Close() // ends the session when db closes, and with it the lock
	if _, err := holder.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return fmt.Errorf("take turns with another migration: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		// Of one that is cut short the driver may tell only what broke by that.
		return fmt.Errorf("migrate: %w", errors.Join(ctx.Err(), err))
	}
	return nil
}
