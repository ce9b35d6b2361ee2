package engine_test

import (
	"context"
	"slices"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

func TestCancelBeforeTheBeginEndsOnTheSpot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	op := w.accept(operations.ServerBuild, id).OperationID
	got := w.cancel(op)
	if got.Result != operations.ResultCancelled || got.CancelRequestedBy != "tester" || got.CancelRequestedAt == nil || got.ErrorCode != "Cancelled" {
		t.Errorf("cancelled %+v", got)
	}
	if at := w.thing(id); at != (thing{generation: 2, abandoned: "server.build cancelled Cancelled"}) {
		t.Errorf("the thing is %+v", at)
	}
	w.silent()
}

func TestCancelOfOneThatWaitsLeavesTheRunningOneAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, f := w.running(operations.ServerReboot)
	next := w.accept(operations.ServerDelete, id).OperationID
	if got := w.cancel(next); got.Result != operations.ResultCancelled {
		t.Errorf("cancelled %+v", got)
	}
	if at := w.thing(id); at != (thing{holder: f.OperationID, generation: 1}) {
		t.Errorf("the thing is %+v", at)
	}
	if out := w.finish(f, operations.ResultCancelled); out.Next != "" {
		t.Errorf("next is %q", out.Next)
	}
	w.silent()
}

// What the request of an operation that never began has written is withdrawn,
// whoever takes its place or whatever it waited for, and once.
func TestWhatNeverBeganIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kinds     []operations.Kind // one after the other; the last is not withdrawn
		begun     bool              // the first of them
		cancelled bool              // and so the last one is
		want      string
	}{
		"another takes its place":          {[]operations.Kind{operations.ServerResize, operations.ServerDelete}, false, false, "server.resize superseded."},
		"another takes the place of that":  {[]operations.Kind{operations.ServerResize, operations.ServerResetState, operations.ServerDelete}, false, false, "server.resize superseded.server.reset-state superseded."},
		"it waits, and another takes that": {[]operations.Kind{operations.ServerReboot, operations.ServerEvacuate, operations.ServerDelete}, true, false, "server.evacuate superseded."},
		"it waits, and is cancelled":       {[]operations.Kind{operations.ServerReboot, operations.ServerEvacuate}, true, true, "server.evacuate cancelled."},
		"it has begun":                     {[]operations.Kind{operations.ServerResize, operations.ServerDelete}, true, false, ""},
		"it is cancelled, and abandoned":   {[]operations.Kind{operations.ServerResize}, false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.newThing()
			var last string
			for i, kind := range c.kinds {
				last = w.accept(kind, id).OperationID
				if c.begun && i == 0 {
					w.begin(last, "run-1")
				}
			}
			if c.cancelled {
				w.cancel(last)
			}
			var got string
			if err := w.db.Pool.QueryRow(t.Context(), `SELECT withdrawn FROM fake.things WHERE id = $1`, id).Scan(&got); err != nil || got != c.want {
				t.Errorf("withdrawn: %q, %v; want %q", got, err, c.want)
			}
			w.silent()
		})
	}
}

func TestCancelOfARunningOneIsNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, f := w.running(operations.ServerBuild)
	got := w.cancel(f.OperationID)
	if got.Finished() || got.CancelRequestedAt == nil || got.State() != engine.Running {
		t.Errorf("cancelled %+v", got)
	}
	again := w.cancel(f.OperationID)
	if !again.CancelRequestedAt.Equal(*got.CancelRequestedAt) {
		t.Errorf("cancelled at %s, then at %s", got.CancelRequestedAt, again.CancelRequestedAt)
	}
	if at := w.thing(id); at != (thing{holder: f.OperationID, generation: 1}) {
		t.Errorf("the thing is %+v", at)
	}
	w.finish(f, operations.ResultCancelled)
	if after := w.cancel(f.OperationID); after.Result != operations.ResultCancelled {
		t.Errorf("cancelled after its end: %+v", after)
	}
}

