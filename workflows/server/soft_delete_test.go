package server_test

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

func softDeleting() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerSoftDelete, workflowtest.Server{VMState: "active", TaskState: "soft-deleting", PowerState: 1}, "host-1")
	return w.Place("host-1")
}

const (
	isSoftDeleted    = "soft-delete, power 4, on a host"
	isSoftDeletedOff = "soft-delete, power 0, on a host"
)

func TestSoftDelete(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.SoftDelete,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: softDeleting, Result: operations.ResultDone},
			{Name: "with ports and volumes", Result: operations.ResultDone, World: withPorts(withVolumes(func() *workflowtest.World {
				w := softDeleting()
				w.Neutron.Bound = "host-1"
				w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse = true, "host-1", true
				return w
			}))},
			{Name: "host down", Result: operations.ResultDone, World: func() *workflowtest.World { return softDeleting().Down("host-1") }},
			{Name: "the host can't", Result: operations.ResultFailed, Message: "no space left",
				World: func() *workflowtest.World { return broken(softDeleting(), "host-1") }},
			{Name: "cancelled", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(softDeleting()) }},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isSoftDeleted, isSoftDeletedOff, isSoftDeleted + ", with ports, with volumes", isSoftDeletedOff + ", with ports, with volumes"},
			operations.ResultCancelled: {isActive, isActive + ", with ports, with volumes"},
			operations.ResultFailed: {isActive, "active, power 4, on a host", "active, power 0, on a host",
				isActive + ", with ports, with volumes", "active, power 4, on a host, with ports, with volumes", "active, power 0, on a host, with ports, with volumes"},
		},
	})
}

// One that was lost before it acted is undone, and finished from there on.
func TestRecoverSoftDelete(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "before it acted", World: lost(operations.ServerSoftDelete, "", placed), Result: operations.ResultDone,
				Message: "The soft-delete was interrupted by an operator or a fault of the control plane and has been undone."},
			{Name: "where it acts", World: lost(operations.ServerSoftDelete, operations.StepGuest, placed), Result: operations.ResultDone},
			{Name: "on a host that is down", Result: operations.ResultDone,
				World: lost(operations.ServerSoftDelete, operations.StepGuest, func(w *workflowtest.World) { w.Place("host-1").Down("host-1") })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:   {isActive, isSoftDeleted, isSoftDeletedOff},
			operations.ResultFailed: {isActive, "active, power 4, on a host", "active, power 0, on a host"},
		},
	})
}
