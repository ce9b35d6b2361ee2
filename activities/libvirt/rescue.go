package libvirt

// Rescue: a guest is made to run from another image.

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Rescue is idempotent by the guest's state: what is made of the rescue already
// stays, and a guest that runs from the image is the answer. PowerUndoRescue
// takes back whatever it has come to.
func (a *Activities) Rescue(ctx context.Context, in steps.RescueIn) (steps.PowerOut, error) {
	if data, err := json.Marshal(in.Rescue); err != nil || len(data) > maxSpec {
		return steps.PowerOut{}, faults.New(faults.Invalid, "SpecTooLarge", "the properties of image %s take more than %d bytes", in.Rescue.ImageID, maxSpec)
	}
	guest, err := a.guest(ctx, in.Token, actPower, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := a.builds.Acquire(ctx, 1); err != nil {
			return Guest{}, err
		}
		defer a.builds.Release(1)
		return a.driver.Rescue(ctx, in.Token.ServerID, in.Rescue, confirm)
	})
	return steps.PowerOut{PowerState: guest.PowerState}, err
}

// undone are the changes of a guest's power that debts ask for.
var undone = map[operations.EffectKind]steps.PowerAction{
	operations.EffectRescue:  steps.PowerUndoRescue,
	operations.EffectHalt:    steps.PowerStart,
	operations.EffectStarted: steps.PowerForceStop,
	operations.EffectResized: steps.PowerUndoResize,
	operations.EffectAside:   steps.PowerKeepResize,
}

// putBack pays the debt of a change of power; of a guest that is gone there is none.
func (a *Activities) putBack(ctx context.Context, t steps.Token, undo steps.PowerAction, confirm Confirm) error {
	_, err := a.driver.Power(ctx, t.ServerID, undo, mark(t), confirm)
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	return err
}
