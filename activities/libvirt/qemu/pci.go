package qemu

// The devices on the host's PCI buses.

import (
	"fmt"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/pci"
)

// pciDevices asks libvirtd for them; none of one that doesn't know its host's.
func pciDevices(rpc *golibvirt.Libvirt) (all []pci.Device, err error) {
	found, _, err := rpc.ConnectListAllNodeDevices(1, uint32(golibvirt.ConnectListNodeDevicesCapPciDev))
	if err != nil {
		if isUnsupported(err) {
			err = nil
		}
		return nil, err
	}
	for _, d := range found {
		text, err := rpc.NodeDeviceGetXMLDesc(d.Name, 0)
		if isAnswer(err) {
			continue // it has gone since
		}
		if err != nil {
			return nil, err
		}
		var described libvirtxml.NodeDevice
		if err := described.Unmarshal(text); err != nil {
			return nil, err
		}
		if about := described.Capability.PCI; about != nil && pciAddress(about.Domain, about.Bus, about.Slot, about.Function) != "" {
			all = append(all, pciDevice(about))
		}
	}
	return all, nil
}

func pciDevice(about *libvirtxml.NodeDevicePCICapability) pci.Device {
	d := pci.Device{
		Address: pciAddress(about.Domain, about.Bus, about.Slot, about.Function),
		Vendor:  strings.TrimPrefix(about.Vendor.ID, "0x"), Product: strings.TrimPrefix(about.Product.ID, "0x"), Type: pci.Standard,
	}
	for _, can := range about.Capabilities {
		switch {
		case can.PhysFunction != nil:
			d.Type = pci.Virtual
			card := can.PhysFunction.Address
			d.Parent = pciAddress(card.Domain, card.Bus, card.Slot, card.Function)
		case can.VirtFunctions != nil && d.Type == pci.Standard:
			d.Type = pci.Physical
		}
	}
	if about.NUMA != nil && about.NUMA.Node >= 0 {
		d.Cell = &about.NUMA.Node
	}
	return d
}

// pciAddress is of the form 0000:81:00.1; empty if a part of it isn't said.
func pciAddress(domain, bus, slot, function *uint) string {
	if domain == nil || bus == nil || slot == nil || function == nil {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", *domain, *bus, *slot, *function)
}
