package service

// One database for all companions, one schema for each.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"
)

// Open connects to the companions' database with at most maxConns connections.
func Open(ctx context.Context, dsn string, maxConns int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the companions' database address: %w", err)
	}
	cfg.MaxConns = maxConns
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = "5s"
	cfg.ConnConfig.RuntimeParams["application_name"] = "holdfast companions"
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("the companions' database: %w", err)
	}
	return pool, nil
}

// Migrate runs the *.sql files in the folder migrations of files, goose migrations that make everything
// in a schema called name. Which have run stands in the table <name>_migrations.
func Migrate(ctx context.Context, dsn, name string, files fs.FS) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return fmt.Errorf("open for the migration of %s: %w", name, err)
	}
	defer db.Close()
	folder, err := fs.Sub(files, "migrations")
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", name, err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, folder, goose.WithTableName(name+"_migrations"))
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", name, err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate %s: %w", name, err)
	}
	return nil
}

// Violates says whether err is the violation of a constraint: of any if name
// is empty.
func Violates(err error, constraint string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || len(pg.Code) < 2 || pg.Code[:2] != "23" {
		return false
	}
	return constraint == "" || pg.ConstraintName == constraint
}

// Missing says whether err is that of a query without a row.
func Missing(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
