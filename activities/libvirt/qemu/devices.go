package qemu

// Devices that come and go while the domain is there, running or not:
//
//	plug    plug.record  plug.device  plug.done
//	unplug  unplug.device  unplug.record  unplug.done
//
// The record has what the guest is made of at its next hard reboot, the domain's
// definition what it has at its next start, and QEMU what it has now.

import (
	"context"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

const (
	// unplugTries is how often a guest is asked to let go of a device, and
	// unplugPatience how long it is waited for each time (device_detach_attempts
	// and device_detach_timeout).
	unplugTries    = 8
	unplugPatience = 20 * time.Second
)

// Where a device is or is not: what QEMU has, and the definition.
const (
	live   = golibvirt.DomainAffectLive
	config = golibvirt.DomainAffectConfig
)

// Plug gives the guest a device.
func (d *Driver) Plug(ctx context.Context, serverID string, device libvirt.Device, confirm libvirt.Confirm) error {
	g, err := d.guest(serverID)
	if err != nil {
		return err
	}
	r, err := g.read()
	if err != nil {
		return err
	}
	r.Spec = device.Keep(r.Spec)
	return g.steps(ctx,
		subStep{"plug.record", func(context.Context) error {
			if err := confirm(); err != nil {
				return err
			}
			return g.write(r)
		}},
		subStep{"plug.device", func(ctx context.Context) error { return g.plugDevice(ctx, r.Spec, device, confirm) }},
		subStep{"plug.done", nil},
	)
}

// plugDevice plugs the device wherever it isn't yet. A domain that libvirt has
// lost gets it when it is defined anew.
func (g *guest) plugDevice(ctx context.Context, spec steps.ServerSpec, device libvirt.Device, confirm libvirt.Confirm) error {
	now, err := g.state(ctx)
	if err != nil || now.missing {
		return err
	}
	text, err := g.deviceXML(ctx, spec, device)
	if err != nil {
		return err
	}
	for _, where := range places(now) {
		if _, there, err := g.find(ctx, device.ID(), where); err != nil {
			return err
		} else if there != "" {
			continue
		}
		if err := confirm(); err != nil {
			return err
		}
		err := g.domain(ctx, startTime, "plug a device in", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) error {
			return rpc.DomainAttachDeviceFlags(dom, text, uint32(where))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// places are where a domain has devices: QEMU is first, since it may refuse.
func places(now state) []golibvirt.DomainModificationImpact {
	if now.active {
		return []golibvirt.DomainModificationImpact{live, config}
	}
	return []golibvirt.DomainModificationImpact{config}
}

// deviceXML writes the device, with its bridge made or its connection asked for.
func (g *guest) deviceXML(ctx context.Context, spec steps.ServerSpec, device libvirt.Device) (string, error) {
	alone := spec
	alone.Ports, alone.Volumes = nil, nil
	plan := domain.Plan{Spec: alone}
	if device.Port != nil {
		plan.Spec.Ports = []steps.Port{*device.Port}
		if err := plug(ctx, plan.Spec.Ports); err != nil {
			return "", err
		}
		return domain.DeviceXML(plan)
	}
	alone.Volumes = []steps.Volume{*device.Volume}
	disks, err := g.volumes(ctx, alone)
	if err != nil {
		return "", err
	}
	plan.Disks = disks
	return domain.DeviceXML(plan)
}

// find gives the device's name and XML as the domain has it; empty if it has not.
func (g *guest) find(ctx context.Context, id string, where golibvirt.DomainModificationImpact) (name, text string, err error) {
	whole, err := g.describe(ctx, as(where))
	if err != nil {
		return "", "", err
	}
	return domain.FindDevice(whole, id)
}

// as says which description of a domain has what is there.
func as(where golibvirt.DomainModificationImpact) golibvirt.DomainXMLFlags {
	if where == config {
		return golibvirt.DomainXMLInactive
	}
	return 0
}

// Unplug has the guest let go of a device.
func (d *Driver) Unplug(ctx context.Context, serverID, deviceID string, confirm libvirt.Confirm) error {
	g, err := d.guest(serverID)
	if err != nil {
		return err
	}
	r, err := g.read()
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return g.steps(ctx,
		subStep{"unplug.device", func(ctx context.Context) error { return g.unplugDevice(ctx, deviceID, confirm) }},
		subStep{"unplug.record", func(context.Context) error {
			if err := confirm(); err != nil {
				return err
			}
			r.Spec = libvirt.Drop(r.Spec, deviceID)
			return g.write(r)
		}},
		subStep{"unplug.done", nil},
	)
}

// unplugDevice takes the device out wherever it is: out of QEMU first, where the
// guest has a say.
func (g *guest) unplugDevice(ctx context.Context, id string, confirm libvirt.Confirm) error {
	now, err := g.state(ctx)
	if err != nil || now.missing {
		return err
	}
	for _, where := range places(now) {
		for try := 0; ; try++ {
			name, text, err := g.find(ctx, id, where)
			if err != nil {
				return err
			}
			if text == "" {
				break
			}
			if try == unplugTries {
				return faults.New(faults.Conflict, "DeviceDetachFailed",
					"Device detach failed for %s: Run out of retry while detaching device %s from instance %s from the live domain config. Device is still attached to the guest.",
					name, name, g.id)
			}
			if err := g.ask(ctx, text, where, confirm); err != nil {
				return err
			}
			if err := g.untilGone(ctx, id, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask tells the domain to let go of the device. QEMU refuses while the guest is
// still at it since it was last asked.
func (g *guest) ask(ctx context.Context, text string, where golibvirt.DomainModificationImpact, confirm libvirt.Confirm) error {
	if err := confirm(); err != nil {
		return err
	}
	err := g.domain(ctx, startTime, "take a device out", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) error {
		return rpc.DomainDetachDeviceFlags(dom, text, uint32(where))
	})
	if f := faults.As(err); err != nil && where == live && f.Code == "LibvirtError" {
		return nil
	}
	return err
}

// untilGone waits for the device to be gone, for as long as the guest has.
func (g *guest) untilGone(ctx context.Context, id string, where golibvirt.DomainModificationImpact) error {
	deadline := time.Now().Add(unplugPatience)
	for {
		_, text, err := g.find(ctx, id, where)
		if err != nil || text == "" || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(g.driver.poll):
		}
	}
}

// Plugged says whether the guest has the device: QEMU, or the definition of one
// that is off.
func (d *Driver) Plugged(ctx context.Context, serverID, deviceID string) (bool, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return false, err
	}
	now, err := g.state(ctx)
	if err != nil || now.missing {
		return false, err
	}
	_, text, err := g.find(ctx, deviceID, places(now)[0])
	return text != "", err
}
