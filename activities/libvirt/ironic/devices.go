package ironic

// Devices: ports can be had and given up while the instance runs, volumes can't.

import (
	"context"
	"slices"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// Plug has the node bear the port.
func (d *Driver) Plug(ctx context.Context, serverID string, device libvirt.Device, confirm libvirt.Confirm) error {
	if device.Port == nil {
		return notSupported("volumes")
	}
	if _, err := d.guest(ctx, serverID); err != nil {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	return d.wire(ctx, []steps.Port{*device.Port})
}

// Unplug has it bear the port no longer.
func (d *Driver) Unplug(ctx context.Context, serverID, deviceID string, confirm libvirt.Confirm) error {
	has, err := d.Plugged(ctx, serverID, deviceID)
	if err != nil || !has {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	return d.unwire(ctx, deviceID)
}

// Plugged says whether it bears the port.
func (d *Driver) Plugged(ctx context.Context, serverID, deviceID string) (bool, error) {
	_, err := d.guest(ctx, serverID)
	if faults.Is(err, faults.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	has, err := d.vifs(ctx)
	return slices.Contains(has, deviceID), err
}
