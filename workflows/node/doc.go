// Package node has the workflows of operations on the nodes of the bare metal
// service, one file each. They touch nothing but steps; what is done to a BMC is
// done by a conductor of the node's group.
//
// Those that do steps which take days, cleaning, deployments and service, continue as new
// when their history has grown long. The others don't: an operation on a node is a handful of steps,
// and each look at a node that takes its time lasts for most of a minute.
package node

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Workflows are the kinds that this package carries out. Each is registered
// with a control worker under the name of its kind.
var Workflows = map[operations.Kind]func(workflow.Context, steps.Ref) error{
	operations.NodePower:    Power,
	operations.NodeCommand:  Command,
	operations.NodeDeploy:   Deploy,
	operations.NodeRebuild:  Deploy,
	operations.NodeUndeploy: Undeploy,
	operations.NodeManage:   Manage,
	operations.NodeProvide:  Provide,
	operations.NodeClean:    Clean,
	operations.NodeInspect:  Inspect,
	operations.NodeAdopt:    Adopt,
	operations.NodeRescue:   Rescue,
	operations.NodeUnrescue: Unrescue,
	operations.NodeService:  Service,
	operations.NodeRecover:  Recover,
}