// Once a cancel is in the row, no write leads past the point of no return, by
// whichever run: what is recovered afterwards has done nothing that lasts. What
// is past it goes on.
func TestACancelledOneNeverPassesItsPointOfNoReturn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, spec := range kinds() {
		point := slices.Index(spec.Steps, spec.PointOfNoReturn)
		if spec.Forward() || point < 0 {
			continue
		}
		t.Run(spec.Verb, func(t *testing.T) {
			before := ""
			_, f := w.running(spec.Kind)
			if point > 0 {
				before = spec.Steps[point-1]
				w.advance(steps.AdvanceIn{Fence: f, Step: before, Attempt: 1, Intend: []operations.Effect{claim("h1")}})
			}
			settle := []steps.Settlement{{Seq: 1, State: operations.Done}}[:min(point, 1)]
			w.cancel(f.OperationID)
			for _, step := range slices.Repeat(spec.Steps[point:], 2) {
				out := w.advance(steps.AdvanceIn{Fence: f, Step: step, Attempt: 1, Host: "h1", Intend: []operations.Effect{guest("h1")}, Settle: settle})
				if op := w.operation(f.OperationID); !out.CancelRequested || op.Step != before || op.Host != "" {
					t.Errorf("cancelled at %q and led to %q, it is at %q on %q and was told %t", before, step, op.Step, op.Host, out.CancelRequested)
				}
				if got := states(out.Effects); len(got) != len(settle) || slices.ContainsFunc(got, func(s operations.EffectState) bool { return s != operations.Done }) {
					t.Errorf("the ledger is %v", got)
				}
			}
			w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Attempt: 1, Message: "cancelled",
				Settle: []steps.Settlement{{Seq: 1, State: operations.Undone}}[:min(point, 1)]})
			w.finish(f, operations.ResultCancelled)

			_, f = w.running(spec.Kind)
			w.advance(steps.AdvanceIn{Fence: f, Step: spec.PointOfNoReturn, Attempt: 1})
			w.cancel(f.OperationID)
			for _, step := range spec.Steps[point:] {
				if w.advance(steps.AdvanceIn{Fence: f, Step: step, Attempt: 1, Host: "h1"}); w.operation(f.OperationID).Step != step {
					t.Errorf("past its point of no return it did not go on to %q", step)
				}
			}
			// A run whose task was lost there doesn't lead back.
			last := spec.Steps[len(spec.Steps)-1]
			if out := w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Attempt: 1, Message: "cancelled"}); out.Step != last || w.operation(f.OperationID).Step != last {
				t.Errorf("undone by a run that doesn't know where it is, it is at %q", out.Step)
			}
			// One that fails there is not before it again, for no run to come.
			w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Attempt: 1, Message: "it failed", Beyond: true})
			out := must(w.tryBegin(f.OperationID, "run-2"))(t)
			if out.Step != last {
				t.Errorf("begun again where it undoes, it is at %q, want %q", out.Step, last)
			}
			f.RunID, f.Generation = "run-2", out.Generation
			if w.advance(steps.AdvanceIn{Fence: f, Step: last, Attempt: 1}); w.operation(f.OperationID).Step != last {
				t.Errorf("it did not go on to %q", last)
			}
			w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Attempt: 1, Message: "it failed", Beyond: true})
			heir := must(w.tryBegin(w.recover(f.OperationID), "run-3"))(t)
			if heir.Recovers == nil || heir.Recovers.Step != last {
				t.Errorf("its recovery is told of %+v", heir.Recovers)
			}
		})
	}
	w.silent()
}

// A recovery has the only list of what must be undone: not even one that has
// not begun is ended by a cancel.
func TestCancelNeverEndsARecovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, f := w.running(operations.ServerBuild)
	heir := w.recover(f.OperationID)
	if got := w.cancel(heir); got.Finished() || got.CancelRequestedAt == nil {
		t.Errorf("cancelled %+v", got)
	}
	if at := w.thing(id); at.holder != heir {
		t.Errorf("the thing is %+v", at)
	}
}

func TestCancelOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := tx(w, func(ctx context.Context, tx store.Tx) (engine.Operation, error) {
		return w.e.RequestCancel(ctx, tx, "server/x/start/y", "tester")
	})
	if !faults.Is(err, faults.NotFound) {
		t.Errorf("%v, want not found", err)
	}
}
