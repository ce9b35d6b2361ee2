// A pair of servers for a test that kills them.

package testenv

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/dev/postgres"
	"holdfast.dev/internal/store"
)

// Pair is a PostgreSQL and a Temporal server that one test owns. It has the
// product's database, migrated, and the namespace "holdfast". Addresses stay
// the same over kills and restarts.
type Pair struct {
	t        testing.TB
	services *Services
}

// Private starts a pair, which is stopped when the test ends.
func Private(t testing.TB) *Pair {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	services, err := StartServices(ctx)
	if services != nil {
		t.Cleanup(func() {
			if err := services.Stop(); err != nil {
				t.Errorf("stop the private services: %v", err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &Pair{t: t, services: services}
	if err := store.Migrate(ctx, p.DSN()); err != nil {
		t.Fatal(err)
	}
	return p
}

// DSN returns the address of the product's database.
func (p *Pair) DSN() string {
	p.t.Helper()
	dsn, err := p.services.Postgres.DSN(postgres.ProductDatabase, postgres.ProductRole)
	if err != nil {
		p.t.Fatal(err)
	}
	return dsn
}

// Temporal returns the address of the Temporal server and its namespace.
func (p *Pair) Temporal() (hostPort, namespace string) {
	return p.services.Temporal, "holdfast"
}

// Admin administers the PostgreSQL.
func (p *Pair) Admin() postgres.Admin { return p.services.Postgres }

// Pids are the process ids of both.
func (p *Pair) Pids() (postgres, temporal int) {
	return p.services.server.Pid(), p.services.temporal.State().Pid
}

// Logs are the files that both write their logs to.
func (p *Pair) Logs() []string {
	return []string{filepath.Join(p.services.dir, "temporal.log"), filepath.Join(p.services.dir, "postgres", "log")}
}

// KillPostgres ends PostgreSQL with SIGKILL.
func (p *Pair) KillPostgres() {
	p.t.Helper()
	p.do("kill PostgreSQL", func(context.Context) error { return p.services.server.Kill() })
}

// RestartPostgres starts PostgreSQL after a kill.
func (p *Pair) RestartPostgres() {
	p.t.Helper()
	p.do("restart PostgreSQL", p.services.server.Restart)
}

// KillTemporal ends the Temporal server with SIGKILL.
func (p *Pair) KillTemporal() {
	p.t.Helper()
	p.do("kill Temporal", func(context.Context) error { return p.services.temporal.Kill() })
}

// RestartTemporal starts the Temporal server after a kill.
func (p *Pair) RestartTemporal() {
	p.t.Helper()
	// It gives up when it is not up within its own time, which a crowded machine
	// may take from it.
	p.do("restart Temporal", func(ctx context.Context) (err error) {
		for range 3 {
			if err = p.services.temporal.Start(ctx); err == nil || ctx.Err() != nil {
				return err
			}
		}
		return err
	})
}

// DropTemporalDatabase kills the Temporal server and loses all it knew: its
// databases are dropped. The next restart makes them anew.
func (p *Pair) DropTemporalDatabase() {
	p.t.Helper()
	p.KillTemporal()
	for _, name := range []string{postgres.TemporalDatabase, postgres.VisibilityDatabase} {
		p.do("drop database "+name, func(ctx context.Context) error {
			return p.services.Postgres.DropDatabase(ctx, name)
		})
	}
}

func (p *Pair) do(what string, f func(context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	if err := f(ctx); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}
