package node

// Power turns a node on or off, or has it start anew, by its BMC; softly, by its
// own system, where that is asked for.
//
//	as it was ──power──► the state that was asked for
//	    ▲                   │ failed: as it is found, last_error says why
//	    └── cancelled before
//
// Point of no return: the step power. A cancel that comes later is noted, and the
// node is brought to the state that was asked for.
//
//	step    before it                   after it
//	power   nothing has been sent;      the node is in the state that was asked
//	        cancelled, it is as it was  for, cancelled or not
//	finish  the same                    the row says it
//
// There is no undo: what a machine did before its power was changed can't be
// brought back. What has been sent under the operation is noted before it is sent,
// so that a reboot happens once, however often the step runs.

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Power is the workflow of operations.NodePower.
func Power(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, nil)
	if s == nil {
		return err
	}
	now, err := power(s)
	return s.Close(saga.Outcome{Node: now, NodeOnFailure: now}, err)
}

// power does the step, and says what is true of the node afterwards whether it
// went well or not.
func power(s *saga.Saga) (*steps.NodeOutcome, error) {
	asked, err := saga.Input[steps.NodePowerInput](s)
	if err != nil {
		return unchanged(), err
	}
	if err := s.Step(operations.StepPower, saga.Move{Host: s.Begun.Node.Conductor}); err != nil {
		return unchanged(), err
	}
	found, err := changePower(s, operations.StepPower, asked)
	if err == nil {
		return as(found), nil
	}
	if steps.IsSuperseded(err) {
		return nil, err
	}
	if asked.Keeps {
		return unchanged(), powerFault(asked, err)
	}
	now := unchanged()
	now.PowerState = glimpse(s)
	return now, powerFault(asked, err)
}

// glance bounds a look at a node that could not be changed.
const glance = 30 * time.Second

// glimpse is the power that such a node is found with; nil if its BMC can't say.
func glimpse(s *saga.Saga) *string {
	seen, err := steps.BMC.Power(s.Grace(glance), s.Begun.Node.Group, steps.NodePowerIn{Fence: s.Fence, Of: origin(s)})
	if err != nil {
		return nil
	}
	return as(seen).PowerState
}

// changePower calls the step until the node is where it should be.
func changePower(s *saga.Saga, name string, asked steps.NodePowerInput) (steps.NodePowerOut, error) {
	return changePowerIn(s.Context(), s, name, asked)
}

// changePowerIn is changePower on a context of its own.
func changePowerIn(ctx workflow.Context, s *saga.Saga, name string, asked steps.NodePowerInput) (found steps.NodePowerOut, err error) {
	return powered(ctx, s, steps.NodePowerIn{Fence: s.Fence, Of: origin(s), Name: name, Target: asked.Target, Timeout: asked.Timeout})
}

// powered calls the step with what it is told until it isn't pending.
func powered(ctx workflow.Context, s *saga.Saga, in steps.NodePowerIn) (found steps.NodePowerOut, err error) {
	for {
		err = conducted(ctx, func(ctx workflow.Context) (err error) {
			found, err = steps.BMC.Power(ctx, s.Begun.Node.Group, in)
			return err
		})
		if err != nil || !found.Pending {
			return found, err
		}
	}
}

// powerFault is what the user reads of a change that failed.
func powerFault(asked steps.NodePowerInput, err error) error {
	f := saga.Reason(err)
	target := provision.Power(asked.Target).Target()
	return faults.Wrap(err, f.Kind, f.Code, "Failed to change power state to '%s' by '%s': %s", target, asked.Target, f.Message)
}

// unchanged: only the work is over.
func unchanged() *steps.NodeOutcome { return &steps.NodeOutcome{} }

// as: the node was found so; one whose BMC could not say stays as it was.
func as(found steps.NodePowerOut) *steps.NodeOutcome {
	if found.PowerState == "" {
		return unchanged()
	}
	return &steps.NodeOutcome{PowerState: &found.PowerState}
}
