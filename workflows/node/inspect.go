package node

// Inspect finds out what a node is made of: by its BMC, or not at all where the
// machine isn't there.
//
//	manageable,     ──inspect──► inspecting ──► manageable
//	inspect failed
//	   ▲                             │
//	   └─────────────────────────────┘ failed, cancelled, lost: inspect failed
//
// Point of no return: none. What was found is kept beside the node's row, and becomes
// the node's, its ports' and its inventory with the end.
//
//	step     before it               after it
//	inspect  nothing is known;       something was found; cancelled, it is forgotten
//	         cancelled, nor is it
//	finish   the same                manageable, and the rows say what was found
//
// There is no undo: a look leaves nothing.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Inspect is the workflow of operations.NodeInspect.
func Inspect(ctx workflow.Context, ref steps.Ref) error {
	return transition(ctx, ref, inspect, "Inspection was aborted by request.")
}

// fakeInspect is the inspect interface of machines that aren't there.
const fakeInspect = "fake"

func inspect(s *saga.Saga) (*steps.NodeOutcome, error) {
	if err := s.Step(operations.StepInspect, shown(s, provision.Inspecting)); err != nil {
		return nil, err
	}
	if s.Begun.Node.InspectInterface != fakeInspect {
		err := onConductor(s, func(ctx workflow.Context) error {
			return steps.BMC.Inspect(ctx, s.Begun.Node.Group, steps.NodeIn{Fence: s.Fence})
		})
		if err != nil {
			return nil, err
		}
	}
	now := at(provision.Manageable)
	now.Found = true
	return now, nil
}
