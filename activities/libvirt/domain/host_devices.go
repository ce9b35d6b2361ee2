package domain

// Devices of the host that the guest has.

import (
	"fmt"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
)

func hostDevices(p *Plan, _ Properties, d *libvirtxml.Domain) error {
	for _, device := range p.Spec.Devices {
		var at [4]uint
		if _, err := fmt.Sscanf(device.Address, "%x:%x:%x.%x", &at[0], &at[1], &at[2], &at[3]); err != nil {
			return faults.Wrap(err, faults.Invalid, "PciDeviceWrongAddressFormat", "The PCI address %s has an incorrect format.", device.Address)
		}
		d.Devices.Hostdevs = append(d.Devices.Hostdevs, libvirtxml.DomainHostdev{Managed: "yes",
			SubsysPCI: &libvirtxml.DomainHostdevSubsysPCI{Source: &libvirtxml.DomainHostdevSubsysPCISource{
				Address: &libvirtxml.DomainAddressPCI{Domain: &at[0], Bus: &at[1], Slot: &at[2], Function: &at[3]}}}})
	}
	return nil
}
