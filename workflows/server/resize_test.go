package server_test

// Resize and cold migration with their confirmation and their revert: every
// incident at every call, between two hosts and on one.

import (
	"encoding/json"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// resizing is a server in a state with a power whose resize was asked for.
func resizing(vm string, power int, more ...func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(operations.ServerResize, workflowtest.Server{VMState: vm, TaskState: "resize_prep", PowerState: power}, "host-1", "host-2")
		w.Op.Input = json.RawMessage(`{}`)
		for _, change := range more {
			change(w)
		}
		return w.Place("host-1").Relocating("resize")
	}
}

// onOneHost has the server find its room where it is.
func onOneHost(w *workflowtest.World) {
	w.Hosts["host-1"].Room, w.Hosts["host-2"].Room = 2, 0
	w.Op.Input = json.RawMessage(`{"same_host": true}`)
}

func equipped(w *workflowtest.World) { w.Neutron.Asked, w.Cinder.Asked = 1, 1 }

// moved is a server that waits for its move from host-1 to be ended by an
// operation of a kind; it was in a state before.
func moved(kind operations.Kind, home, was string, power int, more ...func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(kind, workflowtest.Server{VMState: "resized", PowerState: power}, "host-1", "host-2")
		for _, change := range more {
			change(w)
		}
		w.Place(home).Moved("host-1", was)
		if status, ends := map[operations.Kind]string{operations.ServerConfirmResize: "confirming", operations.ServerRevertResize: "reverting"}[kind]; ends {
			w.Moves.Row.Status = status
		}
		return w
	}
}

func withDown(host string) func(*workflowtest.World) {
	return func(w *workflowtest.World) { w.Down(host) }
}

func withFull(host string) func(*workflowtest.World) {
	return func(w *workflowtest.World) { broken(w, host) }
}

func TestResize(t *testing.T) {
	const noHost = "No valid host was found. No valid host found for resize"
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Resize,
		Scenarios: []workflowtest.Scenario{
			{Name: "to another host", World: resizing("active", 1, equipped), Result: operations.ResultDone},
			{Name: "on its host, stopped", World: resizing("stopped", 4, onOneHost), Result: operations.ResultDone},
			{Name: "no other host", World: resizing("active", 1, withDown("host-2")), Result: operations.ResultFailed, Message: noHost},
			{Name: "its host is down", World: resizing("active", 1, withDown("host-1")), Result: operations.ResultFailed, Message: "the host did not answer in time", Debts: 1},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      moveEnds("resized, power 1", "resized, power 4"),
			operations.ResultCancelled: moveEnds("active, power 1", "stopped, power 4", "active, power 0"),
			operations.ResultFailed:    moveEnds("active, power 1", "stopped, power 4", "active, power 0", "stopped, power 0"),
		},
	})
}

func TestConfirmResize(t *testing.T) {
	confirming := func(home, was string, power int, more ...func(*workflowtest.World)) func() *workflowtest.World {
		return moved(operations.ServerConfirmResize, home, was, power, more...)
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.ConfirmResize,
		Scenarios: []workflowtest.Scenario{
			{Name: "from another host", World: confirming("host-2", "active", 1, equipped), Result: operations.ResultDone},
			{Name: "on its host", World: confirming("host-1", "active", 1), Result: operations.ResultDone},
			{Name: "the old host is down", World: confirming("host-2", "active", 1, withDown("host-1")), Result: operations.ResultDone, Debts: 2},
			{Name: "both hosts are down", World: confirming("host-2", "stopped", 4, withDown("host-1"), withDown("host-2")), Result: operations.ResultDone, Debts: 2},
		},
		Ends: map[operations.Result][]string{operations.ResultDone: moveEnds("active, power 1", "stopped, power 4")},
	})
}

func TestRevertResize(t *testing.T) {
	reverting := func(home, was string, power int, more ...func(*workflowtest.World)) func() *workflowtest.World {
		return moved(operations.ServerRevertResize, home, was, power, more...)
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.RevertResize,
		Scenarios: []workflowtest.Scenario{
			{Name: "to another host", World: reverting("host-2", "active", 1, equipped), Result: operations.ResultDone},
			{Name: "on its host", World: reverting("host-1", "active", 1), Result: operations.ResultDone},
			{Name: "the old host is down", World: reverting("host-2", "active", 1, withDown("host-1")), Result: operations.ResultFailed, Message: "the host did not answer in time"},
			{Name: "the new host is down", World: reverting("host-2", "active", 1, withDown("host-2")), Result: operations.ResultFailed,
				Message: "the host did not answer in time", Debts: 1},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      moveEnds("active, power 1", "stopped, power 4", "active, power 0", "stopped, power 0"),
			operations.ResultCancelled: moveEnds("resized, power 1", "resized, power 4", "resized, power 0"),
			operations.ResultFailed: moveEnds("resized, power 1", "resized, power 4", "resized, power 0",
				"active, power 0", "active, power 4", "stopped, power 0", "error, power 4", "error, power 1", "error, power 0"),
		},
	})
}

// moveEnds are the rows of a server with all that it may have had.
func moveEnds(rows ...string) (ends []string) {
	for _, row := range rows {
		ends = append(ends, row+", on a host", row+", on a host, with ports, with volumes")
	}
	return ends
}

// movesOnTemporal are resize, migration and both their ends.
func movesOnTemporal() map[string]told {
	const active, resized = "active, power 1, on a host", "resized, power 1, on a host"
	migrating := as(resizing("active", 1), func(w *workflowtest.World) { w.Op.Kind = operations.ServerMigrate })
	confirming := moved(operations.ServerConfirmResize, "host-2", "active", 1)
	reverting := moved(operations.ServerRevertResize, "host-2", "active", 1)
	return map[string]told{
		"resize-done":             {resizing("active", 1, equipped), nil, completed, operations.ResultDone, resized + ", with ports, with volumes"},
		"resize-on-its-host-done": {resizing("stopped", 4, onOneHost), nil, completed, operations.ResultDone, "resized, power 4, on a host"},
		"resize-failed":           {resizing("active", 1, withFull("host-2")), nil, failed, operations.ResultFailed, active},
		"resize-cancelled": {func() *workflowtest.World { return lingering(resizing("active", 1)()) }, cancelAt("libvirt.Power"),
			canceled, operations.ResultCancelled, active},
		"migrate-done":             {migrating, nil, completed, operations.ResultDone, resized},
		"migrate-failed":           {as(migrating, withDown("host-2")), nil, failed, operations.ResultFailed, active},
		"migrate-cancelled-by-row": {func() *workflowtest.World { return cancelled(migrating()) }, nil, canceled, operations.ResultCancelled, active},
		"confirm-resize-done":      {confirming, nil, completed, operations.ResultDone, active},
		"confirm-resize-with-debt": {as(confirming, withDown("host-1")), nil, completed, operations.ResultDone, active},
		"revert-resize-done":       {moved(operations.ServerRevertResize, "host-2", "active", 1, equipped), nil, completed, operations.ResultDone, active + ", with ports, with volumes"},
		"revert-resize-on-its-host-done": {moved(operations.ServerRevertResize, "host-1", "stopped", 4), nil, completed, operations.ResultDone,
			"stopped, power 4, on a host"},
		"revert-resize-failed": {as(reverting, withDown("host-1")), nil, failed, operations.ResultFailed, resized},
		"revert-resize-cancelled": {func() *workflowtest.World { return lingering(reverting()) }, cancelAt("libvirt.Power"),
			canceled, operations.ResultCancelled, resized},
	}
}
