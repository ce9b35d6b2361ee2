package server_test

import (
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// shelving is a server in a state with a power that goes on the shelf.
func shelving(vm string, power int, offload bool) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(operations.ServerShelve, workflowtest.Server{VMState: vm, TaskState: "shelving", PowerState: power}, "host-1")
		return w.Place("host-1").Shelve(false, offload)
	}
}

// shelvingVolumes is one that boots from a volume, and has ports.
func shelvingVolumes() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerShelve, workflowtest.Server{VMState: "active", TaskState: "shelving", PowerState: 1}, "host-1")
	w.Cinder.Asked, w.Neutron.Asked = 1, 2
	return w.Place("host-1").Shelve(true, true)
}

// offloading is one on the shelf that leaves its host.
func offloading() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerShelveOffload, workflowtest.Server{VMState: "shelved", TaskState: "shelving_offloading", PowerState: 4}, "host-1")
	w.Cinder.Asked, w.Neutron.Asked = 1, 2
	return w.Shelved(false).Place("host-1")
}

const (
	isShelved   = "shelved, power 4, on a host"
	isOffloaded = "shelved_offloaded, power 4, on no host"
)

func down(w *workflowtest.World) { w.Down("host-1") }

func TestShelve(t *testing.T) {
	now, later := shelving("active", 1, true), shelving("active", 1, false)
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Shelve,
		Scenarios: []workflowtest.Scenario{
			{Name: "offloaded at once", World: now, Result: operations.ResultDone},
			{Name: "on its host", World: later, Result: operations.ResultDone, Once: true},
			{Name: "of a paused one", World: shelving("paused", 3, false), Result: operations.ResultDone},
			{Name: "of volumes", World: shelvingVolumes, Result: operations.ResultDone, Once: true},
			{Name: "cancelled before it began", Once: true, Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(now()) }},
			{Name: "host down", World: as(now, down), Result: operations.ResultFailed, Message: silent, Debts: 1, Once: true},
			{Name: "Glance is full", Once: true, Result: operations.ResultFailed,
				Message: "Quota exceeded or out of space for image " + workflowtest.ImageID + " in the image service.",
				World:   as(now, func(w *workflowtest.World) { w.Glance.Full = true })},
			{Name: "Neutron and Cinder down", Result: operations.ResultDone, Debts: 2,
				World: as(shelvingVolumes, func(w *workflowtest.World) { w.Neutron.Down, w.Cinder.Down = true, true })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone: {isShelved, "shelved, power 0, on a host", isOffloaded, isOffloaded + ", with volumes",
				isOffloaded + ", with ports, with volumes"},
			operations.ResultFailed: {isActive, "active, power 0, on a host", "paused, power 3, on a host",
				isActive + ", with ports, with volumes", "active, power 0, on a host, with ports, with volumes"},
			operations.ResultCancelled: {isActive, "active, power 0, on a host", "paused, power 3, on a host",
				isActive + ", with ports, with volumes", "active, power 0, on a host, with ports, with volumes"},
		},
	})
}

func TestShelveOffload(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Shelve,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: offloading, Result: operations.ResultDone},
			{Name: "cancelled before it began", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(offloading()) }},
			{Name: "host down", World: as(offloading, down), Result: operations.ResultDone, Debts: 2, Once: true},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isOffloaded + ", with volumes", isOffloaded + ", with ports, with volumes"},
			operations.ResultCancelled: {isShelved + ", with ports, with volumes"},
			operations.ResultFailed:    {isShelved + ", with ports, with volumes"},
		},
	})
}

// unshelving is a server that comes back from the shelf, offloaded or not.
func unshelving(offloaded bool) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(operations.ServerUnshelve, workflowtest.Server{VMState: "shelved", TaskState: "unshelving"}, "host-1", "host-2")
		w.Cinder.Asked, w.Neutron.Asked = 1, 2
		if w.Shelved(offloaded).Unshelve(steps.Destination{}); !offloaded {
			w.Place("host-1")
		}
		return w
	}
}

// full is a cloud without room.
func full(w *workflowtest.World) {
	for _, h := range w.Hosts {
		h.Room = 0
	}
}

const noValidHost = "No valid host was found."

