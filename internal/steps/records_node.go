package steps

// Family records: what workflows read and make true of a node's row.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// NodeBrief is what a workflow needs to know of a node.
type NodeBrief struct {
	ID string `json:"id"`
	// Group is that of the conductors that work on it, Conductor the one that the
	// request has named as doing so.
	Group     string `json:"group"`
	Conductor string `json:"conductor"`
	// ProvisionState and PowerState are as clients see them; empty is null.
	ProvisionState string `json:"provision_state"`
	PowerState     string `json:"power_state,omitempty"`
	// DeployInterface names what deploys it.
	DeployInterface string `json:"deploy_interface,omitempty"`
	// RescueInterface names what rescues it.
	RescueInterface string `json:"rescue_interface,omitempty"`
	// NetworkInterface names what changes its networks; empty is one that does nothing.
	NetworkInterface string `json:"network_interface,omitempty"`
	// RAIDInterface names what makes its logical disks.
	RAIDInterface string `json:"raid_interface,omitempty"`
	// InspectInterface names what inspects it, and Found says that it has found something.
	InspectInterface string `json:"inspect_interface,omitempty"`
	Found            bool   `json:"found,omitempty"`
	// RamdiskHeard is when the node's ramdisk has said last that it is alive; zero if
	// it hasn't since it was booted.
	RamdiskHeard time.Time `json:"ramdisk_heard,omitzero"`
	// DisablePowerOff says that it is never turned off.
	DisablePowerOff bool `json:"disable_power_off,omitempty"`
	// Retired says that nobody will have it again.
	Retired bool `json:"retired,omitempty"`
	// Steps are what it is cleaned, deployed or serviced by, StepIndex is the one that is
	// being done, and Rebooting says that its ramdisk goes at the end of that.
	Steps     []CleanStep `json:"steps,omitempty"`
	StepIndex int         `json:"step_index,omitempty"`
	Rebooting bool        `json:"rebooting,omitempty"`
	// StepsBegun says that they are known, and the first has begun.
	StepsBegun bool `json:"steps_begun,omitempty"`
	// Awaited says that another operation waits for it.
	Awaited bool `json:"awaited,omitempty"`
}

// NodeMove is where a node's operation shows it from a step on.
type NodeMove struct {
	// State is its provision state: one that an event leads to, or the one that it is
	// in. While the node waits or is held nobody is shown at work on it.
	State string `json:"state"`
	// StepIndex is which of its steps is being done; nil leaves it, one beyond the
	// last is none.
	StepIndex *int `json:"step_index,omitempty"`
	// Rebooting is as in NodeBrief; it is left with StepIndex.
	Rebooting bool `json:"rebooting,omitempty"`
}

// NodeOutcome is what a finished operation makes true of a node's row. A nil
// field stays as it is; its target power and its reservation are always cleared,
// and a fault is its last error.
type NodeOutcome struct {
	// PowerState is what it was found with; empty says that nobody knows.
	PowerState *string `json:"power_state,omitempty"`
	// State is where the node has come to in its life; empty leaves it where it is.
	State string `json:"state,omitempty"`
	// Failed has the node be where its work fails to, whatever it was at.
	Failed bool `json:"failed,omitempty"`
	// Aborted says of one that has failed that somebody had asked for its end.
	Aborted bool `json:"aborted,omitempty"`
	// Fault puts the node into maintenance, with this word for why; the operation's
	// fault is the reason.
	Fault      string  `json:"fault,omitempty"`
	BootMode   *string `json:"boot_mode,omitempty"`
	SecureBoot *bool   `json:"secure_boot,omitempty"`
	// Told says that whoever asked is told what went wrong, and the node's row isn't.
	Told bool `json:"told,omitempty"`
	// Found makes what was found on it the node's; otherwise it is forgotten.
	Found bool `json:"found,omitempty"`
}

// NodeActivities are those of the records about nodes.
type NodeActivities interface {
	// Node reads the row of the fenced operation's node. Errors: Superseded.
	Node(context.Context, NodeIn) (NodeBrief, error)
}

var recordsNode = localStep("records.Node")

// Node reads the row of the fenced operation's node, and what others have written
// there for it.
func (recordsSteps) Node(ctx workflow.Context, in NodeIn) (NodeBrief, error) {
	return call[NodeBrief](ctx, recordsNode, "", in)
}
