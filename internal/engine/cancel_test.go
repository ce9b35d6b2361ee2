package engine_test

import (
	"context"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
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