func TestUnshelve(t *testing.T) {
	offloaded, onHost := unshelving(true), unshelving(false)
	with := func(row string) []string {
		return []string{row, row + ", with volumes", row + ", with ports, with volumes"}
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Unshelve,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: offloaded, Result: operations.ResultDone},
			{Name: "on its host", World: onHost, Result: operations.ResultDone},
			{Name: "on the second host", World: func() *workflowtest.World { return broken(offloaded(), "host-1") }, Result: operations.ResultDone},
			{Name: "on a host that is named", Once: true, Result: operations.ResultDone,
				World: func() *workflowtest.World { return offloaded().Unshelve(steps.Destination{Host: "host-2"}) }},
			{Name: "cancelled before it began", Once: true, Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(offloaded()) }},
			{Name: "no host", World: as(offloaded, full), Result: operations.ResultFailed, Message: noValidHost},
			{Name: "Glance down", Once: true, Result: operations.ResultDone, Debts: 1,
				World: as(offloaded, func(w *workflowtest.World) { w.Glance.Down = true })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      with(isActive),
			operations.ResultCancelled: append(with(isOffloaded), with(isShelved)...),
			operations.ResultFailed:    slices.Concat(with(isOffloaded), with(isShelved), with("shelved, power 0, on a host")),
		},
	})
}

// Row 9: an unshelve finds no host. The original left the server in "unshelving"
// for ever; here it is back on the shelf, with its image, and says why.
func TestAnchor09UnshelveFindsNoHost(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Unshelve, as(unshelving(true), full))
	if w.Op.Result != operations.ResultFailed || w.Row() != isOffloaded+", with volumes" || w.Server.TaskState != "" || w.Server.ShelvedImage != workflowtest.ImageID {
		t.Errorf("%s: %s, task %q, image %q", w.Op.Result, w.Row(), w.Server.TaskState, w.Server.ShelvedImage)
	}
	if w.Op.Fault == nil || w.Op.Fault.Message != noValidHost {
		t.Errorf("fault %v", w.Op.Fault)
	}
}

// Row 17, unshelve: the destination fails once it has been claimed. The original
// leaked the room; here every attempt gives its own back.
func TestAnchor17UnshelveFailsOnEveryHost(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Unshelve, func() *workflowtest.World { return broken(unshelving(true)(), "host-1", "host-2") })
	if w.Op.Result != operations.ResultFailed || w.Row() != isOffloaded+", with volumes" {
		t.Errorf("%s: %s", w.Op.Result, w.Row())
	}
	for name, h := range w.Hosts {
		if len(h.Claims)+len(h.Guests) > 0 {
			t.Errorf("%s keeps %v and %v", name, h.Claims, h.Guests)
		}
	}
}

// Row 19: the original said SHELVED_OFFLOADED before it gave the room back, and
// an unshelve that came at once raced with that. Here the state is published
// when all is gone, by the last step.
func TestAnchor19OffloadedIsSaidLast(t *testing.T) {
	t.Parallel()
	w := workflowtest.Told(t, server.Shelve, shelving("active", 1, true))
	if calls := w.Calls(); w.Row() != isOffloaded || calls[len(calls)-1].Step != "records.Finish" || len(w.Hosts["host-1"].Claims) > 0 {
		t.Errorf("%s, claims %v, calls %v", w.Row(), w.Hosts["host-1"].Claims, calls)
	}
}

// What was lost before the point of no return is undone, what was beyond it
// finished.
func TestRecoverShelve(t *testing.T) {
	at := func(kind operations.Kind, step string, setUp func(*workflowtest.World)) func() *workflowtest.World {
		return lost(kind, step, func(w *workflowtest.World) { w.Place("host-1").Shelve(false, true); setUp(w) })
	}
	halted := func(w *workflowtest.World) {
		w.Hosts["host-1"].Power = 4
		w.Ledger = append(w.Ledger, operations.Effect{Seq: 2, Kind: operations.EffectHalt, Ref: workflowtest.ServerID, Host: "host-1", Attempt: 1, State: operations.Intended})
	}
	kept := func(w *workflowtest.World) { w.Glance.Status = "active"; halted(w) }
	back := lost(operations.ServerUnshelve, operations.StepKeep, func(w *workflowtest.World) { w.Shelved(false).Unshelve(steps.Destination{}).Place("host-1") })
	const undone = "The shelve was interrupted by an operator or a fault of the control plane and has been undone."
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "half-way", World: at(operations.ServerShelve, operations.StepSnapshot, halted), Result: operations.ResultDone, Message: undone},
			{Name: "where it leaves its host", World: at(operations.ServerShelve, operations.StepOffload, kept), Result: operations.ResultDone},
			{Name: "unshelve", World: back, Result: operations.ResultDone, Once: true},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:   {isActive, "active, power 0, on a host", isOffloaded},
			operations.ResultFailed: {isShelved, "shelved, power 0, on a host"},
		},
	})
}
