package server_test

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// evacuating is a server in a state with a power whose host is down.
func evacuating(vm string, power int, asked steps.EvacuateInput) func() *workflowtest.World {
	return func() *workflowtest.World {
		return workflowtest.NewWorld(operations.ServerEvacuate, workflowtest.Server{VMState: vm, TaskState: "rebuilding", PowerState: power},
			"host-1", "host-2", "host-3").Place("host-1").Evacuate(asked)
	}
}

// evacuatingAll is one with ports and volumes.
func evacuatingAll() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerEvacuate, workflowtest.Server{VMState: "active", TaskState: "rebuilding", PowerState: 1}, "host-1", "host-2", "host-3")
	w.Cinder.Asked, w.Neutron.Asked = 1, 2
	return w.Place("host-1").Evacuate(steps.EvacuateInput{})
}

// back is a host that answers again.
func back(w *workflowtest.World) { w.Hosts["host-1"].Up, w.Hosts["host-1"].Answers = true, true }

// backAfter is one that does once a step has been called.
func backAfter(step string) func(*workflowtest.World) {
	return func(w *workflowtest.World) { w.Hosts["host-1"].BackAfter = step }
}

const isStopped = "stopped, power 4, on a host"

func TestEvacuate(t *testing.T) {
	const all = ", with ports, with volumes"
	plain, off := evacuating("active", 1, steps.EvacuateInput{}), evacuating("active", 1, steps.EvacuateInput{Stopped: true})
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Evacuate,
		Scenarios: []workflowtest.Scenario{
			{Name: "with ports and volumes", World: evacuatingAll, Result: operations.ResultDone, Debts: 2},
			{Name: "left off", World: off, Result: operations.ResultDone, Debts: 2},
			{Name: "on the second host", World: func() *workflowtest.World { return broken(plain(), "host-2") }, Result: operations.ResultDone, Debts: 2, Once: true},
			{Name: "of one that was off", World: evacuating("stopped", 4, steps.EvacuateInput{}), Result: operations.ResultDone, Debts: 2, Once: true},
			{Name: "of one in ERROR", World: evacuating("error", 1, steps.EvacuateInput{Stopped: true}), Result: operations.ResultDone, Debts: 2, Once: true},
			{Name: "to a host that is named", World: evacuating("active", 1, steps.EvacuateInput{Host: "host-3"}), Result: operations.ResultDone, Debts: 2, Once: true},
			{Name: "cancelled before it began", Once: true, Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(plain()) }},
			{Name: "no host", World: as(plain, full), Result: operations.ResultFailed, Message: noValidHost},
			{Name: "its host is up again", World: as(plain, back), Once: true, Result: operations.ResultFailed,
				Message: "Compute service of the server's host is still in use."},
			{Name: "its host is up again before the guest is made", World: as(evacuatingAll, backAfter("cinder.Move")), Once: true,
				Result: operations.ResultFailed, Message: "Compute service of the server's host is still in use."},
			{Name: "on shared storage that is none", World: evacuating("active", 1, steps.EvacuateInput{OnSharedStorage: new(true)}), Once: true,
				Result: operations.ResultFailed, Message: "Invalid state of instance files on shared storage"},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone: {isActive, isStopped, isActive + all},
			operations.ResultFailed: {"error, power 1, on a host", isActive, "error, power 1, on a host" + all,
				"error, power 1, on a host, with volumes", isActive + all},
			operations.ResultCancelled: {isActive, isActive + all},
		},
	})
}

