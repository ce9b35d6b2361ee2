package domain

// Memory, and the balloon that tells how much of it is used.

import "libvirt.org/go/libvirtxml"

// balloonPeriod is the seconds between two looks at the guest's own numbers
// (libvirt/mem_stats_period_seconds).
const balloonPeriod = 10

func memory(p *Plan, _ Properties, d *libvirtxml.Domain) error {
	d.Memory = &libvirtxml.DomainMemory{Value: uint(p.Spec.MemoryMB), Unit: "MiB"}
	d.Devices.MemBalloon = &libvirtxml.DomainMemBalloon{Model: "virtio", Stats: &libvirtxml.DomainMemBalloonStats{Period: balloonPeriod}}
	return nil
}
