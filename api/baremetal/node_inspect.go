package baremetal

// PUT /nodes/{node}/states/provision: inspect, which finds out what a node is made of.

import (
	"holdfast.dev/api/rest"
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
	if err := nodes.MayInspect(n); err != nil {
		return begun{}, err
	}
	return a.starts(r, tx, n, provision.EventInspect, provision.None, operations.NodeInspect, nil)
}
