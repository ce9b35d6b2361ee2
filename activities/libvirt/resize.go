package libvirt

// Resize: a guest that stood still is made of disks that are there.

import (
	"context"

	"holdfast.dev/internal/steps"
)

// ResizeDriver is what of a Driver is about guests in another size, or on another
// host.
type ResizeDriver interface {
	// Resize makes the guest of the spec on the disks that it has, which grow to
	// what that says, and starts it, unless in.Off. With in.Aside it keeps what the
	// guest was made of, once for a mark, and makes copies of the disks.
	// steps.PowerKeepResize and steps.PowerUndoResize end that. It calls confirm
	// before it changes anything. A guest that runs is left as it is. Errors:
	// NotFound.
	Resize(ctx context.Context, in steps.ResizeIn, mark string, confirm Confirm) (Guest, error)
}

// Resize is idempotent by the guest's state, and by the operation that its disks
// were set aside for, which is kept with it.
func (a *Activities) Resize(ctx context.Context, in steps.ResizeIn) (steps.PowerOut, error) {
	data, err := weigh(in.Token, in.Spec)
	if err != nil {
		return steps.PowerOut{}, err
	}
	guest, err := a.slotted(ctx, a.builds, in.Token, actBuild, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := a.specs.keep(data, in.Spec.ServerID); err != nil {
			return Guest{}, err
		}
		return a.driver.Resize(ctx, in, mark(in.Token), confirm)
	})
	return steps.PowerOut{PowerState: guest.shown()}, err
}
