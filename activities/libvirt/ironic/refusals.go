package ironic

// What a node can't be asked for, as the original's driver can't: its disk is the
// machine's own, and so is its memory.

import (
	"context"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

func notSupported(what string) error {
	return faults.New(faults.Invalid, steps.CodeNotSupported, "The bare metal service has no %s.", what)
}

// refusals are the parts of a driver that a node has not.
type refusals struct{}

// Inherit finds nothing: a node's disk is its own.
func (refusals) Inherit(context.Context, steps.ServerSpec, string) (bool, error) { return false, nil }

// Resize is refused: a node is as large as it is.
func (refusals) Resize(context.Context, steps.ResizeIn, string, libvirt.Confirm) (libvirt.Guest, error) {
	return libvirt.Guest{}, notSupported("resize")
}

// Disks is refused: no other host sees a node's.
func (refusals) Disks(context.Context, string) (hostlink.GuestDisks, error) {
	return hostlink.GuestDisks{}, notSupported("migration")
}

// Receive is refused with Disks.
func (refusals) Receive(context.Context, steps.ServerSpec, func(context.Context, string) error) error {
	return notSupported("migration")
}

// Depart is refused, and all that would follow it.
func (refusals) Depart(context.Context, string) (steps.Departure, error) {
	return steps.Departure{}, notSupported("live migration")
}

// Land is refused with Depart.
func (refusals) Land(context.Context, steps.ServerSpec, steps.Departure) (steps.Landing, error) {
	return steps.Landing{}, notSupported("live migration")
}

// Migrate is refused with Depart.
func (refusals) Migrate(context.Context, libvirt.Move, libvirt.Confirm) error {
	return notSupported("live migration")
}

// Complete is refused with Depart.
func (refusals) Complete(context.Context, string) error { return notSupported("live migration") }

// Landed finds nothing: no guest comes.
func (refusals) Landed(context.Context, string) (steps.LandedOut, error) {
	return steps.LandedOut{}, nil
}

// Swap is refused: a node has no volumes.
func (refusals) Swap(context.Context, string, libvirt.Swap, libvirt.Confirm) error {
	return notSupported("volumes")
}

// UndoSwap has nothing to take back.
func (refusals) UndoSwap(context.Context, string, string, libvirt.Confirm) error { return nil }

// Snapshot is refused: nobody but the instance reads a node's disk.
func (refusals) Snapshot(context.Context, string, string, libvirt.Confirm) (string, error) {
	return "", notSupported("snapshots")
}

// DropSnapshots has nothing to remove.
func (refusals) DropSnapshots(context.Context, string) error { return nil }

// Diagnostics is refused: nobody looks into a node.
func (refusals) Diagnostics(context.Context, string) (servers.Diagnostics, error) {
	return servers.Diagnostics{}, notSupported("diagnostics")
}

// Console is refused: what a node's console says is kept nowhere.
func (refusals) Console(context.Context, string, int) ([]byte, error) {
	return nil, notSupported("console log")
}
