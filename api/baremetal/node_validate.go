package baremetal

// GET /nodes/{node}/validate: what each of a node's interfaces needs that the row
// doesn't say.

import (
	"errors"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// verdict is what is said of an interface.
type verdict struct {
	Result bool   `json:"result"`
	Reason string `json:"reason,omitempty"`
}

// needs are what each interface is asked, beside whether there is one at all.
var needs = map[hardware.Interface]func(a *API, r *rest.Request, n *baremetal.Node) error{
	hardware.Boot:       func(a *API, r *rest.Request, n *baremetal.Node) error { return a.mayBoot(r, a.DB.Pool, n) },
	hardware.Console:    func(_ *API, _ *rest.Request, n *baremetal.Node) error { return only(n, hardware.Console, "fake") },
	hardware.Inspect:    func(a *API, r *rest.Request, n *baremetal.Node) error { return a.mayInspect(r, a.DB.Pool, n) },
	hardware.Management: func(a *API, _ *rest.Request, n *baremetal.Node) error { return nodes.MayManage(a.Secrets, n) },
	hardware.Network:    func(a *API, r *rest.Request, n *baremetal.Node) error { return a.mayNetwork(r, n, steps.NetworkNone) },
	hardware.Power:      func(a *API, _ *rest.Request, n *baremetal.Node) error { return mayHavePower(a, n) },
	hardware.Rescue: func(a *API, r *rest.Request, n *baremetal.Node) error {
		err := a.mayBeRescued(r, a.DB.Pool, n)
		if err == nil && nodes.Interfaces(n)["rescue"] != nodes.RescueFake && nodes.NetworkInterface(n) == nodes.NetworkNeutron {
			err = a.hasNetworks(r, n, steps.NetworkRescuing)
		}
		return err
	},
	hardware.Deploy: func(a *API, r *rest.Request, n *baremetal.Node) error {
		if nodes.Interfaces(n)["deploy"] == "fake" {
			return nil
		}
		err := a.mayDeploy(r, a.DB.Pool, n)
		if err == nil {
			_, err = a.deployment(r, a.DB.Pool, n, nil)
		}
		return err
	},
}

// mayBoot says whether a node's machine can be started by its boot interface. Errors: Invalid.
func (a *API) mayBoot(r *rest.Request, q store.Queryer, n *baremetal.Node) error {
	if err := nodes.MayBoot(n); err != nil {
		return err
	}
	return a.knownByPort(r, q, n)
}

// knownByPort refuses a node that is booted by the network and has no port, by which a
// machine asks what it is booted from. Errors: Invalid.
func (a *API) knownByPort(r *rest.Request, q store.Queryer, n *baremetal.Node) error {
	if _, network := nodes.NetbootOf(n); !network {
		return nil
	}
	has, err := baremetal.HasPorts(r.Context(), q, n.UUID)
	if err == nil && !has {
		err = faults.New(faults.Invalid, "MissingParameterValue", "Node %s does not have any port associated with it", n.UUID)
	}
	return err
}

// mayHavePower says whether a node's power interface is one that this release has, and
// can be reached by what the row says.
func mayHavePower(a *API, n *baremetal.Node) error {
	if !nodes.HasPower(n) {
		return invalid("this release has no power interface %q", nodes.PowerInterface(n))
	}
	return nodes.MayBeReached(a.Secrets, n)
}

// only refuses a node whose interface is not one of those.
func only(n *baremetal.Node, i hardware.Interface, impls ...string) error {
	for _, impl := range impls {
		if nodes.Interfaces(n)[string(i)] == impl {
			return nil
		}
	}
	return hardware.Unsupported(n.Driver, string(i))
}

// byBMC are the interfaces that need to reach the BMC where they are Redfish's.
var byBMC = []hardware.Interface{hardware.BIOS, hardware.Firmware, hardware.RAID}

func (a *API) validateNode(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:validate")
	if err != nil {
		return nil, err
	}
	all := map[hardware.Interface]verdict{}
	for _, i := range hardware.Interfaces() {
		if i == hardware.Vendor {
			continue
		}
		if all[i], err = a.judge(r, n, i); err != nil {
			return nil, err
		}
	}
	return rest.JSON(all), nil
}

// judge asks an interface. Errors: those that say nothing of it.
func (a *API) judge(r *rest.Request, n *baremetal.Node, i hardware.Interface) (verdict, error) {
	err := a.asks(r, n, i)
	var said *faults.Error
	switch {
	case err == nil:
		return verdict{Result: true}, nil
	case errors.As(err, &said) && said.Kind == faults.Invalid:
		return verdict{Reason: said.Message}, nil
	}
	return verdict{}, err
}

func (a *API) asks(r *rest.Request, n *baremetal.Node, i hardware.Interface) error {
	name := nodes.Interfaces(n)[string(i)]
	switch {
	case name == "", name == "no-"+string(i):
		return hardware.Unsupported(n.Driver, string(i))
	case needs[i] != nil:
		return needs[i](a, r, n)
	}
	for _, by := range byBMC {
		if by == i && name == "redfish" {
			return nodes.MayBeReached(a.Secrets, n)
		}
	}
	return nil
}
