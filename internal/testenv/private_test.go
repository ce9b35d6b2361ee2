// Tests of the private pair: a workflow in flight outlives the kill of each
// server, and a Temporal that has lost everything serves again.

package testenv_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/testenv"
)

func TestPrivate(t *testing.T) {
	pair := testenv.Private(t)
	address, namespace := pair.Temporal()
	c := dial(t, address, namespace)
	db, err := store.Open(t.Context(), pair.DSN(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Pool.Exec(t.Context(), "CREATE TABLE kept (n int); INSERT INTO kept VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	timed := func(what string, f func()) {
		began := time.Now()
		f()
		t.Logf("%s: %.2f s", what, time.Since(began).Seconds())
	}

	run := begin(t, c, "temporal-killed")
	timed("kill Temporal", pair.KillTemporal)
	timed("restart Temporal", pair.RestartTemporal)
	timed("the workflow in flight ends", func() { end(t, c, run, "temporal-killed") })

	run = begin(t, c, "postgres-killed")
	timed("kill PostgreSQL", pair.KillPostgres)
	timed("restart PostgreSQL", pair.RestartPostgres)
	timed("the workflow in flight ends", func() { end(t, c, run, "postgres-killed") })
	var n int
	if err := db.Pool.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 1 {
		// The pool may hand out a connection that died; the next is new.
		if err = db.Pool.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 1 {
			t.Errorf("kept %d, %v, want 1", n, err)
		}
	}

	run = begin(t, c, "both-killed")
	pair.KillPostgres()
	pair.KillTemporal()
	pair.RestartPostgres()
	pair.RestartTemporal()
	timed("after both, the workflow in flight ends", func() { end(t, c, run, "both-killed") })

	run = begin(t, c, "lost")
	timed("drop Temporal's databases", pair.DropTemporalDatabase)
	timed("restart Temporal on nothing", pair.RestartTemporal)
	_, err = c.DescribeWorkflow(within(t, 30*time.Second), "lost", run.GetRunID())
	var gone *serviceerror.NotFound
	if !errors.As(err, &gone) {
		t.Errorf("a lost workflow: %v, want not found", err)
	}
	run = begin(t, c, "after")
	timed("a new workflow ends", func() { end(t, c, run, "after") })
}
