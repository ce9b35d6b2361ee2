package engine_test

import (
	"context"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

func TestBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	op := w.accept(operations.ServerBuild, id).OperationID
	out := must(w.tryBegin(op, "run-1"))(t)
	row := w.operation(op)
	if out.Verdict != steps.Run || out.Kind != operations.ServerBuild || out.ResourceID != id || out.Generation != 1 ||
		out.Attempt != 1 || out.Step != "" || out.CancelRequested || out.Recovers != nil ||
		string(out.Input) != `{"asked": "for"}` || !out.Deadline.Equal(row.Deadline) {
		t.Errorf("begun %+v", out)
	}
	if !row.Begun() || row.RunID != "run-1" || row.State() != engine.Running {
		t.Errorf("the row is %+v", row)
	}
	again := must(w.tryBegin(op, "run-1"))(t)
	if again.Verdict != steps.Run || again.Generation != 1 {
		t.Errorf("begun again by the same run: %+v", again)
	}
	if now := w.operation(op); !now.DispatchedAt.Equal(*row.DispatchedAt) {
		t.Errorf("dispatched at %s, then at %s", row.DispatchedAt, now.DispatchedAt)
	}
}

// A first step is come to with the beginning, once, and not by what is cancelled.
func TestBeginComesToTheFirstStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begin := func(op, run string) steps.BeginOut {
		t.Helper()
		var out steps.BeginOut
		err := w.db.InTx(t.Context(), func(tx store.Tx) (err error) {
			out, err = w.e.Begin(t.Context(), tx, steps.BeginIn{OperationID: op, RunID: run, First: operations.StepSchedule})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	op := w.accept(operations.ServerBuild, w.newThing()).OperationID
	for _, run := range []string{"run-1", "run-1", "run-2"} {
		before := w.operation(op).Step
		out := begin(op, run)
		if !out.Opened || out.Step != before || w.operation(op).Step != operations.StepSchedule {
			t.Errorf("begun by %s: %+v, at step %q", run, out, w.operation(op).Step)
		}
		events, err := w.e.Events(t.Context(), w.db.Pool, op)
		if err != nil || len(events) != 1 || events[0].Step != operations.StepSchedule || events[0].Attempt != 1 || events[0].FinishedAt != nil {
			t.Errorf("after %s the events are %+v, %v", run, events, err)
		}
		fence := steps.Fence{OperationID: op, Generation: out.Generation, RunID: run}
		if run == "run-2" {
			w.advance(steps.AdvanceIn{Fence: fence, Step: operations.StepGuest, Attempt: 1})
			if out = begin(op, "run-3"); out.Opened || w.operation(op).Step != operations.StepGuest {
				t.Errorf("begun beyond it: %+v, at step %q", out, w.operation(op).Step)
			}
		}
	}
	late := w.accept(operations.ServerBuild, w.newThing()).OperationID
	must(w.tryBegin(late, "run-1"))(t)
	w.cancel(late)
	if out := begin(late, "run-1"); out.Opened || w.operation(late).Step != "" {
		t.Errorf("cancelled, it is begun: %+v, at step %q", out, w.operation(late).Step)
	}
}

// A run started from nothing takes over, and finds what the other had come to;
// the other can write nothing more.
func TestBeginByAnotherRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, first := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: first, Step: operations.StepGuest, Attempt: 2, Host: "h1", Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: "g", Host: "h1", Attempt: 2}}})
	w.cancel(first.OperationID)
	out := must(w.tryBegin(first.OperationID, "run-2"))(t)
	if out.Verdict != steps.Run || out.Generation != first.Generation+1 || out.Step != operations.StepGuest || out.Attempt != 2 || !out.CancelRequested {
		t.Errorf("begun %+v", out)
	}
	if len(out.Effects) != 1 || out.Effects[0] != (operations.Effect{Seq: 1, Kind: operations.EffectGuest, Ref: "g", Host: "h1", Attempt: 2, State: operations.Intended}) {
		t.Errorf("the ledger is %+v", out.Effects)
	}
	if at := w.thing(id); at.holder != first.OperationID || at.generation != out.Generation {
		t.Errorf("the thing is %+v", at)
	}
	if _, err := w.tryAdvance(steps.AdvanceIn{Fence: first, Step: operations.StepUndo}); !faults.Is(err, faults.Superseded) {
		t.Errorf("the first run goes on: %v", err)
	}
	w.finish(steps.Fence{OperationID: first.OperationID, Generation: out.Generation, RunID: "run-2"}, operations.ResultFailed)
}

func TestBeginStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stops := func(name, op, run string, reset bool, reason string) {
		t.Helper()
		before := must(w.e.Operations(t.Context(), w.db.Pool, engine.Filter{}))(t)
		out, err := tx(w, func(ctx context.Context, tx store.Tx) (steps.BeginOut, error) {
			return w.e.Begin(ctx, tx, steps.BeginIn{OperationID: op, RunID: run, Reset: reset})
		})
		if err != nil || out.Verdict != steps.Stop || out.Reason != reason {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		after := must(w.e.Operations(t.Context(), w.db.Pool, engine.Filter{}))(t)
		for i := range before {
			if before[i].RunID != after[i].RunID || before[i].State() != after[i].State() {
				t.Errorf("%s: %+v became %+v", name, before[i], after[i])
			}
		}
	}
	stops("missing", "server/00000000-0000-0000-0000-000000000000/start/00000000000000000000", "run-1", false, "there is no such operation, or no such resource")

	_, done := w.running(operations.ServerStart)
	w.finish(done, operations.ResultDone)
	stops("finished", done.OperationID, "run-1", false, "the operation has finished: done")
	stops("finished, another run", done.OperationID, "run-2", false, "the operation has finished: done")

	id := w.newThing()
	superseded := w.accept(operations.ServerStart, id).OperationID
	w.accept(operations.ServerDelete, id)
	stops("superseded", superseded, "run-1", false, "the operation has finished: superseded")

	_, reset := w.running(operations.ServerStart)
	stops("reset", reset.OperationID, "run-2", true, "the workflow was reset by hand; the engine recovers the operation")

	lost, unowned := w.running(operations.ServerStart)
	w.exec(`UPDATE fake.things SET operation_id = NULL WHERE id = $1`, lost)
	stops("without its resource", unowned.OperationID, "run-1", false, "the operation is superseded")
}

