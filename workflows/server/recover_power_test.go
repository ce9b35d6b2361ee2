package server_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// Every kind of operation on power that is lost, before it acted and where it
// acts, with every incident at every call of its recovery.
func TestRecoverPower(t *testing.T) {
	for _, k := range powerKinds {
		t.Run(fmt.Sprintf("%s of %s", k.kind, k.before.VMState), func(t *testing.T) {
			t.Parallel()
			spec, _ := operations.Lookup(k.kind)
			at := func(step string) func() *workflowtest.World {
				return lost(k.kind, step, func(w *workflowtest.World) {
					w.Server.VMState, w.Server.PowerState = k.before.VMState, k.before.PowerState
					w.Place("host-1")
				})
			}
			workflowtest.Every(t, workflowtest.Story{
				Workflow: server.Recover,
				Scenarios: []workflowtest.Scenario{
					{Name: "before it acted", World: at(""), Result: operations.ResultDone,
						Message: "The " + spec.Verb + " was interrupted by an operator or a fault of the control plane and has been undone."},
					{Name: "where it acts", World: at(operations.StepGuest), Result: operations.ResultDone},
				},
				Ends: map[operations.Result][]string{
					operations.ResultDone:   {k.done + ", on a host", k.row(k.before.VMState, k.before.PowerState)},
					operations.ResultFailed: k.failures(),
				},
			})
		})
	}
}
