package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

func TestInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(e engine.Event) (string, error) {
		return tx(w, func(ctx context.Context, tx store.Tx) (string, error) { return w.e.Put(ctx, tx, e) })
	}
	take := func(f steps.Fence) []engine.Event {
		t.Helper()
		return must(tx(w, func(ctx context.Context, tx store.Tx) ([]engine.Event, error) { return w.e.Take(ctx, tx, f) }))(t)
	}
	id, f := w.running(operations.ServerBuild)
	plugged := func(key string) engine.Event {
		return engine.Event{Resource: operations.Server, ResourceID: id, Name: engine.NetworkVIFPlugged, SenderKey: key, Payload: json.RawMessage(`{"port": "` + key + `"}`)}
	}
	if got := take(f); len(got) != 0 {
		t.Errorf("an empty inbox gives %+v", got)
	}
	for _, key := range []string{"port-1", "port-2", "port-1"} {
		if to, err := put(plugged(key)); err != nil || to != f.OperationID {
			t.Errorf("put for %q, %v", to, err)
		}
	}
	same := func(got []engine.Event, keys ...string) {
		t.Helper()
		if len(got) != len(keys) {
			t.Fatalf("got %+v, want %v", got, keys)
		}
		for i, key := range keys {
			want := plugged(key)
			if got[i].SenderKey != key || got[i].Name != want.Name || got[i].ResourceID != id || string(got[i].Payload) != string(want.Payload) {
				t.Errorf("got %+v, want %+v", got[i], want)
			}
		}
	}
	same(take(f), "port-1", "port-2")
	// Another run of it gets what an earlier one took.
	f = w.begin(f.OperationID, "run-2")
	must(put(plugged("port-3")))(t)
	same(take(f), "port-1", "port-2", "port-3")
	w.finish(f, operations.ResultDone)

	// Nobody waits: the original drops it, and so is it gone for the next.
	if to, err := put(plugged("port-4")); err != nil || to != "" {
		t.Errorf("put for %q, %v", to, err)
	}
	g := w.begin(w.accept(operations.ServerStop, id).OperationID, "run-1")
	same(take(g))

	unknown := plugged("port-5")
	unknown.Name = "network-on-fire"
	if _, err := put(unknown); !faults.Is(err, faults.Invalid) {
		t.Errorf("an unknown event: %v", err)
	}
	nowhere := plugged("port-5")
	nowhere.ResourceID = uuid.NewString()
	if _, err := put(nowhere); !faults.Is(err, faults.NotFound) {
		t.Errorf("an event for nothing: %v", err)
	}
}
