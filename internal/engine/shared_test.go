package engine_test

// Operations that share a resource, and those that want it for themselves.

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

const (
	attach       = operations.ServerAttachVolume
	detach       = operations.ServerDetachVolume
	attachedDisk = "server.attach-volume superseded Superseded"
)

// fenced is the fence of a run that has begun an operation.
func fenced(op, run string, generation int64) steps.Fence {
	return steps.Fence{OperationID: op, Generation: generation, RunID: run}
}

// Every kind meets every one that shares the thing, while that runs and before
// it has begun: none is refused, and none begins beside one that runs.
func TestEveryMeetingWithShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, first := range kinds() {
		for _, second := range kinds() {
			if first.Exclusive || first.Recovers() || second.Recovers() {
				continue
			}
			for _, begun := range []bool{true, false} {
				id := w.newThing()
				running := w.accept(first.Kind, id).OperationID
				if begun {
					w.begin(running, "run-1")
				}
				got := w.accept(second.Kind, id)
				preempts := operations.Meet(first.Kind, second.Kind) == operations.Preempt
				was, at := w.operation(running), w.thing(id)
				stays := begun || first.Prepared // to take back what it was accepted with
				if got.Meeting != operations.Meet(first.Kind, second.Kind) || got.Startable != (preempts && !stays) || was.Finished() != got.Startable ||
					(was.CancelRequestedAt != nil) != (preempts && stays) || (at.holder == got.OperationID) != second.Exclusive {
					t.Errorf("%s meets %s, begun %t: %+v, the thing is %+v, the other %+v", second.Kind, first.Kind, begun, got, at, was)
				}
			}
		}
	}
	w.silent()
}

// They take turns in their order, each under a generation of its own, and the
// resource is nobody's meanwhile.
func TestSharedOperationsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	var ops []string
	for i, kind := range []operations.Kind{attach, detach, attach} {
		got := w.accept(kind, id)
		if got.Startable != (i == 0) || (got.Meeting == operations.Queue) != (i > 0) {
			t.Errorf("%d: %+v", i, got)
		}
		ops = append(ops, got.OperationID)
	}
	if at := w.thing(id); at != (thing{}) {
		t.Errorf("the thing is %+v", at)
	}
	for i, op := range ops {
		if i+1 < len(ops) {
			if _, err := w.tryBegin(ops[i+1], "early"); !faults.Is(err, faults.Unavailable) || faults.As(err).Code != "NotItsTurn" {
				t.Errorf("begun before its turn: %v", err)
			}
		}
		f := w.begin(op, "run-1")
		if f.Generation != int64(i+1) {
			t.Errorf("%d begins under generation %d", i, f.Generation)
		}
		if again := w.begin(op, "run-1"); again != f {
			t.Errorf("begun twice: %+v, then %+v", f, again)
		}
		w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
		next := ""
		if i+1 < len(ops) {
			next = ops[i+1]
		}
		if out := w.finish(f, operations.ResultDone); out.Next != next {
			t.Errorf("after %d comes %q, want %q", i, out.Next, next)
		}
		if _, err := w.tryFinish(steps.FinishIn{Fence: f, Result: operations.ResultDone}); !faults.Is(err, faults.Superseded) {
			t.Errorf("finished twice: %v", err)
		}
		w.silent()
	}
	if at := w.thing(id); at != (thing{generation: 3}) {
		t.Errorf("the thing is %+v", at)
	}
}

// A run that takes over fences the lost one off.
func TestSharedRunTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.accept(attach, w.newThing()).OperationID
	lost := w.begin(op, "run-1")
	f := w.begin(op, "run-2")
	if f.Generation <= lost.Generation {
		t.Errorf("generation %d after %d", f.Generation, lost.Generation)
	}
	for _, old := range []steps.Fence{lost, fenced(op, "run-2", lost.Generation), fenced(op, "run-1", f.Generation)} {
		if _, err := w.tryAdvance(steps.AdvanceIn{Fence: old, Step: operations.StepGuest}); !faults.Is(err, faults.Superseded) {
			t.Errorf("%+v goes on: %v", old, err)
		}
	}
	w.finish(f, operations.ResultDone)
	w.silent()
}

