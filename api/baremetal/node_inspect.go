package baremetal

// PUT /nodes/{node}/states/provision: inspect, which finds out what a node is made of.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// inspect checks that the node's drivers can be asked.
func inspect(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, _ *asked) (begun, error) {
	if err := nodes.MayBeReached(a.Secrets, n); err != nil {
		return begun{}, err
	}
	if err := a.mayInspect(r, tx, n); err != nil {
		return begun{}, err
	}
	return a.starts(r, tx, n, provision.EventInspect, provision.None, operations.NodeInspect, nil)
}

// mayInspect says whether a node's inspect interface can be used. Errors: Invalid.
func (a *API) mayInspect(r *rest.Request, q store.Queryer, n *baremetal.Node) error {
	err := nodes.MayInspect(n)
	if err != nil || nodes.Interfaces(n)["inspect"] != nodes.InspectAgent {
		return err
	}
	if err = a.knownByPort(r, q, n); faults.Is(err, faults.Invalid) {
		return faults.Wrap(err, faults.Invalid, "UnsupportedDriverExtension", "Insufficient information provided for managed inspection: %s", faults.As(err).Message)
	}
	return err
}
