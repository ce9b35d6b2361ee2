package simulated

import (
	"context"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/servers"
)

// Diagnostics tells of a guest that does nothing but run.
func (d *Driver) Diagnostics(_ context.Context, serverID string) (servers.Diagnostics, error) {
	f, err := d.folder(serverID)
	if err != nil {
		return servers.Diagnostics{}, err
	}
	have, err := f.domain()
	if err != nil {
		return servers.Diagnostics{}, err
	}
	if have == nil {
		return servers.Diagnostics{}, notFound(serverID)
	}
	said := servers.Diagnostics{PowerState: servers.PowerState(have.PowerState), Hypervisor: "simulated"}
	if have.PowerState != libvirt.Running {
		return said, nil
	}
	said.MemoryKB = int64(have.Spec.MemoryMB) << 10
	said.UsedKB = said.MemoryKB
	for i := range have.Spec.VCPUs {
		said.CPUs = append(said.CPUs, servers.CPUDiagnostics{ID: i})
	}
	for _, disk := range have.Spec.LocalDisks() {
		said.Disks = append(said.Disks, servers.DiskDiagnostics{Name: disk.Device})
	}
	for _, port := range have.Spec.Ports {
		said.NICs = append(said.NICs, servers.NICDiagnostics{MACAddress: port.MAC})
	}
	return said, nil
}
