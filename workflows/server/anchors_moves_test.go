package server_test

// Rows of the list of failures that the original has had: claims of builds and
// moves, and moves that nobody could end. Row 21 is with the claims themselves
// too, in activities/placement.

import (
	"slices"
	"strings"
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

// Row 8: a build that is to go on elsewhere meets an error that nobody expected,
// and the original left it in BUILD without a fault. Here, whichever step of the
// second attempt that happens to, there is one way out: ERROR, with a fault, and
// nothing is left on a host.
func TestAnchor08RescheduleMeetsTheUnexpected(t *testing.T) {
	t.Parallel()
	world := func() *workflowtest.World { return broken(building(), "host-1") }
	calls := workflowtest.Told(t, server.Build, world).Calls()
	again := slices.IndexFunc(calls, func(c workflowtest.Call) bool { return c.Step == "libvirt.Build" }) + 1
	seen := map[string]bool{}
	for _, call := range calls[again:] {
		undone := call.Host == "host-1" || call.Step == "placement.Release" // an undo is repeated until it has been done
		if undone || strings.HasPrefix(call.Step, "records.Finish") || seen[call.Step] {
			continue
		}
		seen[call.Step] = true
		t.Run(call.Step, func(t *testing.T) {
			t.Parallel()
			w := workflowtest.Told(t, server.Build, func() *workflowtest.World { return world().Unexpected(call) })
			if w.Op.Result != operations.ResultFailed || w.Row() != isError || w.Server.TaskState != "" {
				t.Errorf("%s: %s, task %q", w.Op.Result, w.Row(), w.Server.TaskState)
			}
			if w.Op.Fault == nil || w.Op.Fault.Message == "" {
				t.Errorf("fault %v", w.Op.Fault)
			}
			for name, h := range w.Hosts {
				if len(h.Claims)+len(h.Guests) > 0 {
					t.Errorf("%s keeps %v and %v", name, h.Claims, h.Guests)
				}
			}
		})
	}
	if !seen["placement.Claim"] || !seen["libvirt.Build"] {
		t.Errorf("only %v were met", seen)
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
			"host-1", "host-2").Place("host-2").Moved("host-1", "active")
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

// holding says how many claims and guests there are on a host.
func holding(w *workflowtest.World, host string) [2]int {
	return [2]int{len(w.Hosts[host].Claims), len(w.Hosts[host].Guests)}
}

// Row 5: the call that starts a migration times out, and nobody can know whether
// it was started. The operation's id is the workflow's: a second run of it finds
// that it has ended and does nothing.
func TestAnchor05AMoveIsStartedTwice(t *testing.T) {
	t.Parallel()
	w := resizing("active", 1)()
	for range 2 {
		workflowtest.Told(t, server.Resize, func() *workflowtest.World { return w })
		if w.Op.Result != operations.ResultDone || w.Server.Host != "host-2" || holding(w, "host-1") != [2]int{1, 1} || holding(w, "host-2") != [2]int{1, 1} {
			t.Errorf("%s on %s, hosts hold %v and %v", w.Op.Result, w.Server.Host, holding(w, "host-1"), holding(w, "host-2"))
		}
	}
}

// stays: the move failed or was cancelled, the guest is where it was and as it
// was, and no other host has anything of it.
func stays(t *testing.T, world func() *workflowtest.World, message string) {
	t.Helper()
	w := workflowtest.Told(t, server.Resize, world)
	if w.Row() != isActive || w.Server.TaskState != "" || w.Moves.Ended != "error" || w.Op.Fault == nil || w.Op.Fault.Message != message {
		t.Errorf("%s, %q, migration %q, fault %v", w.Op.Result, w.Row(), w.Moves.Ended, w.Op.Fault)
	}
	if holding(w, "host-1") != [2]int{1, 1} || holding(w, "host-2") != [2]int{} {
		t.Errorf("hosts hold %v and %v", holding(w, "host-1"), holding(w, "host-2"))
	}
}

// Row 7: no host is left for a move. The original could leave the server in a
// task for ever; here there is one way out, with the fault and the room back.
func TestAnchor07NoHostIsLeftForAMove(t *testing.T) {
	t.Parallel()
	stays(t, resizing("active", 1, withDown("host-2")), "No valid host was found. No valid host found for resize")
	stays(t, resizing("active", 1, func(w *workflowtest.World) { w.Hosts["host-2"].Room = 0 }), "No valid host was found. No valid host found for resize")
}

// Row 13: the old host goes down when a resize is to be confirmed. The original
// left the migration in "confirming", which neither the user nor the automatic
// confirmation could end; here the host owes what it has, and the move is over.
func TestAnchor13ConfirmedWhileTheOldHostIsDown(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.ConfirmResize, moved(operations.ServerConfirmResize, "host-2", "active", 1, withDown("host-1")))
	if w.Op.Result != operations.ResultDone || w.Row() != isActive || w.Moves.Ended != "confirmed" {
		t.Errorf("%s, %q, migration %q", w.Op.Result, w.Row(), w.Moves.Ended)
	}
	if holding(w, "host-1") != [2]int{} || holding(w, "host-2") != [2]int{1, 1} { // the world has paid the debts by now
		t.Errorf("hosts hold %v and %v", holding(w, "host-1"), holding(w, "host-2"))
	}
}

// Row 14: the driver fails when a resize is confirmed. The original left the
// migration stuck and leaked what was taken on the old host; here it is confirmed,
// and what could not be removed is owed, the room with it.
func TestAnchor14TheDriverFailsAtTheConfirmation(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.ConfirmResize, moved(operations.ServerConfirmResize, "host-2", "active", 1, func(w *workflowtest.World) {
		w.Hosts["host-1"].Answers = false
	}))
	if w.Op.Result != operations.ResultDone || w.Row() != isActive || w.Moves.Ended != "confirmed" || holding(w, "host-1") != [2]int{} {
		t.Errorf("%s, %q, migration %q, host-1 holds %v", w.Op.Result, w.Row(), w.Moves.Ended, holding(w, "host-1"))
	}
}

