package engine_test

// What the tests stand on: a database with a table of things to operate on.

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Waiting(8) // for ticks of the loops
	testenv.Examples(40)
	testenv.Main(m)
}

// world is an engine with a database of its own.
type world struct {
	t  testing.TB
	db *store.DB
	e  *engine.Engine
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, testenv.Database(t))
}

func newWorldOn(t testing.TB, dsn string) *world {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := &world{t: t, db: db}
	w.e = engine.New(db, engine.Resource{Type: operations.Server, Table: "fake.things", Abandon: abandonThing, Withdraw: withdrawThing})
	w.exec(`CREATE SCHEMA IF NOT EXISTS fake`)
	w.exec(`CREATE TABLE IF NOT EXISTS fake.things (
		id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
		operation_id      text REFERENCES engine.operations (id),
		next_operation_id text REFERENCES engine.operations (id),
		generation        bigint NOT NULL DEFAULT 0,
		abandoned         text NOT NULL DEFAULT '',
		withdrawn         text NOT NULL DEFAULT '')`)
	return w
}

// abandonThing writes down how it was abandoned.
func abandonThing(ctx context.Context, tx store.Tx, op engine.Operation, result operations.Result, fault *steps.Fault) error {
	_, err := tx.Exec(ctx, `UPDATE fake.things SET abandoned = $2 WHERE id = $1`,
		op.ResourceID, fmt.Sprintf("%s %s %s", op.Kind, result, fault.Code))
	return err
}

// withdrawThing writes down what was withdrawn of it.
func withdrawThing(ctx context.Context, tx store.Tx, op engine.Operation, result operations.Result) error {
	_, err := tx.Exec(ctx, `UPDATE fake.things SET withdrawn = withdrawn || $2 WHERE id = $1`, op.ResourceID, fmt.Sprintf("%s %s.", op.Kind, result))
	return err
}

// thing is the lock of a thing.
type thing struct {
	holder, next string
	generation   int64
	abandoned    string
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Pool.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) newThing() (id string) {
	w.t.Helper()
	if err := w.db.Pool.QueryRow(w.t.Context(), `INSERT INTO fake.things DEFAULT VALUES RETURNING id::text`).Scan(&id); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) thing(id string) (got thing) {
	w.t.Helper()
	err := w.db.Pool.QueryRow(w.t.Context(), `SELECT COALESCE(operation_id, ''), COALESCE(next_operation_id, ''), generation, abandoned
		FROM fake.things WHERE id = $1`, id).Scan(&got.holder, &got.next, &got.generation, &got.abandoned)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func (w *world) operation(id string) engine.Operation {
	w.t.Helper()
	op, err := w.e.Get(w.t.Context(), w.db.Pool, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return op
}

// tx does something in one transaction and gives what it gives.
func tx[T any](w *world, f func(ctx context.Context, tx store.Tx) (T, error)) (T, error) {
	w.t.Helper()
	var got T
	err := w.db.InTx(w.t.Context(), func(tx store.Tx) (err error) {
		got, err = f(w.t.Context(), tx)
		return err
	})
	return got, err
}

func (w *world) tryAccept(kind operations.Kind, id string) (engine.Accepted, error) {
	w.t.Helper()
	return tx(w, func(ctx context.Context, tx store.Tx) (engine.Accepted, error) {
		return w.e.Accept(ctx, tx, engine.Request{Kind: kind, ResourceID: id, ProjectID: "p1", UserID: "u1", RequestID: "req-1",
			Input: map[string]string{"asked": "for"}})
	})
}

func (w *world) accept(kind operations.Kind, id string) engine.Accepted {
	w.t.Helper()
	return must(w.tryAccept(kind, id))(w.t)
}

// unbegun is an operation of a kind that owns the thing; a recover operation
// is made of a delete that died.
func (w *world) unbegun(kind operations.Kind, id string) string {
	w.t.Helper()
	if kind != operations.ServerRecover {
		return w.accept(kind, id).OperationID
	}
	dead := w.accept(operations.ServerDelete, id).OperationID
	w.begin(dead, "run-0")
	return w.recover(dead)
}

func (w *world) tryBegin(op, run string) (steps.BeginOut, error) {
	w.t.Helper()
	return tx(w, func(ctx context.Context, tx store.Tx) (steps.BeginOut, error) {
		return w.e.Begin(ctx, tx, steps.BeginIn{OperationID: op, RunID: run})
	})
}

// begin begins an operation and gives the fence of its run.
func (w *world) begin(op, run string) steps.Fence {
	w.t.Helper()
	out := must(w.tryBegin(op, run))(w.t)
	if out.Verdict != steps.Run {
		w.t.Fatalf("begin %s: %s, %s; want run", op, out.Verdict, out.Reason)
	}
	return steps.Fence{OperationID: op, Generation: out.Generation, RunID: run}
}

// running is an operation of a kind on a new thing, begun by run "run-1".
func (w *world) running(kind operations.Kind) (id string, f steps.Fence) {
	w.t.Helper()
	id = w.newThing()
	return id, w.begin(w.accept(kind, id).OperationID, "run-1")
}

func (w *world) tryAdvance(in steps.AdvanceIn) (steps.AdvanceOut, error) {
	w.t.Helper()
	return tx(w, func(ctx context.Context, tx store.Tx) (steps.AdvanceOut, error) { return w.e.Advance(ctx, tx, in) })
}

func (w *world) advance(in steps.AdvanceIn) steps.AdvanceOut {
	w.t.Helper()
	return must(w.tryAdvance(in))(w.t)
}

func (w *world) tryFinish(in steps.FinishIn) (steps.FinishOut, error) {
	w.t.Helper()
	return tx(w, func(ctx context.Context, tx store.Tx) (steps.FinishOut, error) { return w.e.Finish(ctx, tx, in) })
}

func (w *world) finish(f steps.Fence, result operations.Result) steps.FinishOut {
	w.t.Helper()
	return must(w.tryFinish(steps.FinishIn{Fence: f, Result: result}))(w.t)
}

func (w *world) cancel(id string) engine.Operation {
	w.t.Helper()
	return must(tx(w, func(ctx context.Context, tx store.Tx) (engine.Operation, error) {
		return w.e.RequestCancel(ctx, tx, id, "tester")
	}))(w.t)
}

func (w *world) recover(id string) string {
	w.t.Helper()
	return must(tx(w, func(ctx context.Context, tx store.Tx) (string, error) { return w.e.Recover(ctx, tx, id, "it was lost") }))(w.t)
}

func (w *world) audit() engine.Report {
	w.t.Helper()
	return must(w.e.Audit(w.t.Context()))(w.t)
}

// silent fails the test if the audit finds anything.
func (w *world) silent() {
	w.t.Helper()
	for _, f := range w.audit().Findings {
		w.t.Errorf("audit: %s: %s: %s", f.Probe, f.Subject, f.Detail)
	}
}

// must gives the value, or ends the test with the error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func guest(host string) operations.Effect {
	return operations.Effect{Kind: operations.EffectGuest, Ref: "g", Host: host}
}

func claim(host string) operations.Effect {
	return operations.Effect{Kind: operations.EffectClaim, Ref: "g", Host: host}
}

// kinds are those of operations on servers: what a thing is taken for here.
func kinds() []operations.Spec {
	return slices.DeleteFunc(operations.All(), func(s operations.Spec) bool { return s.Resource != operations.Server })
}
