package steps

// Family bmc: the steps of cleaning, of deployments and of service that a node's
// management controller does.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// CleanInput is what a request for cleaning, a deployment or service has found. The steps themselves are in
// the node's row, with their arguments.
type CleanInput struct {
	// Ramdisk has the node's ramdisk be booted, and asked for the steps that it has.
	Ramdisk bool `json:"ramdisk,omitempty"`
	// Refused is what is wrong with them: the work fails with it at once.
	Refused string `json:"refused,omitempty"`
}

// CleanStep is one of a node's steps, as a workflow knows it.
type CleanStep struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	Abortable bool   `json:"abortable,omitempty"`
	// Seconds is how long a step that waits by the clock does so; 0 waits for the
	// ramdisk.
	Seconds int `json:"seconds,omitempty"`
	// Reboots says that the node is started anew at its end.
	Reboots bool `json:"reboot_requested,omitempty"`
}

// CleanStepIn names one of the steps in the row of the fenced operation's node.
type CleanStepIn struct {
	Fence Fence `json:"fence"`
	Index int   `json:"index"`
	// Phase is what the step is one of; empty is cleaning.
	Phase AgentPhase `json:"phase,omitempty"`
	// Of is as in NodePowerIn; empty is the fence's.
	Of string `json:"of,omitempty"`
	// Restarted is as in NodeCommandIn.
	Restarted bool `json:"restarted,omitempty"`
	// Restarts is how often the node was started anew for it.
	Restarts int `json:"restarts,omitempty"`
}

// CleanStepOut says that a step was done, or how far it has come.
type CleanStepOut struct{ Effect }

// CleanActivities are those of the BMC family about the steps of a phase.
type CleanActivities interface {
	// CleanStep: errors Invalid (the node's interface has no such step, or its BMC refuses
	// it), Unavailable, Superseded.
	CleanStep(context.Context, CleanStepIn) (CleanStepOut, error)
}

var bmcCleanStep = conductorStep("bmc.CleanStep")

// CleanStep does one of a node's steps.
func (bmcSteps) CleanStep(ctx workflow.Context, group string, in CleanStepIn) (CleanStepOut, error) {
	return call[CleanStepOut](ctx, bmcCleanStep, ConductorQueue(group), in)
}
