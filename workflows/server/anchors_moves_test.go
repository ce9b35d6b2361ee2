package server_test

// Rows 7, 15 and 18 of the list of failures that the original has had: claims of
// builds and moves.

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// Row 7: the first host fails, the alternates are full by then, and the
// retries are exhausted. The original left the server in "scheduling" for ever;
// here the build ends in ERROR, says why, and no claim is left.
func TestAnchor07RetriesExhausted(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Build, func() *workflowtest.World {
		w := broken(building(), "host-1")
		w.Hosts["host-2"].Room = 0
		return w
	})
	if w.Op.Result != operations.ResultFailed || w.Row() != isError || w.Server.TaskState != "" {
		t.Errorf("%s: %s, task %q", w.Op.Result, w.Row(), w.Server.TaskState)
	}
	const want = "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance " + workflowtest.ServerID + "."
	if w.Op.Fault == nil || w.Op.Fault.Message != want {
		t.Errorf("fault %v", w.Op.Fault)
	}
	for name, h := range w.Hosts {
		if len(h.Claims)+len(h.Guests) > 0 {
			t.Errorf("%s keeps %v and %v", name, h.Claims, h.Guests)
		}
	}
}

// Row 15: the conductor dies after the claim and before the build, and the
// user deletes the server. The original leaked the room, since nothing named the
// host by then; here the claim stands in the build's ledger, and a run from
// nothing gives it back before the delete has its turn.
func TestAnchor15DeletedBetweenClaimAndBuild(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Build, func() *workflowtest.World {
		w := cancelled(building())
		w.Op.Step = operations.StepSchedule
		w.Hosts["host-1"].Claims[workflowtest.ServerID] = true
		w.Ledger = []operations.Effect{
			{Seq: 1, Kind: operations.EffectClaim, Ref: workflowtest.ServerID, Host: "host-1", Attempt: 1, State: operations.Done}}
		return w
	})
	if w.Op.Result != operations.ResultCancelled || len(w.Hosts["host-1"].Claims) > 0 {
		t.Errorf("%s, claims %v", w.Op.Result, w.Hosts["host-1"].Claims)
	}
}

// Row 18: a server is deleted while its resize waits to be confirmed. The
// original's revert went on to make allocations for a server that was gone; here
// the delete takes all away that the move holds on both hosts, whatever happens
// to it on the way, and leaves no migration that could be reverted.
func TestAnchor18DeletedWhileUnconfirmed(t *testing.T) {
	resized := func() *workflowtest.World {
		return workflowtest.NewWorld(operations.ServerDelete, workflowtest.Server{VMState: "resized", TaskState: "deleting", PowerState: 1},
			"host-1", "host-2").Place("host-2").Unconfirmed("host-1")
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Delete,
		Scenarios: []workflowtest.Scenario{
			{Name: "both hosts are well", World: resized, Result: operations.ResultDone},
			{Name: "the old host is down", Result: operations.ResultDone, Debts: 2,
				World: func() *workflowtest.World { return resized().Down("host-1") }},
			{Name: "the new host is down", Result: operations.ResultDone, Debts: 2,
				World: func() *workflowtest.World { return resized().Down("host-2") }},
		},
		Ends: map[operations.Result][]string{operations.ResultDone: {isDeleted}},
	})
}
