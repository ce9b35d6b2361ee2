package saga_test

// The frame, told with the smallest story that has a point of no return in the
// middle: a server is stopped. Steps before "guest" can be taken back.

import (
	"testing"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
	"holdfast.dev/workflows/workflowtest"
)

func stop(t *testing.T) func(workflow.Context, steps.Ref) error {
	return func(ctx workflow.Context, ref steps.Ref) error {
		s, err := saga.Begin(ctx, ref, nil)
		if s == nil {
			return err
		}
		power, err := stopGuest(s)
		stopped := "stopped"
		err = s.Close(saga.Outcome{
			Server:    &steps.ServerOutcome{VMState: &stopped, PowerState: &power},
			OnFailure: &steps.ServerOutcome{},
		}, err)
		if left := workflow.GetUnhandledSignalNames(ctx); len(left) > 0 {
			t.Errorf("signals %v are left", left)
		}
		return err
	}
}

func stopGuest(s *saga.Saga) (int, error) {
	if _, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence}); err != nil {
		return 0, err
	}
	host := s.Begun.Server.Host
	if err := s.Step(operations.StepGuest, saga.Move{Host: host}); err != nil {
		return 0, err
	}
	var out steps.PowerOut
	err := saga.OnHost(s.Context(), host, func(ctx workflow.Context) (err error) {
		out, err = steps.Libvirt.Power(ctx, host, steps.PowerIn{Token: s.Token(), Action: steps.PowerStop})
		return err
	})
	return out.PowerState, err
}

func running() *workflowtest.World {
	return workflowtest.NewWorld(operations.ServerStop,
		workflowtest.Server{VMState: "active", TaskState: "powering-off", PowerState: 1}, "host-1").Place("host-1")
}

// Cancelled before its step "guest" the server runs on; from there on it is
// stopped, cancel or not, and so it is by a run that begins at that step again.
func TestPointOfNoReturn(t *testing.T) {
	const asItWas = "active, power 1, on a host"
	workflowtest.Every(t, workflowtest.Story{
		Workflow: stop(t),
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: running, Result: operations.ResultDone},
			{Name: "beyond, then cancelled", Result: operations.ResultDone, World: func() *workflowtest.World {
				w := running()
				w.Op.Step, w.Op.CancelRequested = operations.StepGuest, true
				return w
			}},
			{Name: "out of time", Result: operations.ResultFailed, Message: "the operation did not end in time",
				World: func() *workflowtest.World {
					w := running()
					w.Op.Deadline = workflowtest.Epoch.Add(-1)
					return w
				}},
			{Name: "host down", Result: operations.ResultFailed, Message: "the host did not answer in time",
				World: func() *workflowtest.World { return running().Down("host-1") }},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {"stopped, power 4, on a host"},
			operations.ResultFailed:    {asItWas},
			operations.ResultCancelled: {asItWas},
		},
	})
}
