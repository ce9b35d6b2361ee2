// Package maintenance has the workflows of periodic work. They carry out no
// operation and hold no resource: each repeats a step that does a bounded part
// until there is nothing more to do, and the next schedule begins anew.
// Schedules are made and corrected by control workers (workers/schedules.go).
//
// There is nothing to undo: every part is a transaction of its own. One that is
// cancelled or terminated by hand is taken up by the next.
package maintenance

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/steps"
)

// Names of the workflow types.
const (
	SyncPowerName    = "maintenance.sync-power"
	PurgeName        = "maintenance.purge"
	ReclaimName      = "maintenance.reclaim"
	AddressesName    = "maintenance.addresses"
	OffloadName      = "maintenance.offload"
	ConfirmName      = "maintenance.confirm"
	NodePowerName    = "maintenance.node-power"
	NodeRecoveryName = "maintenance.node-recovery"
)

// Workflows are what this package carries out, by name.
var Workflows = map[string]func(workflow.Context) error{
	SyncPowerName:    SyncPower,
	PurgeName:        Purge,
	ReclaimName:      Reclaim,
	AddressesName:    Addresses,
	OffloadName:      Offload,
	ConfirmName:      Confirm,
	NodePowerName:    NodePower,
	NodeRecoveryName: NodeRecovery,
}

// maxParts bounds one run: what is left is the next one's.
const maxParts = 200

// SyncPower makes rows true of the power that hosts report.
func SyncPower(ctx workflow.Context) error { return repeat(ctx, steps.Maintenance.SyncPower) }

// Purge deletes finished operations, their events and ledgers, deleted servers
// and unread events that are older than the configuration keeps.
func Purge(ctx workflow.Context) error { return repeat(ctx, steps.Maintenance.Purge) }

// Reclaim asks for the delete of servers that were soft-deleted long enough ago.
func Reclaim(ctx workflow.Context) error { return repeat(ctx, steps.Maintenance.Reclaim) }

// Offload asks for the offload of servers that were shelved long enough ago.
func Offload(ctx workflow.Context) error { return repeat(ctx, steps.Maintenance.OffloadShelved) }

// Confirm asks for the confirmation of servers that were resized or moved long
// enough ago (Nova: resize_confirm_window).
func Confirm(ctx workflow.Context) error { return repeat(ctx, steps.Maintenance.ConfirmResized) }

// Addresses reads servers' addresses from Neutron, whose events about them may
// have been lost (Nova: heal_instance_info_cache_interval).
func Addresses(ctx workflow.Context) error { return repeat(ctx, steps.Neutron.Refresh) }

func repeat(ctx workflow.Context, part func(workflow.Context) (steps.MaintenanceOut, error)) error {
	for range maxParts {
		out, err := part(ctx)
		if err != nil || !out.More {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
