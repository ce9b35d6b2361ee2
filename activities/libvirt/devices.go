package libvirt

// The steps of family "libvirt" that are about one device.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Plug is idempotent by the device's id: one that the guest has is success.
func (a *Activities) Plug(ctx context.Context, in steps.PlugIn) (struct{}, error) {
	if (in.Volume == nil) == (in.Port == nil) {
		return struct{}{}, faults.New(faults.Invalid, "InvalidDevice", "one volume or one port can be plugged into server %s", in.Token.ServerID)
	}
	_, err := a.guest(ctx, in.Token, actDevice, func(ctx context.Context, confirm Confirm) (Guest, error) {
		return Guest{}, a.driver.Plug(ctx, in.Token.ServerID, Device{Volume: in.Volume, Port: in.Port}, confirm)
	})
	return struct{}{}, err
}

// Unplug is idempotent by the device's id: one that is gone already is success.
// To look neither waits for a turn nor raises the fence.
func (a *Activities) Unplug(ctx context.Context, in steps.UnplugIn) (out steps.UnplugOut, err error) {
	if in.Look {
		out.Left, err = a.driver.Plugged(ctx, in.Token.ServerID, in.ID)
		return out, err
	}
	_, err = a.guest(ctx, in.Token, actDevice, func(ctx context.Context, confirm Confirm) (Guest, error) {
		return Guest{}, a.driver.Unplug(ctx, in.Token.ServerID, in.ID, confirm)
	})
	out.Left = faults.Is(err, faults.Conflict)
	return out, err
}

// payDevice takes out of the guest a device that is owed, or gives it the volume back
// that a swap has taken. A newer owner may have been at work here since without
// touching the device, so the debt is paid under the token that the fence stands at.
func (a *Activities) payDevice(ctx context.Context, d Debt) error {
	t := d.token()
	stood, _, err := a.fences.condemned(d.ServerID)
	if err != nil {
		return err
	}
	if t.Older(stood) {
		t = stood
	}
	err = a.fences.Within(ctx, t, actDevice, func(ctx context.Context, confirm Confirm) error {
		if d.Kind == operations.EffectSwapped {
			return a.driver.UndoSwap(ctx, d.ServerID, d.Device, confirm)
		}
		return a.driver.Unplug(ctx, d.ServerID, d.Device, confirm)
	})
	return a.unlessVoid(ctx, d, err)
}
