package steps

// Family bmc: what is done to a machine by its management controller. The
// conductor that does it reads the node's row and its secrets itself; every input
// carries the operation's fence.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// NodePowerInput is what a request for a change of power asks for: a word of
// provision.Powers, and how long the node may take for it.
type NodePowerInput struct {
	Target  string        `json:"target"`
	Timeout time.Duration `json:"timeout"`
	// Keeps has the row of a node whose power can't be changed say what it said.
	Keeps bool `json:"keeps,omitempty"`
}

// NodeAdoptInput is what a request for the adoption of a node has found.
type NodeAdoptInput struct {
	// Refused is why it can't be adopted: the operation fails with it at once.
	Refused string `json:"refused,omitempty"`
}

// NodePowerIn changes a node's power.
type NodePowerIn struct {
	Fence Fence `json:"fence"`
	// Of is the operation that the acts are noted under: the fence's, or the one
	// that it recovers. What has been sent under an operation and a name isn't sent
	// again.
	Of   string `json:"of"`
	Name string `json:"name"`
	// Target is a word of provision.Powers; empty reads and changes nothing.
	Target string `json:"target,omitempty"`
	// Timeout is how long the node may take to come to a state once it was asked to.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Down asks for the first half of a reboot: the node is off, unless it has been turned
	// on again since, or is never turned off.
	Down bool `json:"down,omitempty"`
}

// NodePowerOut is the power that the node was found with.
type NodePowerOut struct {
	// PowerState is "power on" or "power off"; empty if its BMC can't say.
	PowerState string `json:"power_state,omitempty"`
	// Pending says that the node has been asked and isn't there yet: the step is to
	// be called again.
	Pending bool `json:"pending,omitempty"`
}

// NodeIn names the operation that a node is looked at for.
type NodeIn struct {
	Fence Fence `json:"fence"`
}

// VerifyFailure is the code of a step of verifying that failed.
const VerifyFailure = "NodeVerifyFailure"

// NodeVerifyOut is what a node's BMC has said of it.
type NodeVerifyOut struct {
	// PowerState is as in NodePowerOut.
	PowerState string `json:"power_state,omitempty"`
	// BootMode is "uefi" or "bios"; empty, and SecureBoot nil, if the BMC doesn't say.
	BootMode   string `json:"boot_mode,omitempty"`
	SecureBoot *bool  `json:"secure_boot,omitempty"`
}

// BMCActivities is implemented by activities/bmc. Every method is idempotent by
// observing before it acts, and by notes of what has been sent.
type BMCActivities interface {
	CleanActivities
	InspectActivities
	CommandActivities
	SyncActivities
	// Power: errors Invalid (the node can't be reached by what its row says, or its
	// BMC refuses), Conflict (it doesn't come to the state in time), Superseded.
	Power(context.Context, NodePowerIn) (NodePowerOut, error)
	// Verify: errors Invalid (as Power), Superseded.
	Verify(context.Context, NodeIn) (NodeVerifyOut, error)
}

// BMC is the family's caller.
var BMC bmcSteps

type bmcSteps struct{}

// conductorStep is a step on a BMC, which takes at most a minute.
func conductorStep(name string) Step {
	return define(Step{Name: name, Place: OnConductor, StartToClose: 3 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
}

var (
	bmcPower  = conductorStep("bmc.Power")
	bmcVerify = conductorStep("bmc.Verify")
)

// Power changes a node's power, by a conductor of its group.
func (bmcSteps) Power(ctx workflow.Context, group string, in NodePowerIn) (NodePowerOut, error) {
	return call[NodePowerOut](ctx, bmcPower, ConductorQueue(group), in)
}

// Verify looks at a node by what its row says of its BMC.
func (bmcSteps) Verify(ctx workflow.Context, group string, in NodeIn) (NodeVerifyOut, error) {
	return call[NodeVerifyOut](ctx, bmcVerify, ConductorQueue(group), in)
}
