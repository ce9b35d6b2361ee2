package baremetal

// The networks of Neutron that a node's network interface has to have.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// mayNetwork says whether a node has the networks that its interface has to have, and the
// one that its ramdisk is on for some work; NetworkNone is none. Errors: Invalid,
// Unavailable.
func (a *API) mayNetwork(r *rest.Request, n *baremetal.Node, work steps.NodeNetwork) error {
	needed, err := nodes.NeededNetworks(n, a.Networks, work)
	if err != nil || len(needed) == 0 {
		return err
	}
	return a.hasNetworks(r, n, needed...)
}

// hasNetworks says whether a node's networks for some work are known. Errors: Invalid,
// Unavailable.
func (a *API) hasNetworks(r *rest.Request, n *baremetal.Node, needed ...steps.NodeNetwork) error {
	info, err := nodes.DriverInfo(a.Secrets, n)
	if err != nil {
		return err
	}
	for _, of := range needed {
		ident, what, err := info.Network(of, a.Networks)
		if err == nil && a.Neutron != nil {
			err = a.Neutron.HasNetwork(r.Context(), ident, what)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// networkOf are the verbs for which a node needs its networks, and one more besides.
var networkOf = map[provision.Verb]steps.NodeNetwork{
	provision.VerbProvide: steps.NetworkNone, provision.VerbDeleted: steps.NetworkNone, provision.VerbUndeploy: steps.NetworkNone,
	provision.VerbClean: steps.NetworkNone, provision.VerbService: steps.NetworkNone, provision.VerbRescue: steps.NetworkRescuing,
}

// seeNetworks notes what is wrong with the networks of a node that a verb needs. What
// Neutron can't say now the operation finds. Errors: those of the node.
func (a *API) seeNetworks(r *rest.Request, all *asked) error {
	work, needed := networkOf[all.verb]
	if !needed {
		return nil
	}
	n, err := a.node(r, a.DB.Pool, "baremetal:node:set_provision_state")
	if err != nil {
		return err
	}
	if err := a.mayNetwork(r, n, work); faults.Is(err, faults.Invalid) {
		all.networks = err
	}
	return nil
}
