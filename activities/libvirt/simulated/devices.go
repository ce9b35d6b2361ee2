package simulated

// Devices that come and go: lines of the guest's spec.
//
//	plug    plug.device    plug.done
//	unplug  unplug.device  unplug.done

import (
	"context"
	"slices"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/steps"
)

// Plug gives the guest a device.
func (d *Driver) Plug(ctx context.Context, serverID string, device libvirt.Device, confirm libvirt.Confirm) error {
	run, err := d.run(serverID, nil)
	if err != nil {
		return err
	}
	act := func() error {
		have, err := run.folder.domain()
		switch {
		case err != nil:
			return err
		case have == nil:
			return notFound(serverID)
		case has(have.Spec, device.ID()):
			return nil
		}
		if err := confirm(); err != nil {
			return err
		}
		have.Spec = device.Keep(have.Spec)
		return run.folder.define(have)
	}
	return run.steps(ctx, subStep{"plug.device", act}, subStep{"plug.done", nil})
}

// Unplug takes a device out of the guest.
func (d *Driver) Unplug(ctx context.Context, serverID, deviceID string, confirm libvirt.Confirm) error {
	run, err := d.run(serverID, nil)
	if err != nil {
		return err
	}
	act := func() error {
		have, err := run.folder.domain()
		if err != nil || have == nil || !has(have.Spec, deviceID) {
			return err
		}
		if err := confirm(); err != nil {
			return err
		}
		have.Spec = libvirt.Drop(have.Spec, deviceID)
		return run.folder.define(have)
	}
	return run.steps(ctx, subStep{"unplug.device", act}, subStep{"unplug.done", nil})
}

// Plugged says whether the guest has the device.
func (d *Driver) Plugged(_ context.Context, serverID, deviceID string) (bool, error) {
	f, err := d.folder(serverID)
	if err != nil {
		return false, err
	}
	have, err := f.domain()
	return have != nil && has(have.Spec, deviceID), err
}

func has(spec steps.ServerSpec, id string) bool {
	return spec.Volume(id) != nil || slices.ContainsFunc(spec.Ports, func(p steps.Port) bool { return p.ID == id })
}
