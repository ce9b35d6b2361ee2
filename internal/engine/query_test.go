package engine_test

import (
	"slices"
	"testing"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, running := w.running(operations.ServerReboot)
	waiting := w.accept(operations.ServerDelete, id).OperationID
	pending := w.accept(operations.ServerStart, w.newThing()).OperationID
	_, failed := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: failed, Step: operations.StepGuest, Host: "h1"})
	must(w.tryFinish(steps.FinishIn{Fence: failed, Result: operations.ResultFailed, Fault: &steps.Fault{Code: "NoDisk"}}))(t)
	_, held := w.running(operations.ServerStop)
	w.exec(`UPDATE engine.operations SET hold = 'paused' WHERE id = $1`, held.OperationID)
	w.exec(`UPDATE engine.operations SET project_id = 'p2', created_at = now() - interval '1 hour' WHERE id = $1`, pending)

	newest := []string{held.OperationID, failed.OperationID, waiting, running.OperationID, pending}
	rows := map[string]struct {
		f    engine.Filter
		want []string
	}{
		"all":        {engine.Filter{}, newest},
		"kind":       {engine.Filter{Kind: operations.ServerDelete}, []string{waiting}},
		"unfinished": {engine.Filter{State: engine.Unfinished}, []string{held.OperationID, waiting, running.OperationID, pending}},
		"running":    {engine.Filter{State: engine.Running}, []string{running.OperationID}},
		"waiting":    {engine.Filter{State: engine.Waiting}, []string{waiting}},
		"pending":    {engine.Filter{State: engine.Pending}, []string{pending}},
		"held":       {engine.Filter{State: engine.Held}, []string{held.OperationID}},
		"failed":     {engine.Filter{State: "failed"}, []string{failed.OperationID}},
		"done":       {engine.Filter{State: "done"}, nil},
		"cancelled":  {engine.Filter{State: "cancelled"}, nil},
		"superseded": {engine.Filter{State: "superseded"}, nil},
		"project":    {engine.Filter{ProjectID: "p2"}, []string{pending}},
		"resource":   {engine.Filter{ResourceID: id}, []string{waiting, running.OperationID}},
		"request":    {engine.Filter{RequestID: "req-2"}, nil},
		"host":       {engine.Filter{Host: "h1"}, []string{failed.OperationID}},
		"error code": {engine.Filter{ErrorCode: "NoDisk"}, []string{failed.OperationID}},
		"older":      {engine.Filter{OlderThan: time.Minute}, []string{pending}},
		"first page": {engine.Filter{Limit: 2}, newest[:2]},
		"next page":  {engine.Filter{Limit: 2, After: newest[1]}, newest[2:4]},
		"last page":  {engine.Filter{Limit: 2, After: newest[3]}, newest[4:]},
		"and":        {engine.Filter{ResourceID: id, State: engine.Waiting, Kind: operations.ServerDelete}, []string{waiting}},
	}
	for name, row := range rows {
		var got []string
		for _, op := range must(w.e.Operations(t.Context(), w.db.Pool, row.f))(t) {
			got = append(got, op.ID)
			if row.f.State != "" && row.f.State != engine.Unfinished && op.State() != row.f.State {
				t.Errorf("%s: %s is %s", name, op.ID, op.State())
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
	for name, f := range map[string]engine.Filter{"state": {State: "odd"}, "limit": {Limit: 1001}, "negative": {Limit: -1}, "after": {After: "nothing"}, "resource": {ResourceID: "mine"}} {
		if _, err := w.e.Operations(t.Context(), w.db.Pool, f); !faults.Is(err, faults.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
}
