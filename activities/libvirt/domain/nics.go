package domain

// Network interfaces: a tap on a bridge for each port.

import (
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// TapName is the name of a port's device on the host, as Neutron's agents look
// for it: "tap" and the first 11 characters of the port's id.
func TapName(portID string) string { return "tap" + portID[:min(11, len(portID))] }

func nics(p *Plan, properties Properties, d *libvirtxml.Domain) error {
	model, err := properties.oneOf("hw_vif_model", "virtio", vifModels...)
	if err != nil {
		return err
	}
	queues, err := properties.flag("hw:vif_multiqueue_enabled", "hw_vif_multiqueue_enabled")
	if err != nil {
		return err
	}
	for _, port := range p.Spec.Ports {
		nic, err := nicOf(port, model)
		if err != nil {
			return err
		}
		if queues && nic.Model.Type == "virtio" && p.Spec.VCPUs > 1 {
			nic.Driver = &libvirtxml.DomainInterfaceDriver{Name: "vhost", Queues: uint(min(p.Spec.VCPUs, maxQueues))}
		}
		d.Devices.Interfaces = append(d.Devices.Interfaces, nic)
	}
	return nil
}

var vifModels = []string{"virtio", "e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139", "vmxnet3"}

// maxQueues is how many a tap has in Linux.
const maxQueues = 256

func nicOf(port steps.Port, model string) (libvirtxml.DomainInterface, error) {
	if port.VIFType != "bridge" {
		return libvirtxml.DomainInterface{}, faults.New(faults.Invalid, "VirtualInterfacePlugException",
			"Virtual interface plugin failed: a host can't plug vif_type %q of port %s", port.VIFType, port.ID)
	}
	if port.Model != "" {
		model = port.Model
	}
	nic := libvirtxml.DomainInterface{
		MAC:    &libvirtxml.DomainInterfaceMAC{Address: port.MAC},
		Source: &libvirtxml.DomainInterfaceSource{Bridge: &libvirtxml.DomainInterfaceSourceBridge{Bridge: port.Bridge}},
		Target: &libvirtxml.DomainInterfaceTarget{Dev: TapName(port.ID)},
		Model:  &libvirtxml.DomainInterfaceModel{Type: model},
	}
	if port.MTU > 0 {
		nic.MTU = &libvirtxml.DomainInterfaceMTU{Size: uint(port.MTU)}
	}
	return nic, nil
}
