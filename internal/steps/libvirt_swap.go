package steps

// Family libvirt: a guest that goes on on another volume while it runs.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// SwapIn copies a volume of a guest to another one, and has the guest go on on that.
type SwapIn struct {
	Token Token `json:"token"`
	// Volume is what the guest has afterwards: by its id the volume that it has before.
	Volume Volume `json:"volume"`
	// To is the volume that it is copied to: how that is reached the host asks for
	// under this id.
	To string `json:"to"`
}

// UndoSwapIn has a guest be on the volume that it had before it was copied to another.
type UndoSwapIn struct {
	Token Token `json:"token"`
	// From is the volume that it is, or was to be, on.
	From string `json:"from"`
}

// VolumeSwaps are those of LibvirtActivities about volumes that are swapped.
type VolumeSwaps interface {
	// Swap takes over the copy that an earlier call has begun; a guest that is on the
	// new volume already is success. Errors: NotFound (no such guest, or it has no
	// such volume), Invalid, Conflict, Unavailable, Superseded.
	Swap(context.Context, SwapIn) (struct{}, error)
	// UndoSwap ends a copy, and copies back what the guest has written since. A guest
	// that is not there, or on its old volume, is success. Errors: Unavailable,
	// Superseded.
	UndoSwap(context.Context, UndoSwapIn) (struct{}, error)
}

var (
	libvirtSwap = define(Step{Name: "libvirt.Swap", Place: OnHost, StartToClose: 12 * time.Hour,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtUndoSwap = define(Step{Name: "libvirt.UndoSwap", Place: OnHost, StartToClose: 12 * time.Hour,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: undo})
)

// Swap has a guest go on on another volume.
func (libvirtSteps) Swap(ctx workflow.Context, host string, in SwapIn) error {
	_, err := call[struct{}](ctx, libvirtSwap, HostQueue(host), in)
	return err
}

// UndoSwap has it go on on the one that it had.
func (libvirtSteps) UndoSwap(ctx workflow.Context, host string, in UndoSwapIn) error {
	_, err := call[struct{}](ctx, libvirtUndoSwap, HostQueue(host), in)
	return err
}
