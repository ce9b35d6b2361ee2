package domain

// What the guest's firmware says that the machine is. Guests find their metadata
// by it: cloud-init looks for these words.

import "libvirt.org/go/libvirtxml"

func smbios(p *Plan, _ Properties, d *libvirtxml.Domain) error {
	d.OS.SMBios = &libvirtxml.DomainSMBios{Mode: "sysinfo"}
	d.SysInfo = []libvirtxml.DomainSysInfo{{SMBIOS: &libvirtxml.DomainSysInfoSMBIOS{System: &libvirtxml.DomainSysInfoSystem{
		Entry: []libvirtxml.DomainSysInfoEntry{
			{Name: "manufacturer", Value: "OpenStack Foundation"},
			{Name: "product", Value: "OpenStack Nova"},
			{Name: "serial", Value: p.Spec.ServerID},
			{Name: "uuid", Value: p.Spec.ServerID},
			{Name: "family", Value: "Virtual Machine"},
		}}}}}
	return nil
}
