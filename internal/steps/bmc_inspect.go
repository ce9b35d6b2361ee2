package steps

// Family bmc: what a node's management controller knows of the machine. What is found
// is kept beside the node's row until the operation ends (NodeOutcome.Found).

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// InspectActivities are those of the BMC family about inspection.
type InspectActivities interface {
	// Inspect: errors Invalid (the node can't be reached by what its row says, its BMC
	// refuses, or nothing can be made of what it says), Unavailable, Superseded.
	Inspect(context.Context, NodeIn) (struct{}, error)
}

var bmcInspect = conductorStep("bmc.Inspect")

// Inspect asks a node's BMC what the machine is made of.
func (bmcSteps) Inspect(ctx workflow.Context, group string, in NodeIn) error {
	_, err := call[struct{}](ctx, bmcInspect, ConductorQueue(group), in)
	return err
}
