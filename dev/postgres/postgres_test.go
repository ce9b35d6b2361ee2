// Tests of a private server: what it promises over kills and restarts, and
// what each role may do.

package postgres_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/postgres"
)

// folder is a temporary folder that the server's account may enter.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func start(t *testing.T, dir string) *postgres.Server {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func query(t *testing.T, server *postgres.Server, database, statements string) string {
	t.Helper()
	rows, err := server.SQL(t.Context(), database, statements)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCommitsOutliveKillAndStop(t *testing.T) {
	dir := folder(t)
	server := start(t, dir)
	must(t, server.Prepare(t.Context()))
	must(t, server.Prepare(t.Context())) // a second time changes nothing
	query(t, server, "holdfast", "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)")

	for range 3 {
		// A session that is at work when the postmaster dies holds its shared
		// memory for a moment longer.
		busy := make(chan struct{})
		go func() {
			defer close(busy)
			_, _ = server.SQL(context.Background(), "holdfast", "SELECT pg_sleep(60)") // it is cut off
		}()
		time.Sleep(100 * time.Millisecond)
		must(t, server.Kill())
		<-busy
		if err := server.Ping(t.Context()); err == nil {
			t.Fatal("it answers after a kill")
		}
		must(t, server.Restart(t.Context()))
		query(t, server, "holdfast", "INSERT INTO kept SELECT max(n) + 1 FROM kept")
	}
	must(t, server.Stop())
	server = start(t, dir)
	if got := query(t, server, "holdfast", "SELECT string_agg(n::text, ',' ORDER BY n) FROM kept"); got != "1,2,3,4" {
		t.Errorf("kept %s, want 1,2,3,4", got)
	}
}

func TestSettings(t *testing.T) {
	server, err := postgres.Start(t.Context(), postgres.Options{
		Dir:      folder(t),
		Settings: map[string]string{"shared_buffers": "32MB"},
	})
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	for setting, want := range map[string]string{
		"fsync":              "on",
		"synchronous_commit": "on",
		"max_connections":    "300",
		"shared_buffers":     "32MB",
		"listen_addresses":   "127.0.0.1",
	} {
		if got := query(t, server, "postgres", "SHOW "+setting); got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
}

func TestRoles(t *testing.T) {
	dir := folder(t)
	server := start(t, dir)
	must(t, server.Prepare(t.Context()))
	for _, role := range []string{"postgres", "holdfast", "temporal"} {
		info, err := os.Stat(filepath.Join(dir, role+".password"))
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the password of %s has mode %o", role, info.Mode().Perm())
		}
	}
	connect := func(role, database string) string {
		dsn, err := server.DSN(database, role)
		must(t, err)
		out, _ := exec.Command("psql", "-XAtc", "SELECT current_user", dsn).CombinedOutput() // what it says is the result
		return strings.TrimSpace(string(out))
	}
	for _, c := range []struct{ role, database, want string }{
		{"holdfast", "holdfast", "holdfast"},
		{"temporal", "temporal", "temporal"},
		{"temporal", "temporal_visibility", "temporal"},
		{"temporal", "holdfast", `permission denied for database "holdfast"`},
		{"holdfast", "temporal", `permission denied for database "temporal"`},
	} {
		if got := connect(c.role, c.database); !strings.Contains(got, c.want) {
			t.Errorf("%s in %s: %s, want %s", c.role, c.database, got, c.want)
		}
	}
	stranger := server.Admin
	stranger.Password = "guess"
	if err := stranger.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("a wrong password: %v", err)
	}
	if err := server.EnsureRole(t.Context(), "a'b", ""); err == nil {
		t.Error("a role that would have to be quoted was made")
	}
}

// A database whose maker was killed before it was closed to others is closed by
// the next start.
func TestHalfMadeDatabaseIsClosed(t *testing.T) {
	server := start(t, folder(t))
	must(t, server.EnsureRole(t.Context(), "holdfast", ""))
	query(t, server, "postgres", "CREATE DATABASE holdfast OWNER holdfast")
	must(t, server.Prepare(t.Context()))
	for _, database := range []string{"holdfast", "temporal", "temporal_visibility"} {
		if got := query(t, server, "postgres", "SELECT has_database_privilege('public', '"+database+"', 'CONNECT')"); got != "f" {
			t.Errorf("everybody may connect to %s", database)
		}
	}
}

func TestDropAndRecreate(t *testing.T) {
	server := start(t, folder(t))
	must(t, server.Prepare(t.Context()))
	query(t, server, "temporal", "CREATE TABLE lost (n int)")
	must(t, server.RecreateDatabase(t.Context(), "temporal", "temporal"))
	if got := query(t, server, "temporal", "SELECT count(*) FROM pg_tables WHERE tablename = 'lost'"); got != "0" {
		t.Errorf("%s tables are left, want 0", got)
	}
	must(t, server.DropDatabase(t.Context(), "temporal"))
	must(t, server.DropDatabase(t.Context(), "temporal"))
	if got := query(t, server, "postgres", "SELECT count(*) FROM pg_database WHERE datname = 'temporal'"); got != "0" {
		t.Errorf("%s databases are left, want 0", got)
	}
}

func TestFolderInUse(t *testing.T) {
	dir := folder(t)
	server := start(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := postgres.Start(ctx, postgres.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "is in use by another PostgreSQL") {
		t.Errorf("a second server over the same folder: %v", err)
	}
	must(t, server.Ping(t.Context()))
}

func TestUnfinishedClusterIsMadeAnew(t *testing.T) {
	dir := folder(t)
	must(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("15\n"), 0o600))
	if got := query(t, start(t, dir), "postgres", "SELECT 1"); got != "1" {
		t.Errorf("got %s, want 1", got)
	}
}