// Row 16: the new host can't finish a resize. The original left the old room with
// the flavor's name on it and the new one nowhere; here the guest runs where it
// was with the room that it had.
func TestAnchor16TheNewHostCannotFinish(t *testing.T) {
	t.Parallel()
	stays(t, resizing("active", 1, withFull("host-2")), "no space left")
}

// Row 17: a move that fails before, while or after its guest is carried leaks the
// room on the new host. Here one claim with an undo is used by every move.
func TestAnchor17AFailedMoveLeavesNoRoom(t *testing.T) {
	t.Parallel()
	stays(t, func() *workflowtest.World { return cancelled(resizing("active", 1)()) }, "the operation was cancelled")
	for name, w := range map[string]*workflowtest.World{
		"ports can't be bound": workflowtest.Told(t, server.Resize, resizing("active", 1, equipped, func(w *workflowtest.World) { w.Neutron.Unbindable = "host-2" })),
		"ports aren't plugged": workflowtest.Told(t, server.Resize, resizing("active", 1, equipped, func(w *workflowtest.World) { w.Neutron.Fails = true })),
	} {
		if w.Op.Result != operations.ResultFailed || holding(w, "host-2") != [2]int{} || w.Neutron.Bound != "host-1" {
			t.Errorf("%s: %s, host-2 holds %v, ports on %s", name, w.Op.Result, holding(w, "host-2"), w.Neutron.Bound)
		}
	}
}

// Row 18, the revert: a server is deleted while its resize is reverted. The
// original's revert made claims anew for a server that was gone; here the delete
// waits until the revert has taken itself back, or has come to its end, and each
// leaves what the delete finds by the server's rows.
func TestAnchor18DeletedWhileItIsReverted(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.RevertResize, func() *workflowtest.World {
		return cancelled(moved(operations.ServerRevertResize, "host-2", "active", 1)())
	})
	if w.Op.Result != operations.ResultCancelled || w.Left != "host-1" || w.Moves.Row == nil || w.Moves.Row.Status != "finished" {
		t.Errorf("cancelled in time: %s, left %q, %+v", w.Op.Result, w.Left, w.Moves.Row)
	}
	w = workflowtest.Told(t, server.RevertResize, func() *workflowtest.World {
		w := cancelled(moved(operations.ServerRevertResize, "host-2", "active", 1)())
		w.Hosts["host-1"].Power, w.Hosts["host-2"].Power = 1, 4
		w.Op.Step, w.Op.Attempt = operations.StepLeave, 1
		return w
	})
	if w.Op.Result != operations.ResultDone || w.Server.Host != "host-1" || holding(w, "host-1") != [2]int{1, 1} || holding(w, "host-2") != [2]int{} {
		t.Errorf("too late: %s on %s, hosts hold %v and %v", w.Op.Result, w.Server.Host, holding(w, "host-1"), holding(w, "host-2"))
	}
}

// Row 21: the original needed tools for the orphans of its moves. Here each end of
// a move leaves one claim, where the guest is.
func TestAnchor21EveryEndOfAMoveLeavesOneClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   operations.Kind
		home   string
		leaves string
	}{
		"confirmed":             {operations.ServerConfirmResize, "host-2", "host-2"},
		"confirmed on its host": {operations.ServerConfirmResize, "host-1", "host-1"},
		"reverted":              {operations.ServerRevertResize, "host-2", "host-1"},
		"reverted on its host":  {operations.ServerRevertResize, "host-1", "host-1"},
	} {
		w := workflowtest.Told(t, server.Workflows[c.kind], moved(c.kind, c.home, "active", 1))
		for host, h := range w.Hosts {
			want := 0
			if host == c.leaves {
				want = 1
			}
			if len(h.Claims) != want || h.Claims[workflowtest.ServerID] != (want == 1) {
				t.Errorf("%s: %s holds %v", name, host, h.Claims)
			}
		}
	}
}