// What is asked for itself has its task at once and its turn at the end.
func TestExclusiveWaitsForShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	first, second := w.accept(attach, id).OperationID, w.accept(detach, id).OperationID
	f := w.begin(first, "run-1")
	stop := w.accept(operations.ServerStop, id)
	if stop.Startable || stop.Meeting != operations.Queue || w.thing(id).holder != stop.OperationID {
		t.Errorf("%+v, the thing is %+v", stop, w.thing(id))
	}
	if _, err := w.tryBegin(stop.OperationID, "run-1"); !faults.Is(err, faults.Unavailable) {
		t.Errorf("begun beside a shared one: %v", err)
	}
	if heir := w.recover(stop.OperationID); heir != "" {
		t.Errorf("recovered by %s while it waits", heir)
	}
	if _, err := w.tryAccept(attach, id); !faults.Is(err, faults.Conflict) {
		t.Errorf("another one after it: %v", err)
	}
	w.silent()
	if out := w.finish(f, operations.ResultDone); out.Next != second {
		t.Errorf("next is %q, want %q", out.Next, second)
	}
	if out := w.finish(w.begin(second, "run-1"), operations.ResultDone); out.Next != stop.OperationID {
		t.Errorf("next is %q, want the stop", out.Next)
	}
	g := w.begin(stop.OperationID, "run-1")
	if _, err := w.tryAccept(attach, id); !faults.Is(err, faults.Conflict) {
		t.Errorf("beside the stop: %v", err)
	}
	w.finish(g, operations.ResultDone)
	w.silent()
}

// A delete ends what has not begun, cuts short what has, and takes the place of
// one that waits as it does.
func TestDeletePreemptsShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	running, queued := w.accept(attach, id).OperationID, w.accept(attach, id).OperationID
	f := w.begin(running, "run-1")
	stop := w.accept(operations.ServerStop, id).OperationID
	gone := w.accept(operations.ServerDelete, id)
	if gone.Startable || gone.Meeting != operations.Preempt {
		t.Errorf("%+v", gone)
	}
	for _, op := range []string{queued, stop} {
		if got := w.operation(op); got.Result != operations.ResultSuperseded {
			t.Errorf("%s is %+v", op, got)
		}
	}
	if at := w.thing(id); at.abandoned != attachedDisk || at.holder != gone.OperationID {
		t.Errorf("the thing is %+v", at)
	}
	if out := w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest}); !out.CancelRequested {
		t.Error("the running one is not cancelled")
	}
	w.silent()
	if out := w.finish(f, operations.ResultCancelled); out.Next != gone.OperationID {
		t.Errorf("next is %q", out.Next)
	}
	w.finish(w.begin(gone.OperationID, "run-1"), operations.ResultDone)
	w.silent()

	id = w.newThing()
	w.accept(attach, id)
	if gone := w.accept(operations.ServerDelete, id); !gone.Startable {
		t.Errorf("nothing had begun: %+v", gone)
	}
	w.silent()
}

// One that is cancelled before it began gives its turn on; one that waits for
// the resource may be cancelled too.
func TestCancelOfShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	first, second := w.accept(attach, id).OperationID, w.accept(attach, id).OperationID
	stop := w.accept(operations.ServerStop, id).OperationID
	if op := w.cancel(first); op.Result != operations.ResultCancelled || w.operation(second).StartAfter == nil {
		t.Errorf("%+v", op)
	}
	w.silent()
	if op := w.cancel(stop); op.Result != operations.ResultCancelled || w.thing(id).holder != "" {
		t.Errorf("%+v, the thing is %+v", op, w.thing(id))
	}
	f := w.begin(second, "run-1")
	if op := w.cancel(second); op.Finished() || op.CancelRequestedAt == nil {
		t.Errorf("%+v", op)
	}
	w.finish(f, operations.ResultCancelled)
	w.silent()
}

