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
	// Expect keeps by which addresses what the node's ramdisk finds is known to be of the
	// node: those of its BMC, and those of its interfaces that the BMC tells. Errors: as
	// Inspect.
	Expect(context.Context, NodeIn) (struct{}, error)
}

var (
	bmcInspect = conductorStep("bmc.Inspect")
	bmcExpect  = conductorStep("bmc.Expect")
)

// Inspect asks a node's BMC what the machine is made of.
func (bmcSteps) Inspect(ctx workflow.Context, group string, in NodeIn) error {
	_, err := call[struct{}](ctx, bmcInspect, ConductorQueue(group), in)
	return err
}

// Expect has what a node's ramdisk finds be expected.
func (bmcSteps) Expect(ctx workflow.Context, group string, in NodeIn) error {
	_, err := call[struct{}](ctx, bmcExpect, ConductorQueue(group), in)
	return err
}
