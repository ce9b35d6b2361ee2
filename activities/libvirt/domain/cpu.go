package domain

// Virtual CPUs: how many, of which model, in which topology.

import (
	"cmp"
	"slices"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
)

// emulated is the model without KVM: any other costs the emulator time, or has
// features that it lacks.
const emulated = "qemu64"

func cpu(p *Plan, properties Properties, d *libvirtxml.Domain) error {
	d.VCPU = &libvirtxml.DomainVCPU{Placement: "static", Value: uint(p.Spec.VCPUs)}
	t, err := topologyOf(p.Spec.VCPUs, properties)
	if err != nil {
		return err
	}
	d.CPU = &libvirtxml.DomainCPU{Mode: "host-model", Match: "exact",
		Topology: &libvirtxml.DomainCPUTopology{Sockets: t.sockets, Cores: t.cores, Threads: t.threads}}
	if p.AMD {
		// An MSR of Intel's that KVM makes up on AMD, too, and then refuses the
		// value that QEMU gives it: the guest doesn't start.
		d.CPU.Features = []libvirtxml.DomainCPUFeature{{Policy: "disable", Name: "arch-capabilities"}}
	}
	if !p.KVM {
		d.CPU.Features = nil
		d.CPU.Mode, d.CPU.Model = "custom", &libvirtxml.DomainCPUModel{Fallback: "allow", Value: emulated}
	}
	return nil
}

// topology is how CPUs are arranged.
type topology struct{ sockets, cores, threads int }

// topologyOf chooses, of all arrangements within the limits, the one that comes
// nearest to what is preferred; many sockets where nothing is.
func topologyOf(vcpus int, properties Properties) (topology, error) {
	limit, err := readTopology(properties, "max_")
	if err != nil {
		return topology{}, err
	}
	want, err := readTopology(properties, "")
	if err != nil {
		return topology{}, err
	}
	limit = topology{cmp.Or(limit.sockets, vcpus), cmp.Or(limit.cores, vcpus), cmp.Or(limit.threads, vcpus)}
	var possible []topology
	for sockets := 1; sockets <= min(limit.sockets, vcpus); sockets++ {
		for cores := 1; cores <= min(limit.cores, vcpus/sockets); cores++ {
			threads := vcpus / (sockets * cores)
			if sockets*cores*threads == vcpus && threads <= limit.threads {
				possible = append(possible, topology{sockets, cores, threads})
			}
		}
	}
	if len(possible) == 0 {
		return topology{}, faults.New(faults.Invalid, "ImageVCPULimitsRangeImpossible",
			"Requested vCPU limits %d:%d:%d are impossible to satisfy for vcpus count %d", limit.sockets, limit.cores, limit.threads, vcpus)
	}
	return slices.MaxFunc(possible, func(a, b topology) int {
		return cmp.Or(cmp.Compare(a.score(want), b.score(want)), cmp.Compare(a.sockets, b.sockets), cmp.Compare(a.cores, b.cores))
	}), nil
}

func readTopology(properties Properties, limit string) (t topology, err error) {
	for name, field := range map[string]*int{"sockets": &t.sockets, "cores": &t.cores, "threads": &t.threads} {
		if *field, err = properties.number("hw:cpu_"+limit+name, "hw_cpu_"+limit+name); err != nil {
			return topology{}, err
		}
	}
	return t, nil
}

// score is how many of the wishes are met; 0 wishes nothing.
func (t topology) score(want topology) int {
	score := 0
	for _, pair := range [][2]int{{t.sockets, want.sockets}, {t.cores, want.cores}, {t.threads, want.threads}} {
		if pair[0] == pair[1] {
			score++
		}
	}
	return score
}
