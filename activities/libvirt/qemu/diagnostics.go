package qemu

// Diagnostics: what libvirt counts of a guest.

import (
	"context"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
)

// Diagnostics asks libvirt how a guest does. What libvirt doesn't count of a
// device is left at zero.
func (d *Driver) Diagnostics(ctx context.Context, serverID string) (servers.Diagnostics, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return servers.Diagnostics{}, err
	}
	now, err := g.state(ctx)
	if err != nil {
		return servers.Diagnostics{}, err
	}
	if now.missing {
		return servers.Diagnostics{}, notFound(serverID)
	}
	said := servers.Diagnostics{PowerState: servers.PowerState(now.power), Hypervisor: "qemu"}
	if d.kvm {
		said.Hypervisor = "kvm"
	}
	if now.power != libvirt.Running {
		return said, nil
	}
	err = g.domain(ctx, callTime, "read the guest's counters", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) error {
		return count(rpc, dom, &said)
	})
	return said, err
}

// count reads the counters of processors, memory, disks and interfaces.
func count(rpc *golibvirt.Libvirt, dom golibvirt.Domain, said *servers.Diagnostics) error {
	_, most, used, cpus, _, err := rpc.DomainGetInfo(dom)
	if err != nil {
		return err
	}
	said.MemoryKB, said.UsedKB = int64(most), int64(used)
	times, _, err := rpc.DomainGetVcpus(dom, int32(cpus), 0)
	if err != nil {
		return err
	}
	for _, cpu := range times {
		said.CPUs = append(said.CPUs, servers.CPUDiagnostics{ID: int(cpu.Number), Time: int64(cpu.CPUTime)})
	}
	text, err := rpc.DomainGetXMLDesc(dom, 0)
	if err != nil {
		return err
	}
	var shape libvirtxml.Domain
	if err := shape.Unmarshal(text); err != nil {
		return faults.Wrap(err, faults.Internal, "InvalidDomain", "the domain that libvirt gives can't be read")
	}
	if shape.Devices == nil {
		return nil
	}
	for _, disk := range shape.Devices.Disks {
		if disk.Target == nil {
			continue
		}
		on := servers.DiskDiagnostics{Name: disk.Target.Dev}
		if on.ReadRequests, on.ReadBytes, on.WriteRequests, on.WriteBytes, on.Errors, err = rpc.DomainBlockStats(dom, on.Name); err != nil {
			return err
		}
		said.Disks = append(said.Disks, on)
	}
	for _, nic := range shape.Devices.Interfaces {
		on := servers.NICDiagnostics{}
		if nic.MAC != nil {
			on.MACAddress = nic.MAC.Address
		}
		if nic.Target != nil && nic.Target.Dev != "" {
			on.Name = nic.Target.Dev
			in, out := &on.Received, &on.Sent
			in.Octets, in.Packets, in.Errors, in.Drops, out.Octets, out.Packets, out.Errors, out.Drops, err = rpc.DomainInterfaceStats(dom, on.Name)
			if err != nil {
				return err
			}
		}
		said.NICs = append(said.NICs, on)
	}
	return nil
}
