package server_test

import (
	"encoding/json"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

const rebuiltAs = `{"image_id": "newer", "name": "anew"}`

// rebuilding is a server in a state with a power that is to be rebuilt.
func rebuilding(vm string, power int) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(operations.ServerRebuild, workflowtest.Server{VMState: vm, TaskState: "rebuilding", PowerState: power}, "host-1")
		return asked(w, rebuiltAs).Place("host-1")
	}
}

// refilling is a running server that boots from a volume, which is to be filled anew.
func refilling(gone bool) func() *workflowtest.World {
	return withPorts(withVolumes(func() *workflowtest.World {
		w := rebuilding("active", 1)()
		w.Neutron.Bound = "host-1"
		asked(w, `{"name": "anew", "volume_id": "v", "volume_image": "newer"}`)
		w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse, w.Cinder.Slow, w.Cinder.Missing = true, "host-1", true, 1, gone
		w.Refills = true
		return w
	}))
}

// The server is anew on its host with the one claim that it has, its ports and its
// volumes (the world checks it: anchor 20); before the point of no return it can be
// cancelled, and is as it was.
func TestRebuild(t *testing.T) {
	running := rebuilding("active", 1)
	bad := func() *workflowtest.World {
		w := running()
		w.BadImage = true
		return w
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Rebuild,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: running, Result: operations.ResultDone},
			{Name: "of a stopped one", World: rebuilding("stopped", 4), Result: operations.ResultDone},
			{Name: "of a broken one", World: rebuilding("error", 4), Result: operations.ResultDone},
			{Name: "with ports and volumes", Result: operations.ResultDone, World: withPorts(withVolumes(func() *workflowtest.World {
				w := running()
				w.Neutron.Bound = "host-1"
				w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse = true, "host-1", true
				return w
			}))},
			{Name: "of a volume", World: refilling(false), Result: operations.ResultDone},
			{Name: "of a volume that is gone", World: refilling(true), Result: operations.ResultFailed, Message: "Volume v could not be found."},
			{Name: "cancelled before", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(running()) }},
			{Name: "bad image", World: bad, Result: operations.ResultFailed, Message: "Image is unacceptable: not what it claims to be"},
			{Name: "the host can't", Result: operations.ResultFailed, Message: "no space left",
				World: func() *workflowtest.World { return broken(running(), "host-1") }},
			{Name: "host down", Result: operations.ResultFailed, Message: "the host did not answer in time",
				World: func() *workflowtest.World { return running().Down("host-1") }},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      rescueEnds("active, power 1", "stopped, power 4"),
			operations.ResultCancelled: rescueEnds("active, power 1", "stopped, power 4", "error, power 4"),
			operations.ResultFailed: rescueEnds("active, power 1", "active, power 0", "stopped, power 4", "stopped, power 0",
				"error, power 1", "error, power 4", "error, power 0"),
		},
	})
}

// A rebuild that was lost before it took anything away has done nothing; past
// that it is finished.
func TestRecoverRebuild(t *testing.T) {
	asPlaced := func(w *workflowtest.World) {
		w.Place("host-1")
		w.Op.Input = json.RawMessage(rebuiltAs)
	}
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "before it acted", World: lost(operations.ServerRebuild, operations.StepImage, asPlaced), Result: operations.ResultDone,
				Message: "The rebuild was interrupted by an operator or a fault of the control plane and has been undone."},
			{Name: "where it acts", World: lost(operations.ServerRebuild, operations.StepGuest, asPlaced), Result: operations.ResultDone},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:   {isActive},
			operations.ResultFailed: {isActive, "active, power 0, on a host", "error, power 1, on a host", "error, power 0, on a host"},
		},
	})
}