// A reset of a workflow that never began anything is as good as any other run.
func TestBeginOfAResetBeforeTheFirstBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.accept(operations.ServerStart, w.newThing()).OperationID
	for range 2 {
		out, err := tx(w, func(ctx context.Context, tx store.Tx) (steps.BeginOut, error) {
			return w.e.Begin(ctx, tx, steps.BeginIn{OperationID: op, RunID: "run-2", Reset: true})
		})
		if err != nil || out.Verdict != steps.Run {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

// One that waits is told to come again, and runs once its turn has come.
func TestBeginBeforeItsTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, first := w.running(operations.ServerBuild)
	next := w.accept(operations.ServerDelete, id).OperationID
	if _, err := w.tryBegin(next, "run-9"); !faults.Is(err, faults.Unavailable) || faults.As(err).Code != "NotItsTurn" {
		t.Errorf("before its turn: %v", err)
	}
	if op := w.operation(next); op.Begun() || op.RunID != "" || op.State() != engine.Waiting {
		t.Errorf("it has become %+v", op)
	}
	if out := w.finish(first, operations.ResultCancelled); out.Next != next {
		t.Errorf("next is %q, want %q", out.Next, next)
	}
	w.begin(next, "run-9")
	w.silent()
}

// Every way to write for an operation, with every fence that doesn't hold.
func TestFences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	writes := map[string]func(ctx context.Context, tx store.Tx, f steps.Fence) error{
		"check": func(ctx context.Context, tx store.Tx, f steps.Fence) error {
			_, err := w.e.CheckFence(ctx, tx, f)
			return err
		},
		"advance": func(ctx context.Context, tx store.Tx, f steps.Fence) error {
			_, err := w.e.Advance(ctx, tx, steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
			return err
		},
		"intend": func(ctx context.Context, tx store.Tx, f steps.Fence) error {
			_, err := w.e.Intend(ctx, tx, f, guest("h1"))
			return err
		},
		"finish": func(ctx context.Context, tx store.Tx, f steps.Fence) error {
			_, err := w.e.Finish(ctx, tx, steps.FinishIn{Fence: f, Result: operations.ResultDone})
			return err
		},
		"take": func(ctx context.Context, tx store.Tx, f steps.Fence) error {
			_, err := w.e.Take(ctx, tx, f)
			return err
		},
	}
	_, other := w.running(operations.ServerStart)
	_, finished := w.running(operations.ServerStart)
	w.finish(finished, operations.ResultDone)
	id, good := w.running(operations.ServerStart)
	waiting := w.accept(operations.ServerDelete, id).OperationID
	fences := map[string]steps.Fence{
		"old generation":     {OperationID: good.OperationID, Generation: good.Generation - 1, RunID: good.RunID},
		"later generation":   {OperationID: good.OperationID, Generation: good.Generation + 1, RunID: good.RunID},
		"other run":          {OperationID: good.OperationID, Generation: good.Generation, RunID: "run-2"},
		"no run":             {OperationID: good.OperationID, Generation: good.Generation},
		"waiting operation":  {OperationID: waiting, Generation: good.Generation, RunID: good.RunID},
		"other operation":    {OperationID: other.OperationID, Generation: other.Generation + 5, RunID: other.RunID},
		"finished operation": finished,
		"missing operation":  {OperationID: "server/x/start/y", Generation: 1, RunID: "run-1"},
	}
	for write, do := range writes {
		for name, f := range fences {
			err := w.db.InTx(t.Context(), func(tx store.Tx) error { return do(t.Context(), tx, f) })
			if !faults.Is(err, faults.Superseded) {
				t.Errorf("%s with %s: %v, want superseded", write, name, err)
			}
		}
	}
	for _, op := range []string{good.OperationID, waiting, other.OperationID, finished.OperationID} {
		if row := w.operation(op); row.Step != "" {
			t.Errorf("%s has come to %s", op, row.Step)
		}
		if lines := must(w.e.Effects(t.Context(), w.db.Pool, op))(t); len(lines) != 0 {
			t.Errorf("%s has effects %+v", op, lines)
		}
	}
	if at := w.thing(id); at != (thing{holder: good.OperationID, next: waiting, generation: good.Generation}) {
		t.Errorf("the thing is %+v", at)
	}
	for write, do := range writes {
		if write == "finish" {
			continue
		}
		if err := w.db.InTx(t.Context(), func(tx store.Tx) error { return do(t.Context(), tx, good) }); err != nil {
			t.Errorf("%s with a good fence: %v", write, err)
		}
	}
}
