package steps

// Family network: the networks of Neutron that a node is on. A node whose network
// interface does nothing is on those that it is wired to; every input carries the
// operation's fence.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// NodeNetwork is where a node is: on a network that its ramdisk has for some work, on
// those of its instance, or on none.
type NodeNetwork string

// The networks.
const (
	NetworkCleaning     NodeNetwork = "cleaning"
	NetworkProvisioning NodeNetwork = "provisioning"
	NetworkRescuing     NodeNetwork = "rescuing"
	NetworkInspection   NodeNetwork = "inspection"
	NetworkServicing    NodeNetwork = "servicing"
	NetworkTenant       NodeNetwork = "tenant"
	NetworkNone         NodeNetwork = "none"
)

// NetworkIn has a node be on a network, and on no other.
type NetworkIn struct {
	Fence Fence       `json:"fence"`
	To    NodeNetwork `json:"to"`
}

// NetworkOut says whether it is.
type NetworkOut struct {
	// Pending says that Neutron has not plugged a port yet, which Port names: the step is to
	// be called again.
	Pending bool   `json:"pending,omitempty"`
	Port    string `json:"port,omitempty"`
}

// NetworkVIFIn has a node bear a port of Neutron, or bear it no longer.
type NetworkVIFIn struct {
	Fence Fence            `json:"fence"`
	Ask   NodeCommandInput `json:"ask"`
}

// NetworkActivities is implemented by activities/network. Every method is idempotent by
// observing before it acts: what was made for a node bears its id.
type NetworkActivities interface {
	// Switch: errors Invalid (the network isn't known, or the interface has none), Conflict
	// (code NetworkError: Neutron refuses), Unavailable, Superseded.
	Switch(context.Context, NetworkIn) (NetworkOut, error)
	// Attach chooses a port or a port group of the node for a VIF that it doesn't bear yet,
	// and binds that. Errors: as Switch, and Invalid (none is free, or the VIF isn't there).
	Attach(context.Context, NetworkVIFIn) (struct{}, error)
	// Detach is the undo: the VIF is bound to the node no more, and nothing bears it. One
	// that nothing bears is success. Errors: Conflict, Unavailable, Superseded.
	Detach(context.Context, NetworkVIFIn) (struct{}, error)
}

// Network is the family's caller.
var Network networkSteps

type networkSteps struct{}

var (
	networkSwitch = conductorStep("network.Switch")
	networkAttach = conductorStep("network.Attach")
	networkDetach = conductorStep("network.Detach")
)

// Switch has a node be on a network, by a conductor of its group.
func (networkSteps) Switch(ctx workflow.Context, group string, in NetworkIn) (NetworkOut, error) {
	return call[NetworkOut](ctx, networkSwitch, ConductorQueue(group), in)
}

// Attach has a node bear a VIF, by a conductor of its group.
func (networkSteps) Attach(ctx workflow.Context, group string, in NetworkVIFIn) error {
	_, err := call[struct{}](ctx, networkAttach, ConductorQueue(group), in)
	return err
}

// Detach has a node bear a VIF no longer, by a conductor of its group.
func (networkSteps) Detach(ctx workflow.Context, group string, in NetworkVIFIn) error {
	_, err := call[struct{}](ctx, networkDetach, ConductorQueue(group), in)
	return err
}
