package steps

// Family boot: what a node's machine is started from. The conductor that does it
// makes what is booted and serves it; every input carries the operation's fence.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// BootRamdiskIn has a node start its ramdisk the next time that it is turned on.
type BootRamdiskIn struct {
	Fence Fence `json:"fence"`
	// Rescue boots the ramdisk that rescues; otherwise the one that deploys.
	Rescue bool `json:"rescue,omitempty"`
	// Inspect has it tell what it finds, and be told nothing.
	Inspect bool `json:"inspect,omitempty"`
}

// BootClearIn has a node start as it would by itself.
type BootClearIn struct {
	Fence Fence `json:"fence"`
	// Disk has it start from its disk from now on.
	Disk bool `json:"disk,omitempty"`
	// Runs says that a ramdisk runs on, of which what is known is kept.
	Runs bool `json:"runs,omitempty"`
	// PowerState is what the node was found with before, for its row; empty leaves that.
	PowerState string `json:"power_state,omitempty"`
}

// BootActivities is implemented by activities/boot. Every method is idempotent by
// observing before it acts.
type BootActivities interface {
	// Ramdisk: the node's ramdisk is served, and the node starts it once, from a medium in
	// its drive or by the network. Nothing is known of any ramdisk from before the operation.
	// Errors: Invalid (the row doesn't say what is booted, or the BMC refuses), Unavailable,
	// Superseded.
	Ramdisk(context.Context, BootRamdiskIn) (struct{}, error)
	// Clear is the undo: nothing is in the drive, and, unless a ramdisk runs on, no file of
	// the node's is served, and nothing is known of one. Errors: as Ramdisk.
	Clear(context.Context, BootClearIn) (struct{}, error)
	// Vacate: nothing is known of an instance on the node. Errors: Superseded.
	Vacate(context.Context, NodeIn) (struct{}, error)
}

// Boot is the family's caller.
var Boot bootSteps

type bootSteps struct{}

var (
	// What a ramdisk is booted from is read first, and may be large.
	bootRamdisk = define(Step{Name: "boot.Ramdisk", Place: OnConductor, StartToClose: 10 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	bootClear  = conductorStep("boot.Clear")
	bootVacate = conductorStep("boot.Vacate")
)

// Ramdisk has a node start its ramdisk, by a conductor of its group.
func (bootSteps) Ramdisk(ctx workflow.Context, group string, in BootRamdiskIn) error {
	_, err := call[struct{}](ctx, bootRamdisk, ConductorQueue(group), in)
	return err
}

// Clear has a node start as it would by itself, by a conductor of its group.
func (bootSteps) Clear(ctx workflow.Context, group string, in BootClearIn) error {
	_, err := call[struct{}](ctx, bootClear, ConductorQueue(group), in)
	return err
}

// Vacate takes what is known of an instance out of a node's row, by a conductor of its
// group, which can open its secrets.
func (bootSteps) Vacate(ctx workflow.Context, group string, in NodeIn) error {
	_, err := call[struct{}](ctx, bootVacate, ConductorQueue(group), in)
	return err
}
