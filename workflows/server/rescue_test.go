package server_test

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// rescuing is a server in a state with a power that is to be rescued.
func rescuing(vm string, power int) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(operations.ServerRescue, workflowtest.Server{VMState: vm, TaskState: "rescuing", PowerState: power}, "host-1")
		return asked(w, `{"image_id": "tools", "image_properties": {"hw_rescue_bus": "usb"}}`).Place("host-1")
	}
}

const isRescued = "rescued, power 1, on a host"

func TestRescue(t *testing.T) {
	running := rescuing("active", 1)
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Rescue,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: running, Result: operations.ResultDone},
			{Name: "of a stopped one", World: rescuing("stopped", 4), Result: operations.ResultDone},
			{Name: "with ports and volumes", Result: operations.ResultDone, World: withPorts(withVolumes(func() *workflowtest.World {
				w := running()
				w.Neutron.Bound = "host-1"
				w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse = true, "host-1", true
				return w
			}))},
			{Name: "cancelled before", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(running()) }},
			{Name: "the host can't", Result: operations.ResultFailed, Message: "no space left",
				World: func() *workflowtest.World { return broken(running(), "host-1") }},
			{Name: "host down", Result: operations.ResultFailed, Message: "the host did not answer in time", Debts: 1,
				World: func() *workflowtest.World { return running().Down("host-1") }},
			{Name: "out of time", Result: operations.ResultFailed, Message: "the operation did not end in time",
				World: func() *workflowtest.World {
					w := running()
					w.Op.Deadline = workflowtest.Epoch.Add(-1)
					return w
				}},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isRescued, isRescued + ", with ports, with volumes"},
			operations.ResultCancelled: rescueEnds("active, power 1", "active, power 0", "stopped, power 4", "stopped, power 0"),
			operations.ResultFailed: rescueEnds("active, power 1", "active, power 0", "stopped, power 4", "stopped, power 0",
				"error, power 1", "error, power 4", "error, power 0"),
		},
	})
}

// rescueEnds are rows on a host, with and without ports and volumes.
func rescueEnds(rows ...string) (ends []string) {
	for _, row := range rows {
		ends = append(ends, row+", on a host", row+", on a host, with ports, with volumes")
	}
	return ends
}

// A rescue that was lost is taken back.
func TestRecoverRescue(t *testing.T) {
	const undone = "The rescue was interrupted by an operator or a fault of the control plane and has been undone."
	half := func(w *workflowtest.World) {
		w.Place("host-1")
		w.Hosts["host-1"].Rescue = workflowtest.Rescue{On: true, Before: 1}
		w.Ledger = []operations.Effect{{Seq: 1, Kind: operations.EffectRescue, Ref: workflowtest.ServerID, Host: "host-1", Attempt: 1, State: operations.Intended}}
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "before it acted", World: lost(operations.ServerRescue, "", placed), Result: operations.ResultDone, Message: undone},
			{Name: "half-way", World: lost(operations.ServerRescue, operations.StepGuest, half), Result: operations.ResultDone, Message: undone},
			{Name: "on a host that is down", Result: operations.ResultDone, Message: undone, Debts: 1,
				World: lost(operations.ServerRescue, operations.StepGuest, func(w *workflowtest.World) { half(w); w.Down("host-1") })},
		},
		Ends: map[operations.Result][]string{operations.ResultDone: {isActive}},
	})
}
