package server_test

// A volume that another takes the place of: every incident at every call.

import (
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

const (
	onTheOld = "active, power 1, on a host"
	onTheNew = "active, power 1, on a host, with the new volume"
)

func swapping() *workflowtest.World {
	return workflowtest.NewWorld(operations.ServerSwapVolume, workflowtest.Server{VMState: "active", PowerState: 1}, "host-1").Place("host-1").WithSwap()
}

func swappingAs(change func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := swapping()
		change(w)
		return w
	}
}

var notReserved = faults.New(faults.Invalid, "InvalidVolume", "Invalid volume: status must be available or downloading")

var swapEnds = map[operations.Result][]string{
	operations.ResultDone:   {onTheNew},
	operations.ResultFailed: {onTheOld}, operations.ResultCancelled: {onTheOld},
}

func TestSwapVolume(t *testing.T) {
	t.Parallel()
	workflowtest.Every(t, workflowtest.Story{Workflow: server.SwapVolume, Ends: swapEnds, Scenarios: []workflowtest.Scenario{
		{Name: "done", World: swapping, Result: operations.ResultDone},
		{Name: "refused", World: swappingAs(func(w *workflowtest.World) { w.Swap.Refused = notReserved }), Result: operations.ResultFailed, Message: notReserved.Message},
		{Name: "the copy fails", World: swappingAs(func(w *workflowtest.World) { w.Swap.Stuck = true }), Result: operations.ResultFailed,
			Message: "Volume rebase failed: no space left"},
		{Name: "cancelled before", World: swappingAs(func(w *workflowtest.World) { w.Op.CancelRequested = true }), Result: operations.ResultCancelled,
			Message: "the operation was cancelled"},
	}})
}

// lostSwap is the world of the recovery of a swap that was lost in a step.
func lostSwap(step string, moved bool, effects ...operations.EffectKind) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := lostShared(operations.ServerSwapVolume, step).Place("host-1").WithSwap()
		for i, kind := range effects {
			e := operations.Effect{Seq: i + 1, Attempt: 1, State: operations.Intended, Kind: kind, Ref: workflowtest.NewVolumeID}
			if kind == operations.EffectSwapped {
				e.Host = "host-1"
			}
			w.Ledger = append(w.Ledger, e)
		}
		w.Swap.Bound, w.Swap.Moved = len(effects) > 0, moved
		return w
	}
}

// Every one that is lost, before it acted and in each of its steps.
func TestRecoverSwapVolume(t *testing.T) {
	t.Parallel()
	const undone = "The swap-volume was interrupted by an operator or a fault of the control plane and has been undone."
	workflowtest.Every(t, workflowtest.Story{Workflow: server.Recover, Scenarios: []workflowtest.Scenario{
		{Name: "before it acted", World: lostSwap("", false, operations.EffectNewVolume), Result: operations.ResultDone, Message: undone},
		{Name: "at the service", World: lostSwap(operations.StepVolumes, false, operations.EffectNewVolume), Result: operations.ResultDone, Message: undone},
		{Name: "in the guest", World: lostSwap(operations.StepGuest, true, operations.EffectNewVolume, operations.EffectSwapped), Result: operations.ResultDone, Message: undone},
		{Name: "when it was settled", World: lostSwap(operations.StepSettle, true, operations.EffectNewVolume, operations.EffectSwapped), Result: operations.ResultDone},
	}, Ends: map[operations.Result][]string{
		operations.ResultDone:   {onTheOld, onTheNew},
		operations.ResultFailed: {onTheOld, onTheNew},
	}})
}

// swapOnTemporal are those that are done, failed, cancelled and lost.
func swapOnTemporal() map[string]told {
	return map[string]told{
		"swap-volume-done":      {swapping, nil, completed, operations.ResultDone, onTheNew},
		"swap-volume-failed":    {swappingAs(func(w *workflowtest.World) { w.Swap.Refused = notReserved }), nil, failed, operations.ResultFailed, onTheOld},
		"swap-volume-cancelled": {swappingAs(func(w *workflowtest.World) { w.Op.CancelRequested = true }), nil, canceled, operations.ResultCancelled, onTheOld},
		"recover-swap-volume": {lostSwap(operations.StepSettle, true, operations.EffectNewVolume, operations.EffectSwapped), nil, completed,
			operations.ResultDone, onTheNew},
	}
}
