package domain

// One device by itself, as it is plugged into a domain that is there, and how it
// is found again.

import (
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
)

// DeviceXML writes the only disk, or the only port, of a plan. Errors: Invalid.
func DeviceXML(p Plan) (text string, err error) {
	d := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{}}
	properties := Properties{image: p.Spec.ImageProperties, flavor: p.Spec.ExtraSpecs}
	for _, concern := range []func(*Plan, Properties, *libvirtxml.Domain) error{disks, nics} {
		if err := concern(&p, properties, d); err != nil {
			return "", err
		}
	}
	for _, disk := range d.Devices.Disks {
		text, err = disk.Marshal()
	}
	for _, nic := range d.Devices.Interfaces {
		text, err = nic.Marshal()
	}
	if err != nil {
		return "", faults.Wrap(err, faults.Invalid, "InvalidDevice", "a device of server %s can't be written", p.Spec.ServerID)
	}
	return text, nil
}

// FindDevice finds a volume's disk, or a port's interface, in a domain's XML and
// writes it as libvirt has it; empty if it is not there.
func FindDevice(domainXML, id string) (name, text string, err error) {
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal(domainXML); err != nil {
		return "", "", faults.Wrap(err, faults.Unavailable, "InvalidDomain", "a domain can't be read")
	}
	if d.Devices == nil {
		return "", "", nil
	}
	i := slices.IndexFunc(d.Devices.Disks, func(x libvirtxml.DomainDisk) bool { return x.Serial == id })
	n := slices.IndexFunc(d.Devices.Interfaces, func(x libvirtxml.DomainInterface) bool { return x.Target != nil && x.Target.Dev == TapName(id) })
	switch {
	case i >= 0:
		disk := d.Devices.Disks[i]
		if disk.Target != nil {
			name = disk.Target.Dev
		}
		text, err = disk.Marshal()
	case n >= 0:
		name = TapName(id)
		text, err = d.Devices.Interfaces[n].Marshal()
	}
	if err != nil {
		return "", "", faults.Wrap(err, faults.Unavailable, "InvalidDomain", "a device of a domain can't be written")
	}
	return name, text, nil
}

// rootPorts is how many PCI Express devices a machine has room for, those that
// come later included: each takes a port of its own, and none can be added while
// the machine runs (num_pcie_ports allows up to 28).
const rootPorts = 28

// hotplug gives the machine room for devices that come while it runs; one with a
// plain PCI bus has that.
func hotplug(_ *Plan, _ Properties, d *libvirtxml.Domain) error {
	if !strings.Contains(d.OS.Type.Machine, "q35") {
		return nil
	}
	root := uint(0)
	d.Devices.Controllers = append(d.Devices.Controllers, libvirtxml.DomainController{Type: "pci", Index: &root, Model: "pcie-root"})
	for i := range uint(rootPorts) {
		index := i + 1
		d.Devices.Controllers = append(d.Devices.Controllers, libvirtxml.DomainController{Type: "pci", Index: &index, Model: "pcie-root-port"})
	}
	return nil
}
