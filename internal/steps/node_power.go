package steps

// Families maintenance and bmc: nodes' power by the clock.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// NodePageSize is how many nodes are in a part of a round.
const NodePageSize = 250

// NodePage is a part of the nodes of a group of conductors.
type NodePage struct {
	Group string `json:"group"`
	// After is the node before the first one; empty is none.
	After string `json:"after,omitempty"`
}

// NodePagesIn asks for the parts of a round: of nodes whose power is compared with their
// rows or, if it Recovers, of those that are in maintenance because of it.
type NodePagesIn struct {
	Recovers bool `json:"recovers,omitempty"`
}

// NodePagesOut are the parts.
type NodePagesOut struct {
	Pages []NodePage `json:"pages"`
}

// SyncNodesIn is a part of a round.
type SyncNodesIn struct {
	NodePage
	NodePagesIn
	// Round is the round's own name: what fails is counted once in it.
	Round string `json:"round"`
}

// SyncNodesOut is what a part came to: how many nodes were looked at, and how many could
// not be.
type SyncNodesOut struct {
	Nodes  int `json:"nodes"`
	Failed int `json:"failed"`
}

// SyncActivities are those of the BMC family about power by the clock.
type SyncActivities interface {
	// SyncPower asks the BMCs of a part of the nodes for their power, and makes rows and
	// machines agree. It is idempotent by observing.
	SyncPower(context.Context, SyncNodesIn) (SyncNodesOut, error)
}

var (
	maintenanceNodePages = localStep("maintenance.NodePages")
	bmcSyncPower         = define(Step{Name: "bmc.SyncPower", Place: OnConductor, StartToClose: 5 * time.Minute, ScheduleToStart: HostPatience,
		Heartbeat: 10 * time.Second, Retry: Retry{Initial: time.Second, Max: 5 * time.Second, Attempts: 2}})
)

// NodePages gives the parts of a round.
func (maintenanceSteps) NodePages(ctx workflow.Context, in NodePagesIn) (NodePagesOut, error) {
	return call[NodePagesOut](ctx, maintenanceNodePages, "", in)
}

// SyncPower does a part of a round, by a conductor of its group.
func (bmcSteps) SyncPower(ctx workflow.Context, in SyncNodesIn) (SyncNodesOut, error) {
	return call[SyncNodesOut](ctx, bmcSyncPower, ConductorQueue(in.Group), in)
}
