package libvirt

// Rebuild: a guest's disks are made anew.

import (
	"context"

	"holdfast.dev/internal/steps"
)

// PrepareImage is idempotent by the image's hash, by which the host keeps it.
func (a *Activities) PrepareImage(ctx context.Context, in steps.PrepareImageIn) (struct{}, error) {
	if _, err := weigh(in.Token, in.Spec); err != nil {
		return struct{}{}, err
	}
	_, err := a.slotted(ctx, a.builds, in.Token, actPower, func(ctx context.Context, _ Confirm) (Guest, error) {
		return Guest{}, a.driver.PrepareImage(ctx, in.Spec)
	})
	return struct{}{}, err
}

// Rebuild is idempotent by the operation that it is done for, which is kept with
// the guest: what has been made under it stays.
func (a *Activities) Rebuild(ctx context.Context, in steps.RebuildIn) (steps.PowerOut, error) {
	data, err := weigh(in.Token, in.Spec)
	if err != nil {
		return steps.PowerOut{}, err
	}
	guest, err := a.slotted(ctx, a.builds, in.Token, actBuild, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := a.specs.keep(data, in.Spec.ServerID); err != nil {
			return Guest{}, err
		}
		return a.driver.Rebuild(ctx, in, mark(in.Token), confirm)
	})
	return steps.PowerOut{PowerState: guest.shown()}, err
}
