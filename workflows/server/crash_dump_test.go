package server_test

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

func dumping() *workflowtest.World {
	return workflowtest.NewWorld(operations.ServerCrashDump, workflowtest.Server{VMState: "active", PowerState: 1}, "host-1").Place("host-1")
}

// The guest has its interrupt, and the row stays as it was whatever happens.
func TestCrashDump(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.CrashDump,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: dumping, Result: operations.ResultDone},
			{Name: "cancelled", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(dumping()) }},
			{Name: "the host can't", Result: operations.ResultFailed, Message: "no space left",
				World: func() *workflowtest.World { return broken(dumping(), "host-1") }},
			{Name: "host down", Result: operations.ResultFailed, Message: "the host did not answer in time",
				World: func() *workflowtest.World { return dumping().Down("host-1") }},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone: {isActive}, operations.ResultFailed: {isActive}, operations.ResultCancelled: {isActive},
		},
	})
}

func TestRecoverCrashDump(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "before it acted", World: lost(operations.ServerCrashDump, "", placed), Result: operations.ResultDone,
				Message: "The crash-dump was interrupted by an operator or a fault of the control plane and has been undone."},
			{Name: "where it acts", World: lost(operations.ServerCrashDump, operations.StepGuest, placed), Result: operations.ResultDone},
		},
		Ends: map[operations.Result][]string{operations.ResultDone: {isActive}, operations.ResultFailed: {isActive}},
	})
}
