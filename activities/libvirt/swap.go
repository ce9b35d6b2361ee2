package libvirt

// The steps of family "libvirt" that have a guest go on on another volume.

import (
	"context"

	"holdfast.dev/internal/steps"
)

// SwapDriver is a part of Driver.
type SwapDriver interface {
	// Swap copies the volume to the other one and has the guest go on on that, running
	// or not. A copy that an earlier call has begun goes on. It calls confirm before
	// it changes the guest. Errors: NotFound; Conflict, the guest is saved.
	Swap(ctx context.Context, serverID string, swap Swap, confirm Confirm) error
	// UndoSwap has the guest be on the volume that it had before it was to go on on that
	// one, with all that it has written since. A guest that is not there, or is another
	// host's, needs nothing. It calls confirm before it changes the guest.
	UndoSwap(ctx context.Context, serverID, from string, confirm Confirm) error
}

// Swap is what a guest has afterwards, and where the other volume is found.
type Swap struct {
	Volume steps.Volume
	To     string
}

// Swap is idempotent by the volume that the guest writes to: a copy under way is taken
// over, and a guest that has gone on is success.
func (a *Activities) Swap(ctx context.Context, in steps.SwapIn) (struct{}, error) {
	_, err := a.guest(ctx, in.Token, actDevice, func(ctx context.Context, confirm Confirm) (Guest, error) {
		return Guest{}, a.driver.Swap(ctx, in.Token.ServerID, Swap{Volume: in.Volume, To: in.To}, confirm)
	})
	return struct{}{}, err
}

// UndoSwap is idempotent by the same: a guest that is on the volume that it had is
// success.
func (a *Activities) UndoSwap(ctx context.Context, in steps.UndoSwapIn) (struct{}, error) {
	_, err := a.guest(ctx, in.Token, actDevice, func(ctx context.Context, confirm Confirm) (Guest, error) {
		return Guest{}, a.driver.UndoSwap(ctx, in.Token.ServerID, in.From, confirm)
	})
	return struct{}{}, err
}