// Row 10: the host dies while a user's stop is at work on it, and the server says
// "powering-off". The original refused to evacuate it; here the evacuation takes
// over from whatever runs, and what was running undoes itself first.
func TestAnchor10EvacuateWhilePoweringOff(t *testing.T) {
	t.Parallel()
	for _, spec := range operations.All() {
		met := operations.Meet(spec.Kind, operations.ServerEvacuate)
		if spec.Resource == operations.Server && met == operations.Refuse {
			t.Errorf("an evacuation that meets %s is refused", spec.Kind)
		}
	}
	if met := operations.Meet(operations.ServerStop, operations.ServerEvacuate); met != operations.Preempt {
		t.Errorf("a stop on a dead host: %s", met)
	}
	w := workflowtest.Told(t, server.Evacuate, evacuating("active", 1, steps.EvacuateInput{}))
	if w.Op.Result != operations.ResultDone || w.Server.TaskState != "" || w.Server.Host == "host-1" {
		t.Errorf("%s: %s on %q, task %q", w.Op.Result, w.Row(), w.Server.Host, w.Server.TaskState)
	}
}

// Row 23: an evacuation finds no host. The original left its migration
// "accepted", and the old host, once back, took the guest away that was the only
// one. Here the migration is in error, and nothing is owed that would ask for that.
func TestAnchor23EvacuationThatFailedTakesNothingAway(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Evacuate, as(evacuating("active", 1, steps.EvacuateInput{}), full)) // its debts are paid by then
	if w.Op.Result != operations.ResultFailed || w.Migrated != "error" || w.Server.Host != "host-1" || !w.Hosts["host-1"].Guests[workflowtest.ServerID] {
		t.Errorf("%s, migration %s, on %q, guests %v", w.Op.Result, w.Migrated, w.Server.Host, w.Hosts["host-1"].Guests)
	}
	for _, e := range w.Ledger {
		if e.Host == "host-1" {
			t.Errorf("the old host is asked for %s", e.Kind)
		}
	}
}

// Row 24: the old host comes back while the evacuation goes on. The original had
// two guests then, or none; here the guest there is left alone until the new one
// is there, and is gone before the server is said to be on the new host.
func TestAnchor24SourceReturnsMidEvacuation(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Evacuate, func() *workflowtest.World {
		w := evacuatingAll()
		w.Hosts["host-1"].Answers = true // the worker is back, and not heard of yet
		return w
	})
	if w.Op.Result != operations.ResultDone || w.Migrated != "done" || w.Server.Host != "host-2" {
		t.Errorf("%s, migration %s, on %q", w.Op.Result, w.Migrated, w.Server.Host)
	}
	for name, h := range w.Hosts {
		if h.Guests[workflowtest.ServerID] != (name == "host-2") || h.Claims[workflowtest.ServerID] != (name == "host-2") {
			t.Errorf("%s has guests %v and claims %v", name, h.Guests, h.Claims)
		}
	}
	for _, e := range w.Ledger {
		if e.State == operations.Owed {
			t.Errorf("%s is owed by %s", e.Kind, e.Host)
		}
	}
}

// What was lost before the old host was left is undone, what was beyond it
// finished.
func TestRecoverEvacuate(t *testing.T) {
	at := func(step string, to operations.EffectState) func() *workflowtest.World {
		return lost(operations.ServerEvacuate, step, func(w *workflowtest.World) {
			w.Place("host-1").Evacuate(steps.EvacuateInput{})
			h := w.Hosts["host-2"]
			h.Claims[workflowtest.ServerID], h.Guests[workflowtest.ServerID], h.Power = true, true, 1
			for i, kind := range []operations.EffectKind{operations.EffectClaim, operations.EffectGuest} {
				w.Ledger = append(w.Ledger, operations.Effect{Seq: i + 1, Kind: kind, Ref: workflowtest.ServerID, Host: "host-2", Attempt: 1, State: to})
			}
		})
	}
	const undone = "The evacuate was interrupted by an operator or a fault of the control plane and has been undone."
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "half-way", World: at(operations.StepGuest, operations.Intended), Result: operations.ResultDone, Message: undone},
			{Name: "where it leaves its host", World: at(operations.StepLeave, operations.Done), Result: operations.ResultDone, Debts: 2, Once: true},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:   {isActive, "error, power 1, on a host"},
			operations.ResultFailed: {"error, power 1, on a host"},
		},
	})
}
