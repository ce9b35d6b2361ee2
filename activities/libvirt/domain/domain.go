package domain

// The whole domain, from its concerns.

import (
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

// Plan is what a domain is made from.
type Plan struct {
	Spec steps.ServerSpec
	// KVM says that the host has it; guests are emulated otherwise.
	KVM bool
	// Shared are the CPUs on which guests float that lie on no NUMA cell; empty is all.
	Shared numa.CPUs
	// AMD says that the host's processors are AMD's; it matters with KVM only.
	AMD bool
	// Disks are in the order in which the guest sees them.
	Disks []Disk
	// ConsoleLog is the file that keeps what the guest writes to its serial port.
	ConsoleLog string
}

// concerns set their part of the domain, in this order.
var concerns = []func(*Plan, Properties, *libvirtxml.Domain) error{
	memory, cpu, cells, realtime, bootFrom, firmware, smbios, features, clock, disks, nics, hostDevices, hotplug, console, video, rng, metadata,
}

// XML writes the domain. Errors: Invalid, the flavor or the image asks for what
// can't be.
func XML(p Plan) (string, error) {
	d := &libvirtxml.Domain{
		Type:    p.virtType(),
		Name:    servers.InstanceName(p.Spec.ServerID),
		UUID:    p.Spec.ServerID,
		Devices: &libvirtxml.DomainDeviceList{},
		// A guest that powers off or crashes stays, so that its state is seen.
		OnPoweroff: "destroy", OnReboot: "restart", OnCrash: "destroy",
	}
	properties := Properties{image: p.Spec.ImageProperties, flavor: p.Spec.ExtraSpecs}
	for _, concern := range concerns {
		if err := concern(&p, properties, d); err != nil {
			return "", err
		}
	}
	text, err := d.Marshal()
	if err != nil {
		return "", faults.Wrap(err, faults.Invalid, "InvalidDomain", "the domain of server %s can't be written", p.Spec.ServerID)
	}
	return text, nil
}

func (p *Plan) virtType() string {
	if p.KVM {
		return "kvm"
	}
	return "qemu"
}
