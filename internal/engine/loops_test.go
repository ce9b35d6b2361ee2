package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/testenv"
)

// run runs loops until the test ends or they are told to stop.
func (c *cloud) run(l *engine.Loops) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { l.Run(ctx) })
	stop = func() {
		cancel()
		group.Wait()
	}
	c.t.Cleanup(stop)
	return stop
}

// Of several, one runs the loops: another when that one stops, and when its
// connection is lost, one of them again.
func TestOneLeads(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.serve()
	all := []*engine.Loops{c.loops, c.e.NewLoops(c.client, queue), c.e.NewLoops(c.client, queue)}
	leaders := func() (at []int) {
		for i, l := range all {
			if l.Health().Leading {
				at = append(at, i)
			}
		}
		return at
	}
	var stops []func()
	for _, l := range all {
		stops = append(stops, c.run(l))
	}
	c.eventually("one leads", func() bool { return len(leaders()) == 1 })
	first := leaders()[0]
	op := c.accept(operations.ServerStart, c.newThing()).OperationID
	c.until(op, engine.Running, operations.StepGuest)

	stops[first]()
	c.eventually("another leads", func() bool { return len(leaders()) == 1 })
	if second := leaders()[0]; second == first {
		t.Errorf("%d leads and is stopped", first)
	}

	c.exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	op = c.accept(operations.ServerStart, c.newThing()).OperationID
	c.until(op, engine.Running, operations.StepGuest)
	c.eventually("one leads again", func() bool { return len(leaders()) == 1 })
}

func TestHealth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := newCloudOn(t, w, "127.0.0.1:1", "nowhere")
	if got := c.loops.Health(); got != (engine.Health{}) {
		t.Errorf("before they run: %+v", got)
	}
	stop := c.run(c.loops)
	c.eventually("both loops have got through", func() bool {
		h := c.loops.Health()
		return h.Leading && !h.Dispatcher.Last.IsZero() && !h.Sweeper.Last.IsZero()
	})
	w.accept(operations.ServerStart, w.newThing())
	w.running(operations.ServerStart)
	w.due()
	c.eventually("both loops say that Temporal is down", func() bool {
		h := c.loops.Health()
		return h.Dispatcher.Trouble != "" && h.Sweeper.Trouble != ""
	})
	stop()
	if c.loops.Health().Leading {
		t.Error("stopped, and still leading")
	}
}

// Temporal goes down, loses all it knew, and comes back empty: what was
// accepted before, meanwhile and after comes to its end. So it does when
// PostgreSQL is killed.
func TestEverythingInFlightEndsAfterALoss(t *testing.T) {
	t.Parallel()
	pair := testenv.Private(t)
	address, namespace := pair.Temporal()
	c := newCloudOn(t, newWorldOn(t, pair.DSN()), address, namespace)
	c.serve()
	c.run(c.loops)

	var ops []string
	accept := func(kind operations.Kind) string {
		op := c.accept(kind, c.newThing()).OperationID
		ops = append(ops, op)
		return op
	}
	ends := func() {
		t.Helper()
		began := time.Now()
		for _, op := range ops {
			c.until(op, engine.Running, operations.StepGuest)
			c.eventually("it can be told to go on", func() bool { return c.client.SignalWorkflow(t.Context(), op, "", "word", "go") == nil })
		}
		for _, op := range ops {
			c.until(op, engine.State(operations.ResultDone), "")
		}
		t.Logf("%d operations ended %s later", len(ops), time.Since(began))
		c.silent()
		ops = nil
	}
	for range 5 {
		c.until(accept(operations.ServerStart), engine.Running, operations.StepGuest)
	}
	pair.DropTemporalDatabase()
	for range 5 {
		accept(operations.ServerDelete)
	}
	pair.RestartTemporal()
	runs := map[string]string{}
	for _, op := range ops[:5] {
		runs[op] = c.operation(op).RunID
	}
	for _, op := range ops[:5] {
		c.eventually(op+" has another run", func() bool { return c.operation(op).RunID != runs[op] })
	}
	accept(operations.ServerStop)
	ends()

	c.until(accept(operations.ServerStart), engine.Running, operations.StepGuest)
	pair.KillPostgres()
	pair.RestartPostgres()
	c.eventually("the database is back", func() bool { return c.db.Pool.Ping(t.Context()) == nil })
	c.eventually("the loops run again", func() bool { return c.loops.Health().Leading })
	accept(operations.ServerStart)
	ends()
}
