package domain

// NUMA: the guest's cells, the host's CPUs and pages that they lie on, and how its
// CPUs are scheduled there.

import (
	"slices"
	"strconv"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/numa"
)

// realtimePriority is that of CPUs that run before everything else
// (libvirt/realtime_scheduler_priority).
const realtimePriority = 1

func cells(p *Plan, _ Properties, d *libvirtxml.Domain) error {
	if p.Spec.NUMA == nil {
		d.VCPU.CPUSet = p.Shared.String()
		return nil
	}
	d.CPU.Numa = &libvirtxml.DomainNuma{}
	for i, c := range p.Spec.NUMA.Cells {
		id := uint(i)
		cell := libvirtxml.DomainCell{ID: &id, CPUs: c.CPUs.String(), Memory: uint(c.MemoryMB) << 10, Unit: "KiB"}
		if c.Huge {
			cell.MemAccess = "shared"
			backing(d).MemoryHugePages = withPages(backing(d).MemoryHugePages, c.PageKB, i)
		}
		d.CPU.Numa.Cell = append(d.CPU.Numa.Cell, cell)
	}
	tune(d, p.Spec.NUMA)
	return nil
}

// withPages adds pages for a cell of the guest.
func withPages(all *libvirtxml.DomainMemoryHugepages, sizeKB int64, cell int) *libvirtxml.DomainMemoryHugepages {
	if all == nil {
		all = &libvirtxml.DomainMemoryHugepages{}
	}
	all.Hugepages = append(all.Hugepages, libvirtxml.DomainMemoryHugepage{Size: uint(sizeKB), Unit: "KiB", Nodeset: strconv.Itoa(cell)})
	return all
}

func backing(d *libvirtxml.Domain) *libvirtxml.DomainMemoryBacking {
	if d.MemoryBacking == nil {
		d.MemoryBacking = &libvirtxml.DomainMemoryBacking{}
	}
	return d.MemoryBacking
}

// Moved gives the text of a domain as it is where it lies on these cells of another
// host; nil changes nothing.
func Moved(text string, on *numa.Placement) (string, error) {
	if on == nil {
		return text, nil
	}
	var d libvirtxml.Domain
	if err := d.Unmarshal(text); err != nil {
		return "", err
	}
	tune(&d, on)
	return d.Marshal()
}

// tune says on which CPUs and cells of a host the domain lies: what changes of it
// when it moves.
func tune(d *libvirtxml.Domain, on *numa.Placement) {
	if d.CPUTune == nil {
		d.CPUTune = &libvirtxml.DomainCPUTune{}
	}
	d.CPUTune.VCPUPin = nil
	d.NUMATune = &libvirtxml.DomainNUMATune{}
	var nodes, emulator numa.CPUs
	for i, c := range on.Cells {
		nodes = nodes.Or(numa.CPUs{c.Host})
		d.NUMATune.MemNodes = append(d.NUMATune.MemNodes,
			libvirtxml.DomainNUMATuneMemNode{CellID: uint(i), Mode: "strict", Nodeset: strconv.Itoa(c.Host)})
		var runs numa.CPUs
		for _, cpu := range c.CPUs {
			to := c.Floating
			if pinned, ok := c.Pinned[cpu]; ok {
				to = numa.CPUs{pinned}
			}
			d.CPUTune.VCPUPin = append(d.CPUTune.VCPUPin, libvirtxml.DomainCPUTuneVCPUPin{VCPU: uint(cpu), CPUSet: to.String()})
			runs = runs.Or(to)
		}
		emulator = emulator.Or(emulatorOf(c, on.EmulatorThreads, runs))
	}
	slices.SortFunc(d.CPUTune.VCPUPin, func(a, b libvirtxml.DomainCPUTuneVCPUPin) int { return int(a.VCPU) - int(b.VCPU) })
	d.CPUTune.EmulatorPin = &libvirtxml.DomainCPUTuneEmulatorPin{CPUSet: emulator.String()}
	d.NUMATune.Memory = &libvirtxml.DomainNUMATuneMemory{Mode: "strict", Nodeset: nodes.String()}
}

// emulatorOf are the CPUs of the emulator's threads for a cell: their own, those that
// guests share, or those that the cell runs on.
func emulatorOf(c numa.Placed, policy numa.EmulatorThreads, runs numa.CPUs) numa.CPUs {
	switch {
	case policy == numa.EmulatorIsolated:
		return c.Emulator
	case policy == numa.EmulatorShared && len(c.Floating) > 0:
		return c.Floating
	}
	return runs
}

// realtime has CPUs of the guest run before everything else, with memory that
// stays where it is.
func realtime(p *Plan, properties Properties, d *libvirtxml.Domain) error {
	cpus, err := numa.Realtime(properties.flavor, properties.image, p.Spec.VCPUs)
	if err != nil || cpus == nil || d.CPUTune == nil {
		return err
	}
	priority := realtimePriority
	d.CPUTune.VCPUSched = []libvirtxml.DomainCPUTuneVCPUSched{{VCPUs: cpus.String(), Scheduler: "fifo", Priority: &priority}}
	backing(d).MemoryLocked = &libvirtxml.DomainMemoryLocked{}
	backing(d).MemoryNosharepages = &libvirtxml.DomainMemoryNosharepages{}
	return nil
}
