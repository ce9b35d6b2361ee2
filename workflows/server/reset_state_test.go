package server_test

import (
	"encoding/json"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// asked gives a world's operation the input of its request.
func asked(w *workflowtest.World, input string) *workflowtest.World {
	w.Op.Input = json.RawMessage(input)
	return w
}

// resetting is a server that a lost stop has left in ERROR, called active again.
func resetting() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerResetState, workflowtest.Server{VMState: "error", TaskState: "powering-off", PowerState: 4}, "host-1")
	return asked(w, `{"vm_state": "active"}`).Place("host-1")
}

// resettingMoved is a server whose move from host-1 waits to be confirmed, and that is
// called what vm says.
func resettingMoved(vm string, more ...func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		return asked(moved(operations.ServerResetState, "host-2", "active", 1, more...)(), `{"vm_state": "`+vm+`"}`)
	}
}

const (
	isReset    = "active, power 4, on a host"
	isNotReset = "error, power 4, on a host"
)

func TestResetState(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.ResetState,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: resetting, Result: operations.ResultDone},
			{Name: "of a server on no host", Result: operations.ResultDone, World: func() *workflowtest.World {
				return asked(workflowtest.NewWorld(operations.ServerResetState, workflowtest.Server{VMState: "building"}), `{"vm_state": "error"}`)
			}},
			{Name: "of a server that was moved", Result: operations.ResultDone, World: resettingMoved("error")},
			{Name: "of one that was moved and is called active", Result: operations.ResultDone, World: resettingMoved("active", withDown("host-1")), Debts: 2},
			{Name: "of one that was resized on its host", Result: operations.ResultDone, World: func() *workflowtest.World {
				return asked(moved(operations.ServerResetState, "host-1", "active", 1)(), `{"vm_state": "error"}`)
			}},
			{Name: "cancelled", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(resetting()) }},
			{Name: "out of time", Result: operations.ResultFailed, Message: "the operation did not end in time",
				World: func() *workflowtest.World {
					w := resetting()
					w.Op.Deadline = workflowtest.Epoch.Add(-1)
					return w
				}},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isReset, "error, power 0, on no host", "error, power 1, on a host", isActive},
			operations.ResultCancelled: {isNotReset, "building, power 0, on no host", "resized, power 1, on a host"},
			operations.ResultFailed:    {isNotReset, "resized, power 1, on a host"},
		},
	})
}

// A reset that was lost is finished as it was asked for, or undone before that.
func TestRecoverResetState(t *testing.T) {
	at := func(step string) func() *workflowtest.World {
		return lost(operations.ServerResetState, step, func(w *workflowtest.World) {
			w.Server.VMState, w.Server.PowerState = "error", 4
			asked(w, `{"vm_state": "active"}`).Place("host-1")
		})
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "before it began", World: at(""), Result: operations.ResultDone,
				Message: "The reset-state was interrupted by an operator or a fault of the control plane and has been undone."},
			{Name: "at its step", World: at(operations.StepState), Result: operations.ResultDone},
		},
		Ends: map[operations.Result][]string{operations.ResultDone: {isReset, isNotReset}},
	})
}
