package node

// Adopt takes over a node that runs an instance already: nothing is written to its
// disk, and it goes on running; from now on it starts from its disk.
//
//	manageable,   ──adopt──► adopting ──► active
//	adopt failed
//	   ▲                        │
//	   └────────────────────────┘ failed, cancelled, lost: adopt failed
//
// Point of no return: the step start. A cancel that comes later is noted, and the node
// is adopted.
//
//	step    before it                      after it
//	start   nothing has been changed       the node starts from its disk, and nothing is
//	                                       in its drive
//	finish  the same                       active
//
// There is no undo: what a machine would have started from nobody has asked.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Adopt is the workflow of operations.NodeAdopt.
func Adopt(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, nil)
	if s == nil {
		return err
	}
	now, err := adopt(s)
	return s.Close(saga.Outcome{Node: now, NodeOnFailure: unadopted(), NodeOnCancel: failed(), Cancelled: "By request, the adoption was aborted"}, err)
}

// unadopted: the node is where its work fails to, and nobody knows its power.
func unadopted() *steps.NodeOutcome {
	now := failed()
	now.PowerState = new("")
	return now
}

func adopt(s *saga.Saga) (*steps.NodeOutcome, error) {
	in, err := saga.Input[steps.NodeAdoptInput](s)
	if err == nil && in.Refused != "" {
		err = faults.New(faults.Invalid, "InvalidParameterValue", "%s", in.Refused)
	}
	if err == nil {
		err = takeOver(s)
	}
	if err != nil {
		return nil, adoptFault(s, err)
	}
	return at(provision.Active), nil
}

func takeOver(s *saga.Saga) error {
	if err := s.Step(operations.StepStart, shown(s, provision.Adopting)); err != nil {
		return err
	}
	return onConductor(s, func(ctx workflow.Context) error {
		return steps.Boot.Clear(ctx, s.Begun.Node.Group, steps.BootClearIn{Fence: s.Fence, Disk: true})
	})
}

// adoptLost finishes one that was lost beyond its point of no return.
func adoptLost(s *saga.Saga) (*steps.NodeOutcome, error) {
	if err := takeOver(s); err != nil {
		return nil, adoptFault(s, err)
	}
	return at(provision.Active), nil
}

// adoptFault is what the user reads of a node that could not be adopted.
func adoptFault(s *saga.Saga, err error) error {
	f := saga.Reason(err)
	if f.Kind == faults.Superseded || f.Code == saga.ErrCancelled.Code {
		return err
	}
	return faults.Wrap(err, f.Kind, f.Code, "Error while attempting to adopt node %s: %s.", s.Begun.Node.ID, f.Message)
}
