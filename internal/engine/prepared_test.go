package engine_test

// Operations whose requests have had effects outside: they are never abandoned.

import (
	"context"
	"slices"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// prepared accepts one that has made an image.
func (w *world) prepared(kind operations.Kind, id string) (engine.Accepted, error) {
	return tx(w, func(ctx context.Context, tx store.Tx) (engine.Accepted, error) {
		return w.e.Accept(ctx, tx, engine.Request{Kind: kind, ResourceID: id,
			Effects: []operations.Effect{{Kind: operations.EffectImage, Ref: "image", State: operations.Done}}})
	})
}

func TestPreparedIsBegunThoughCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	accepted, err := w.prepared(operations.ServerCreateImage, id)
	if err != nil || !accepted.Startable {
		t.Fatalf("%+v, %v", accepted, err)
	}
	if got := w.cancel(accepted.OperationID); got.Finished() {
		t.Errorf("it ended with its image left: %+v", got)
	}
	if next := w.accept(operations.ServerDelete, id); next.Startable || next.Meeting != operations.Preempt {
		t.Errorf("a delete takes its place: %+v", next)
	}
	out, err := w.tryBegin(accepted.OperationID, "9d8f4a5e-7a1c-4c0e-9d6e-0a4e5c1f0001")
	if err != nil || !out.CancelRequested || !slices.Equal(states(out.Effects), []operations.EffectState{operations.Done}) || out.Effects[0].Ref != "image" {
		t.Errorf("begun with %+v, %v", out, err)
	}
}

func TestOnlyPreparedKindsHaveEffectsBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if accepted, err := w.prepared(operations.ServerStop, w.newThing()); err == nil {
		t.Errorf("accepted: %+v", accepted)
	}
}
