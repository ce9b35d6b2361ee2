package nodes

// What a node's network interface needs.

import (
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// Network interfaces by which a node's networks are changed.
const (
	NetworkFlat    = "flat"
	NetworkNeutron = "neutron"
	NetworkNoop    = "noop"
)

// NetworkInterface is what a node's networks are changed by; one without has one that does
// nothing.
func NetworkInterface(n *baremetal.Node) string {
	if name := Interfaces(n)["network"]; name != "" {
		return name
	}
	return NetworkNoop
}

// Networks are those that nodes are on for their ramdisks which don't name others, and how
// their ports are there.
type Networks struct {
	// Usual are their names or ids, and SecurityGroups the ids of those of their ports.
	Usual          map[steps.NodeNetwork]string
	SecurityGroups map[steps.NodeNetwork][]string
	// AllPorts gives a node a port there for each of its own, be it booted by that or not.
	AllPorts bool
	// MustBind fails nodes whose ports can't be bound, and NeverOff lets those have
	// networks that are never turned off: of the interface neutron.
	MustBind, NeverOff bool
}

// called is what refusals call a network; the original has no underscore in one.
var called = map[steps.NodeNetwork]string{
	steps.NetworkCleaning: "cleaning_network", steps.NetworkProvisioning: "provisioning_network", steps.NetworkRescuing: "rescuing_network",
	steps.NetworkInspection: "inspection_network", steps.NetworkServicing: "servicing network",
}

// CodeNoNetwork is the code of a fault that says that a network is named nowhere.
const CodeNoNetwork = "MissingParameterValue"

// Network is the name or the id of the network that a node is on for some work, and what
// refusals call it. Errors: Invalid (code CodeNoNetwork).
func (i Info) Network(of steps.NodeNetwork, usual Networks) (ident, what string, err error) {
	what = called[of]
	if ident = i.text(string(of) + "_network"); ident == "" {
		ident = usual.Usual[of]
	}
	if ident == "" {
		err = faults.New(faults.Invalid, CodeNoNetwork, "UUID or name of %s is not set in configuration or in node driver_info.", what)
	}
	return ident, what, err
}

// MustBind says whether the node fails if one of its ports can't be bound.
func (i Info) MustBind(usual Networks) bool {
	if must, said := i.get("fail_on_binding_failure").(bool); said {
		return must
	}
	return NetworkInterface(i.node) == NetworkNeutron && usual.MustBind
}

// needs are the networks that each interface has to have, and for some work besides.
var needs = map[string][]steps.NodeNetwork{
	NetworkFlat:    {steps.NetworkCleaning},
	NetworkNeutron: {steps.NetworkCleaning, steps.NetworkProvisioning},
}

// NeededNetworks are those that a node's interface has to have, and for what is to be done,
// NetworkNone for nothing more. Errors: Invalid, the node can't have them.
func NeededNetworks(n *baremetal.Node, usual Networks, work steps.NodeNetwork) ([]steps.NodeNetwork, error) {
	switch name := NetworkInterface(n); {
	case name == NetworkNoop:
		return nil, nil
	case needs[name] == nil:
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "this release has no network interface %q", name)
	case name == NetworkNeutron && n.DisablePowerOff && !usual.NeverOff:
		return nil, faults.New(faults.Invalid, "InvalidParameterValue",
			"Nodes with disable_power_off cannot be used with the neutron network interface (disallowed in the configuration)")
	case name == NetworkNeutron && work != steps.NetworkNone:
		return append([]steps.NodeNetwork{work}, needs[name]...), nil
	default:
		return needs[name], nil
	}
}
