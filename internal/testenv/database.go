// A database for one test.

package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/dev/postgres"
	"holdfast.dev/internal/store"
	"holdfast.dev/schemas"
)

// Database returns the address of a new database with the product's schema,
// owned by the product's role. It is dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	services := use(t)
	template, err := services.template(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := unique("test")
	if err := services.Postgres.CreateDatabase(t.Context(), name, postgres.ProductRole, template); err != nil {
		t.Fatalf("a database for the test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := services.Postgres.DropDatabase(ctx, name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	dsn, err := services.Postgres.DSN(name, postgres.ProductRole)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// template returns the name of a database that has been migrated and that
// nobody is connected to; to copy it takes a fraction of the time of a
// migration. It is named after the migrations, so servers that outlive an edit
// of one get another template. Test processes take turns by a lock on a file.
func (s *Services) template(ctx context.Context) (string, error) {
	name, err := templateName()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, "template.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("lock the template database: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock the template database: %w", err)
	}
	done := filepath.Join(s.dir, name)
	if _, err := os.Stat(done); err == nil {
		return name, nil
	}
	// One that was begun and not finished is made anew.
	if err := s.Postgres.RecreateDatabase(ctx, name, postgres.ProductRole); err != nil {
		return "", fmt.Errorf("the template database: %w", err)
	}
	dsn, err := s.Postgres.DSN(name, postgres.ProductRole)
	if err != nil {
		return "", err
	}
	if err := store.Migrate(ctx, dsn); err != nil {
		return "", fmt.Errorf("the template database: %w", err)
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		return "", fmt.Errorf("the template database: %w", err)
	}
	return name, nil
}

func templateName() (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(schemas.Migrations, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schemas.Migrations, path)
		if err == nil {
			_, err = fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the migrations: %w", err)
	}
	return "template_" + hex.EncodeToString(hash.Sum(nil))[:16], nil
}
