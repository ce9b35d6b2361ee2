package engine_test

// Advance, the ledger, events and Finish.

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

// states gives a ledger's states, by Seq.
func states(ledger []operations.Effect) []operations.EffectState {
	var got []operations.EffectState
	for _, e := range ledger {
		got = append(got, e.State)
	}
	return got
}

func TestIntendTwiceIsOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, f := w.running(operations.ServerBuild)
	second := guest("h1")
	second.Attempt = 2
	in := steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{claim("h1"), guest("h1"), guest("h2"), second}}
	once := w.advance(in)
	twice := w.advance(in)
	want := []operations.Effect{
		{Seq: 1, Kind: operations.EffectClaim, Ref: "g", Host: "h1", Attempt: 1, State: operations.Intended},
		{Seq: 2, Kind: operations.EffectGuest, Ref: "g", Host: "h1", Attempt: 1, State: operations.Intended},
		{Seq: 3, Kind: operations.EffectGuest, Ref: "g", Host: "h2", Attempt: 1, State: operations.Intended},
		{Seq: 4, Kind: operations.EffectGuest, Ref: "g", Host: "h1", Attempt: 2, State: operations.Intended},
	}
	if !slices.Equal(once.Effects, want) || !slices.Equal(twice.Effects, want) {
		t.Errorf("once %+v, twice %+v", once.Effects, twice.Effects)
	}
	whole, err := tx(w, func(ctx context.Context, tx store.Tx) ([]operations.Effect, error) {
		return w.e.Intend(ctx, tx, f, operations.Effect{Kind: operations.EffectPorts, Ref: "p", State: operations.Done})
	})
	if err != nil || len(whole) != 5 || whole[4].State != operations.Done {
		t.Errorf("%+v, %v", whole, err)
	}
	if _, err := w.tryAdvance(steps.AdvanceIn{Fence: f, Step: "x", Intend: []operations.Effect{{Kind: operations.EffectPorts, Ref: "q", State: operations.Undone}}}); !faults.Is(err, faults.Invalid) {
		t.Errorf("intended as undone: %v", err)
	}
}

// Every state meets every settlement, and an intention.
func TestSettle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const (
		intended, done, undone, owed, passed = operations.Intended, operations.Done, operations.Undone, operations.Owed, operations.Passed
	)
	rows := []struct {
		is, settled, becomes operations.EffectState
	}{
		{intended, done, done}, {intended, undone, undone}, {intended, owed, owed}, {intended, passed, passed},
		{done, done, done}, {done, undone, undone}, {done, owed, owed}, {done, passed, passed},
		{owed, done, owed}, {owed, undone, undone}, {owed, owed, owed}, {owed, passed, owed},
		{undone, done, undone}, {undone, undone, undone}, {undone, owed, undone}, {undone, passed, undone},
		{passed, done, passed}, {passed, undone, passed}, {passed, owed, passed}, {passed, passed, passed},
	}
	for _, row := range rows {
		_, f := w.running(operations.ServerBuild)
		w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
		settle := func(s operations.EffectState) operations.EffectState {
			if s == intended {
				return w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest}).Effects[0].State
			}
			return w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Settle: []steps.Settlement{{Seq: 1, State: s}}}).Effects[0].State
		}
		settle(row.is)
		for range 2 {
			if got := settle(row.settled); got != row.becomes {
				t.Errorf("%s settled as %s is %s, want %s", row.is, row.settled, got, row.becomes)
			}
		}
	}
	_, f := w.running(operations.ServerBuild)
	for _, bad := range []steps.Settlement{{Seq: 1, State: done}, {Seq: 1, State: intended}, {Seq: 1, State: "lost"}} {
		if _, err := w.tryAdvance(steps.AdvanceIn{Fence: f, Step: "x", Settle: []steps.Settlement{bad}}); !faults.Is(err, faults.Invalid) {
			t.Errorf("%+v: %v, want invalid", bad, err)
		}
	}
	w.advance(steps.AdvanceIn{Fence: f, Step: "network", Intend: []operations.Effect{{Kind: operations.EffectPorts, Ref: "mark"}}})
	out := w.advance(steps.AdvanceIn{Fence: f, Step: "network", Settle: []steps.Settlement{{Seq: 1, State: done, Ref: "port-1"}}})
	if out.Effects[0].Ref != "port-1" || out.Effects[0].State != done {
		t.Errorf("named %+v", out.Effects)
	}
}

// An effect that was undone, and is about to be had again, is in the ledger.
func TestIntendOpensWhatWasSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, f := w.running(operations.ServerBuild)
	for _, s := range []operations.EffectState{operations.Undone, operations.Owed} {
		w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
		w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Settle: []steps.Settlement{{Seq: 1, State: s}}})
		out := w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
		if got := states(out.Effects); !slices.Equal(got, []operations.EffectState{operations.Intended}) {
			t.Errorf("after %s: %v", s, got)
		}
	}
}

// told is an event without its times.
type told struct {
	Seq, Attempt int
	Step, Host   string
	Open         bool
	Result       operations.Result
	Message      string
}

func (w *world) told(id string) []told {
	w.t.Helper()
	var got []told
	for _, e := range must(w.e.Events(w.t.Context(), w.db.Pool, id))(w.t) {
		got = append(got, told{e.Seq, e.Attempt, e.Step, e.Host, e.FinishedAt == nil, e.Result, e.Message})
	}
	return got
}

func TestEventsTellTheStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, f := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepSchedule, Attempt: 1})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Attempt: 1, Host: "h1", Intend: []operations.Effect{guest("h1")}})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Attempt: 1, Message: "no disk"})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Attempt: 1, Settle: []steps.Settlement{{Seq: 1, State: operations.Undone}}})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepSchedule, Attempt: 2, Message: "leaving the host"})
	if op := w.operation(f.OperationID); op.Step != operations.StepSchedule || op.Attempt != 2 || op.Host != "h1" {
		t.Errorf("the row is %+v", op)
	}
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Attempt: 2, Host: "h2"})
	must(w.tryFinish(steps.FinishIn{Fence: f, Result: operations.ResultFailed, Fault: &steps.Fault{Code: "NoDisk", Message: "no disk either", HTTPCode: 500}}))(t)
	want := []told{
		{1, 1, operations.StepSchedule, "", false, operations.ResultDone, ""},
		{2, 1, operations.StepGuest, "h1", false, operations.ResultFailed, "no disk"},
		{3, 1, operations.StepUndo, "h1", false, operations.ResultDone, "no disk"},
		{4, 2, operations.StepSchedule, "h1", false, operations.ResultDone, "leaving the host"},
		{5, 2, operations.StepGuest, "h2", false, operations.ResultFailed, "no disk either"},
	}
	if got := w.told(f.OperationID); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	op := w.operation(f.OperationID)
	if op.Result != operations.ResultFailed || op.ErrorCode != "NoDisk" || op.Message != "no disk either" || op.State() != "failed" {
		t.Errorf("the row is %+v", op)
	}
}

func TestFinishOfAnUndoneOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, f := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Message: "cancelled"})
	if got := w.told(f.OperationID); got[1] != (told{2, 1, operations.StepUndo, "", true, "", "cancelled"}) {
		t.Errorf("while it is undone: %+v", got)
	}
	must(w.tryFinish(steps.FinishIn{Fence: f, Result: operations.ResultCancelled, Settle: []steps.Settlement{{Seq: 1, State: operations.Undone}}}))(t)
	want := []told{
		{1, 1, operations.StepGuest, "", false, operations.ResultFailed, "cancelled"},
		{2, 1, operations.StepUndo, "", false, operations.ResultDone, "cancelled"},
	}
	if got := w.told(f.OperationID); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	w.silent()
}

func TestFinish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, f := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{claim("h0"), claim("h1"), guest("h1"), guest("h2")},
		Settle: nil})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Settle: []steps.Settlement{{Seq: 1, State: operations.Undone}, {Seq: 2, State: operations.Done}, {Seq: 4, State: operations.Owed}}})
	out := must(w.tryFinish(steps.FinishIn{Fence: f, Result: operations.ResultDone, Note: "all is well"}))(t)
	if out.Next != "" {
		t.Errorf("next is %q", out.Next)
	}
	if at := w.thing(id); at != (thing{generation: 2}) {
		t.Errorf("the thing is %+v", at)
	}
	got := states(must(w.e.Effects(t.Context(), w.db.Pool, f.OperationID))(t))
	if !slices.Equal(got, []operations.EffectState{operations.Undone, operations.Passed, operations.Passed, operations.Owed}) {
		t.Errorf("the ledger is %v", got)
	}
	row := w.operation(f.OperationID)
	if row.Result != operations.ResultDone || row.Message != "all is well" || row.ErrorCode != "" || !row.Finished() {
		t.Errorf("the row is %+v", row)
	}
	if _, err := w.tryFinish(steps.FinishIn{Fence: f, Result: operations.ResultFailed}); !faults.Is(err, faults.Superseded) {
		t.Errorf("finished twice: %v", err)
	}
	if again := w.operation(f.OperationID); again.Result != operations.ResultDone || !again.FinishedAt.Equal(*row.FinishedAt) {
		t.Errorf("after the second: %+v", again)
	}
	if report := w.audit(); report.Owed != 1 || report.Unfinished != 0 || len(report.Findings) != 0 {
		t.Errorf("audit: %+v", report)
	}
}

func TestFinishHandsTheResourceOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, f := w.running(operations.ServerReboot)
	next := w.accept(operations.ServerDelete, id).OperationID
	// It waits for an hour: its time starts when it is its turn.
	w.exec(`UPDATE engine.operations SET created_at = created_at - interval '1 hour', deadline = deadline - interval '1 hour' WHERE id = $1`, next)
	before := w.operation(next)
	if out := w.finish(f, operations.ResultCancelled); out.Next != next {
		t.Errorf("next is %q, want %q", out.Next, next)
	}
	if at := w.thing(id); at != (thing{holder: next, generation: 2}) {
		t.Errorf("the thing is %+v", at)
	}
	after := w.operation(next)
	if after.State() != engine.Pending || after.StartAfter == nil || !after.Deadline.After(before.Deadline) {
		t.Errorf("the next one is %+v", after)
	}
	g := w.begin(next, "run-2")
	if g.Generation != 2 {
		t.Errorf("its generation is %d", g.Generation)
	}
	w.silent()
}
