package steps

// Family maintenance: what is done from time to time to Holdfast's own database,
// for no operation. Each step does a bounded part and says whether there is more.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// MaintenanceOut is what one part came to.
type MaintenanceOut struct {
	// Changed is how many rows are other or gone.
	Changed int `json:"changed"`
	// More says that another part should follow.
	More bool `json:"more"`
}

// MaintenanceActivities is implemented by activities/maintenance.
type MaintenanceActivities interface {
	// SyncPower makes rows true of what hosts report of their guests' power, and
	// asks for a stop where the two can't both stay. It is idempotent by
	// observing: what agrees is left alone.
	SyncPower(context.Context, struct{}) (MaintenanceOut, error)
	// Purge deletes what is older than the configuration keeps. What is gone
	// already is success.
	Purge(context.Context, struct{}) (MaintenanceOut, error)
	// Reclaim asks for the delete of what was soft-deleted longer ago than the
	// configuration keeps. It is idempotent by observing: a server that an
	// operation has is left to it.
	Reclaim(context.Context, struct{}) (MaintenanceOut, error)
	// OffloadShelved asks for the offload of what was shelved longer ago than the
	// configuration keeps on hosts. It is idempotent as Reclaim is.
	OffloadShelved(context.Context, struct{}) (MaintenanceOut, error)
	// ConfirmResized asks for the confirmation of what was resized or moved longer
	// ago than the configuration waits. It is idempotent as Reclaim is.
	ConfirmResized(context.Context, struct{}) (MaintenanceOut, error)
	// NodePages gives the parts of a round of nodes' power. It only reads.
	NodePages(context.Context, NodePagesIn) (NodePagesOut, error)
}

// Maintenance is the family's caller.
var Maintenance maintenanceSteps

type maintenanceSteps struct{}

var (
	maintenanceSyncPower = localStep("maintenance.SyncPower")
	maintenancePurge     = localStep("maintenance.Purge")
	maintenanceReclaim   = localStep("maintenance.Reclaim")
	maintenanceOffload   = localStep("maintenance.OffloadShelved")
	maintenanceConfirm   = localStep("maintenance.ConfirmResized")
)

// SyncPower compares rows with guests.
func (maintenanceSteps) SyncPower(ctx workflow.Context) (MaintenanceOut, error) {
	return call[MaintenanceOut](ctx, maintenanceSyncPower, "", struct{}{})
}

// Purge deletes what is old.
func (maintenanceSteps) Purge(ctx workflow.Context) (MaintenanceOut, error) {
	return call[MaintenanceOut](ctx, maintenancePurge, "", struct{}{})
}

// Reclaim deletes what was soft-deleted.
func (maintenanceSteps) Reclaim(ctx workflow.Context) (MaintenanceOut, error) {
	return call[MaintenanceOut](ctx, maintenanceReclaim, "", struct{}{})
}

// OffloadShelved takes what was shelved off its hosts.
func (maintenanceSteps) OffloadShelved(ctx workflow.Context) (MaintenanceOut, error) {
	return call[MaintenanceOut](ctx, maintenanceOffload, "", struct{}{})
}

// ConfirmResized confirms what waits for nobody.
func (maintenanceSteps) ConfirmResized(ctx workflow.Context) (MaintenanceOut, error) {
	return call[MaintenanceOut](ctx, maintenanceConfirm, "", struct{}{})
}
