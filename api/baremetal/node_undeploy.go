package baremetal

// PUT /nodes/{node}/states/provision: deleted and undeploy, which take a node's instance
// away.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// undeploy has a node's instance be taken away, and the node be cleaned by the steps
// that are due. An operation that waits for the node's ramdisk gives way to it.
func undeploy(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	if n.Protected {
		return begun{}, isProtected(n)
	}
	if err := nodes.MayBeReached(a.Secrets, n); err != nil {
		f := faults.As(err)
		return begun{}, faults.Wrap(err, f.Kind, "InstanceDeployFailure", "Failed to validate power driver interface. Can not delete instance. Error: %s", f.Message)
	}
	due, in := a.automated(n, all)
	return a.cleans(r, tx, n, due, provision.EventDelete, provision.None, operations.NodeUndeploy, in)
}
