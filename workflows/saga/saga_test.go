package saga_test

// The frame, told with the smallest story that has a point of no return in the
// middle: a server is stopped. Steps before "guest" can be taken back.

import (
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
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
		now, err := stopGuest(s)
		err = s.Close(saga.Outcome{Server: now, OnFailure: now}, err)
		if left := workflow.GetUnhandledSignalNames(ctx); len(left) > 0 {
			t.Errorf("signals %v are left", left)
		}
		return err
	}
}

// stopGuest also says what is true if it fails: nobody knows how the guest is.
func stopGuest(s *saga.Saga) (*steps.ServerOutcome, error) {
	if _, err := steps.Records.ServerSpec(s.Context(), steps.ServerSpecIn{Fence: s.Fence}); err != nil {
		return &steps.ServerOutcome{}, err
	}
	if err := s.Step(operations.StepGuest, saga.Move{Host: s.Begun.Server.Host}); err != nil {
		return &steps.ServerOutcome{}, err
	}
	out, err := powerOff(s.Interruptible(), s, steps.PowerStop)
	if temporal.IsCanceledError(err) {
		out, err = powerOff(s.Grace(time.Minute), s, steps.PowerForceStop)
	}
	if err != nil {
		return &steps.ServerOutcome{PowerState: new(0)}, err
	}
	return &steps.ServerOutcome{VMState: new("stopped"), PowerState: &out.PowerState}, nil
}

func powerOff(ctx workflow.Context, s *saga.Saga, action steps.PowerAction) (out steps.PowerOut, err error) {
	host := s.Begun.Server.Host
	err = saga.OnHost(ctx, host, func(ctx workflow.Context) (err error) {
		out, err = steps.Libvirt.Power(ctx, host, steps.PowerIn{Token: s.Token(), Action: action})
		return err
	})
	return out, err
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
			operations.ResultFailed:    {asItWas, "active, power 0, on a host"},
			operations.ResultCancelled: {asItWas},
		},
	})
}
