package records_test

// What the steps of a build cost: their number of round trips to the database,
// each of which is paid for by two processes that wake up.

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/activities/records"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// roundTrips counts what is sent over connections: statements and batches.
type roundTrips struct{ n int }

func (r *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	r.n++
	return ctx
}
func (r *roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (r *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	r.n++
	return ctx
}
func (r *roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (r *roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// in gives the number of round trips in f.
func (r *roundTrips) in(t *testing.T, f func() error) int {
	t.Helper()
	before := r.n
	if err := f(); err != nil {
		t.Fatal(err)
	}
	return r.n - before
}

func TestRoundTripsOfABuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := computetest.AddServer(t, w.db, "p")
	operation := w.accept(operations.ServerBuild, s.ID, servers.TaskScheduling)
	host := computetest.AddHost(t, w.db, "h1", computetest.Room)

	var trips roundTrips
	cfg := w.db.Pool.Config()
	cfg.ConnConfig.Tracer = &trips
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	db := &store.DB{Pool: pool}
	r := records.New(db, engine.New(db, compute.Resource()), func(string) {})

	fence := steps.Fence{OperationID: operation, RunID: "run"}
	for _, step := range []struct {
		name string
		want int
		do   func() error
	}{
		{"Begin", 4, func() error {
			out, err := r.Begin(t.Context(), steps.BeginIn{OperationID: operation, RunID: fence.RunID, First: operations.StepSchedule})
			fence.Generation = out.Generation
			return err
		}},
		{"Advance", 4, func() error {
			_, err := r.Advance(t.Context(), steps.AdvanceIn{Fence: fence, Step: operations.StepSchedule, Attempt: 1})
			return err
		}},
		{"Advance to the guest", 4, func() error {
			_, err := r.Advance(t.Context(), steps.AdvanceIn{Fence: fence, Step: operations.StepGuest, Attempt: 1, Host: host,
				Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: s.ID, Host: host, Attempt: 1}}})
			return err
		}},
		{"ServerSpec", 2, func() error {
			_, err := r.ServerSpec(t.Context(), steps.ServerSpecIn{Fence: fence})
			return err
		}},
		{"Finish", 4, func() error {
			_, err := r.Finish(t.Context(), steps.FinishIn{Fence: fence, Result: operations.ResultDone, Server: &steps.ServerOutcome{Host: &host}})
			return err
		}},
	} {
		if n := trips.in(t, step.do); n != step.want {
			t.Errorf("%s takes %d round trips, want %d", step.name, n, step.want)
		}
	}
}
