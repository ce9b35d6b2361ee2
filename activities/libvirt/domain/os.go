package domain

// What the guest boots, and the kind of machine it boots on.

import (
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
)

// Machine is the type that guests have whose image names none.
const Machine = "q35"

func bootFrom(p *Plan, properties Properties, d *libvirtxml.Domain) error {
	if arch, ok := properties.ofImage("hw_architecture"); ok && arch != "x86_64" {
		return faults.New(faults.Invalid, "InvalidArchitectureName", "Architecture name '%s' is not supported", arch)
	}
	machine := Machine
	if wanted, ok := properties.ofImage("hw_machine_type"); ok {
		if !strings.HasPrefix(wanted, "pc") && wanted != "q35" {
			return invalid("hw_machine_type", wanted, "a machine type of x86_64")
		}
		machine = wanted
	}
	d.OS = &libvirtxml.DomainOS{
		Type: &libvirtxml.DomainOSType{Arch: "x86_64", Machine: machine, Type: "hvm"},
	}
	if !slices.ContainsFunc(p.Disks, func(disk Disk) bool { return disk.Boots }) {
		d.OS.BootDevices = []libvirtxml.DomainBootDevice{{Dev: "hd"}}
	}
	menu, err := properties.flag("hw:boot_menu", "hw_boot_menu")
	if menu {
		d.OS.BootMenu = &libvirtxml.DomainBootMenu{Enable: "yes"}
	}
	return err
}

// features are what the guest's firmware and system may use.
func features(_ *Plan, properties Properties, d *libvirtxml.Domain) error {
	if d.Features == nil {
		d.Features = &libvirtxml.DomainFeatureList{}
	}
	d.Features.ACPI = &libvirtxml.DomainFeature{}
	d.Features.APIC = &libvirtxml.DomainFeatureAPIC{}
	d.Features.VMCoreInfo = &libvirtxml.DomainFeatureState{State: "on"}
	hide, err := properties.flag("hide_hypervisor_id", "img_hide_hypervisor_id")
	if err != nil {
		return err
	}
	if hide {
		d.Features.KVM = &libvirtxml.DomainFeatureKVM{Hidden: &libvirtxml.DomainFeatureState{State: "on"}}
	}
	if isWindows(properties) {
		on := &libvirtxml.DomainFeatureState{State: "on"}
		d.Features.HyperV = &libvirtxml.DomainFeatureHyperV{Relaxed: on, VAPIC: on, VPIndex: on, Synic: on,
			Spinlocks: &libvirtxml.DomainFeatureHyperVSpinlocks{DomainFeatureState: *on, Retries: 8191}}
	}
	return nil
}

// clock keeps UTC, and local time where os_type says that the guest expects it.
func clock(_ *Plan, properties Properties, d *libvirtxml.Domain) error {
	d.Clock = &libvirtxml.DomainClock{Offset: "utc", Timer: []libvirtxml.DomainTimer{
		{Name: "pit", TickPolicy: "delay"}, {Name: "rtc", TickPolicy: "catchup"}, {Name: "hpet", Present: "no"}}}
	if isWindows(properties) {
		d.Clock.Offset = "localtime"
		d.Clock.Timer = append(d.Clock.Timer, libvirtxml.DomainTimer{Name: "hypervclock", Present: "yes"})
	}
	return nil
}

func isWindows(properties Properties) bool {
	system, _ := properties.ofImage("os_type")
	return system == "windows"
}