// One that died is recovered by one that shares as it did, before anything else.
func TestRecoverOfShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	first, second := w.accept(attach, id).OperationID, w.accept(attach, id).OperationID
	f := w.begin(first, "run-1")
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Host: "h1", Intend: []operations.Effect{guest("h1")}})
	heir := w.recover(first)
	if op := w.operation(heir); op.Kind != operations.ServerRecoverShared || !op.Shared || op.StartAfter == nil || op.RetryOf != first {
		t.Errorf("recovered by %+v", op)
	}
	if _, err := w.tryAdvance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest}); !faults.Is(err, faults.Superseded) {
		t.Errorf("the dead one goes on: %v", err)
	}
	gone := w.accept(operations.ServerDelete, id)
	if gone.Startable || w.operation(second).Result != operations.ResultSuperseded {
		t.Errorf("%+v, %+v", gone, w.operation(second))
	}
	w.silent()
	out := must(w.tryBegin(heir, "run-1"))(t)
	if out.Recovers.Kind != attach || out.Generation <= f.Generation || len(out.Effects) != 1 || out.CancelRequested {
		t.Errorf("begun %+v, recovers %+v", out, out.Recovers)
	}
	g := fenced(heir, "run-1", out.Generation)
	done := must(w.tryFinish(steps.FinishIn{Fence: g, Result: operations.ResultDone, Settle: []steps.Settlement{{Seq: 1, State: operations.Undone}}}))(t)
	if done.Next != gone.OperationID {
		t.Errorf("next is %q", done.Next)
	}
	w.silent()

	// Nothing is recovered of one that never began.
	op := w.accept(attach, w.newThing()).OperationID
	if heir := w.recover(op); heir != "" || w.operation(op).Result != operations.ResultFailed {
		t.Errorf("recovered by %q: %+v", heir, w.operation(op))
	}
	w.silent()
}

// Each probe of turns finds what it is for.
func TestAuditOfTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	found := func() (names []string) {
		for _, f := range w.audit().Findings {
			names = append(names, f.Probe)
		}
		return names
	}
	id := w.newThing()
	first, second := w.accept(attach, id).OperationID, w.accept(attach, id).OperationID
	stop := w.accept(operations.ServerStop, id).OperationID
	for _, c := range []struct{ spoil, mend, probe string }{
		{`UPDATE engine.operations SET start_after = now() WHERE id = $1`, `UPDATE engine.operations SET start_after = NULL WHERE id = $1`, second},
		{`UPDATE engine.operations SET start_after = NULL WHERE id = $1`, `UPDATE engine.operations SET start_after = now() WHERE id = $1`, first},
	} {
		w.exec(c.spoil, c.probe)
		if got := found(); !slices.Equal(got, []string{"server-shared-by-turns"}) {
			t.Errorf("found %v", got)
		}
		w.exec(c.mend, c.probe)
	}
	w.exec(`UPDATE engine.operations SET start_after = now() WHERE id = $1`, stop)
	if got := found(); !slices.Equal(got, []string{"server-wrong-turn"}) {
		t.Errorf("found %v", got)
	}
	w.exec(`UPDATE engine.operations SET start_after = NULL WHERE id = $1`, stop)
	w.silent()
	w.exec(`DELETE FROM fake.things WHERE id = $1`, id)
	if got := found(); !slices.Contains(got, "server-operation-without-lock") {
		t.Errorf("of a thing that is gone: %v", got)
	}
}

// Many at once are one after the other.
func TestManySharedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	const n = 20
	accepted := make(chan string, n)
	for range n {
		go func() {
			var got engine.Accepted
			err := w.db.InTx(t.Context(), func(tx store.Tx) (err error) {
				got, err = w.e.Accept(context.WithoutCancel(t.Context()), tx, engine.Request{Kind: attach, ResourceID: id})
				return err
			})
			if err != nil {
				t.Error(err)
			}
			accepted <- got.OperationID
		}()
	}
	startable := 0
	for range n {
		if op := w.operation(<-accepted); op.StartAfter != nil {
			startable++
		}
	}
	if startable != 1 {
		t.Errorf("%d may start", startable)
	}
	w.silent()
}
