package store_test

import (
	"context"
	"database/sql"
	"io/fs"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/schemas"
)

// unmigrated is a database without a schema.
func unmigrated(t *testing.T) (dsn string) {
	t.Helper()
	dsn = testenv.Database(t)
	db, err := store.Open(t.Context(), dsn, 1)
	if err == nil {
		defer db.Close()
		_, err = db.Pool.Exec(t.Context(), `DROP SCHEMA compute, orchestration, baremetal, engine CASCADE; DROP TABLE goose_db_version`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// Two of a release's processes may bring the schema up at the same time.
func TestMigrationsTakeTurns(t *testing.T) {
	t.Parallel()
	dsn := unmigrated(t)
	const many = 4
	done := make(chan error, many)
	for range many {
		go func() { done <- store.Migrate(t.Context(), dsn) }()
	}
	for range many {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A migration that is cut short at any moment is completed by the next one.
func TestMigrationIsCompleted(t *testing.T) {
	t.Parallel()
	dsn := unmigrated(t)
	cut := 0
	for after := time.Millisecond; after < time.Minute; after += after / 2 {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := store.Migrate(ctx, dsn)
		deadline, _ := ctx.Deadline() // a dial that it ends may say so sooner than the context
		late := !time.Now().Before(deadline)
		cancel()
		if err == nil {
			break
		}
		if !late {
			t.Fatalf("after %d that were cut short: %v", cut, err)
		}
		cut++
	}
	if err := store.Migrate(t.Context(), dsn); err != nil {
		t.Fatalf("after %d that were cut short: %v", cut, err)
	}
}

// A database that was made while a migration was still on a branch gets it when
// it has been merged, though others with higher numbers came first.
func TestMigrationThatCameLate(t *testing.T) {
	t.Parallel()
	dsn := unmigrated(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	folder, err := fs.Sub(schemas.Migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int64{1, 2, 30} {
		if _, err := provider.ApplyVersion(t.Context(), version, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	version, err := provider.GetDBVersion(t.Context())
	if pending, more := provider.HasPending(t.Context()); err != nil || more != nil || pending {
		t.Errorf("the database is at %d, %v; is something left: %t, %v", version, err, pending, more)
	}
}
