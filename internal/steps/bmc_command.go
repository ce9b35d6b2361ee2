package steps

// Family bmc: what a node's management controller is told by a request of its own.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// NodeCommand is something that a node's BMC can be told.
type NodeCommand string

// The commands.
const (
	// SetBootDevice has the node start from a device, once or from now on.
	SetBootDevice NodeCommand = "boot_device"
	// SetBootMode and SetSecureBoot have it start in another way; what is begun by them
	// is shown by the node's row.
	SetBootMode   NodeCommand = "boot_mode"
	SetSecureBoot NodeCommand = "secure_boot"
	// InjectNMI interrupts what it runs.
	InjectNMI NodeCommand = "inject_nmi"
	// SetIndicator lights one of its lamps.
	SetIndicator NodeCommand = "indicator"
	// AttachVIF has one of its ports or port groups bear a port of Neutron, and DetachVIF
	// bear it no longer. Its BMC isn't told.
	AttachVIF NodeCommand = "attach_vif"
	DetachVIF NodeCommand = "detach_vif"
	// AttachMedia puts a medium into one of its drives, DetachMedia takes what is in some
	// of them out; the requests are answered before.
	AttachMedia NodeCommand = "attach_vmedia"
	DetachMedia NodeCommand = "detach_vmedia"
)

// Awaited says whether the request is answered when its work is done; the work of the
// others goes on behind the answer.
func (c NodeCommand) Awaited() bool {
	switch c {
	case SetBootMode, SetSecureBoot, AttachMedia, DetachMedia, ResetBMC, SendRaw:
		return false
	}
	return true
}

// NodeCommandInput is what a request has a node's BMC be told.
type NodeCommandInput struct {
	Command NodeCommand `json:"command"`
	// Device is one of provision's boot devices, to start from once or, Persistent, from
	// now on.
	Device     string `json:"device,omitempty"`
	Persistent bool   `json:"persistent,omitempty"`
	// Mode is "uefi" or "bios", Secure whether only signed systems are started.
	Mode   string `json:"mode,omitempty"`
	Secure bool   `json:"secure,omitempty"`
	// Component and Indicator name a lamp, State is "on", "off" or "blinking".
	Component string `json:"component,omitempty"`
	Indicator string `json:"indicator,omitempty"`
	State     string `json:"state,omitempty"`
	// VIF is a port of Neutron, and Port or Portgroup is what is to bear it; empty is any.
	VIF       string `json:"vif,omitempty"`
	Port      string `json:"port,omitempty"`
	Portgroup string `json:"portgroup,omitempty"`
	// Media are kinds of drives: the one that a medium is put into, or those that are
	// emptied; none are all.
	Media []string `json:"media,omitempty"`
	// Subscription is the BMC's own name of one.
	Subscription string `json:"subscription,omitempty"`
	// Cold has a BMC forget what it knows when it begins anew.
	Cold bool `json:"cold,omitempty"`
	// Secret is what a subscription is made of, what is sent to a BMC, or where a medium
	// is, sealed.
	Secret []byte `json:"secret,omitempty"`
}

// CommandAct is the name under which a command that is done once is noted, with what the
// BMC has said to it.
const CommandAct = "command"

// NodeCommandIn tells a node's BMC something.
type NodeCommandIn struct {
	Fence Fence `json:"fence"`
	// Of is as in NodePowerIn.
	Of  string           `json:"of"`
	Ask NodeCommandInput `json:"ask"`
	// Restarted says that the node was started anew for it, so that it is only looked
	// whether it has taken effect.
	Restarted bool `json:"restarted,omitempty"`
}

// Effect says of a setting that was sent whether it is true of the node.
type Effect struct {
	// Restart says that it takes effect when the node is started anew; Pending, of one
	// that was, that it has not yet. PowerState is as in NodePowerOut.
	Restart    bool   `json:"restart,omitempty"`
	Pending    bool   `json:"pending,omitempty"`
	PowerState string `json:"power_state,omitempty"`
}

// NodeCommandOut says how far it has come.
type NodeCommandOut struct {
	Effect
	// BootMode and SecureBoot are how the node boots, if that was asked for.
	BootMode   *string `json:"boot_mode,omitempty"`
	SecureBoot *bool   `json:"secure_boot,omitempty"`
}

// CommandActivities are those of the BMC family about commands.
type CommandActivities interface {
	// Command: errors as Power; Conflict also if nobody knows whether what must not
	// happen twice has happened.
	Command(context.Context, NodeCommandIn) (NodeCommandOut, error)
}

var bmcCommand = conductorStep("bmc.Command")

// Command tells a node's BMC something.
func (bmcSteps) Command(ctx workflow.Context, group string, in NodeCommandIn) (NodeCommandOut, error) {
	return call[NodeCommandOut](ctx, bmcCommand, ConductorQueue(group), in)
}
