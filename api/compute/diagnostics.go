package compute

// GET /servers/{server_id}/diagnostics: how a guest does, asked of its host.

import (
	"fmt"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

const policyDiagnostics = "os_compute_api:os-server-diagnostics"

// showDiagnostics has one form for all hypervisors from 2.48 on, and libvirt's
// own before.
func (a *API) showDiagnostics(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, policyDiagnostics)
	if err != nil {
		return nil, err
	}
	if err := (precondition{host: true}).check(r, server); err != nil {
		return nil, err
	}
	host, err := compute.GetHost(r.Context(), a.DB.Pool, server.HostID)
	if err != nil {
		return nil, err
	}
	said, err := a.Consoles.Diagnostics(r.Context(), host.ID, host.LinkAddress, server.ID)
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.NotFound, "InstanceNotFound", "Instance %s could not be found.", server.ID)
	}
	if unserved(err) {
		return nil, notSupported()
	}
	if err != nil {
		return nil, err
	}
	if said.PowerState != servers.PowerRunning {
		return nil, precondition{name: "get_diagnostics"}.conflict(server, "power state", said.PowerState.Word())
	}
	if r.Has(48) {
		return rest.JSON(diagnosticsOf(server, said)), nil
	}
	return rest.JSON(countersOf(said)), nil
}

// diagnosticsOf is the form since 2.48; what nobody knows is null.
func diagnosticsOf(server *compute.Server, said servers.Diagnostics) map[string]any {
	cpus, disks, nics := []map[string]any{}, []map[string]any{}, []map[string]any{}
	for _, cpu := range said.CPUs {
		cpus = append(cpus, map[string]any{"id": cpu.ID, "time": cpu.Time, "utilisation": nil})
	}
	for _, d := range said.Disks {
		disks = append(disks, map[string]any{"read_bytes": d.ReadBytes, "read_requests": d.ReadRequests,
			"write_bytes": d.WriteBytes, "write_requests": d.WriteRequests, "errors_count": d.Errors})
	}
	for _, n := range said.NICs {
		nics = append(nics, map[string]any{"mac_address": nullIfEmpty(n.MACAddress),
			"rx_octets": n.Received.Octets, "rx_packets": n.Received.Packets, "rx_errors": n.Received.Errors, "rx_drop": n.Received.Drops, "rx_rate": nil,
			"tx_octets": n.Sent.Octets, "tx_packets": n.Sent.Packets, "tx_errors": n.Sent.Errors, "tx_drop": n.Sent.Drops, "tx_rate": nil})
	}
	var uptime any
	if server.LaunchedAt != nil {
		uptime = int64(time.Since(*server.LaunchedAt) / time.Second)
	}
	return map[string]any{
		"state": said.PowerState.Word(), "driver": "libvirt", "hypervisor": nullIfEmpty(said.Hypervisor), "hypervisor_os": "linux",
		"uptime": uptime, "config_drive": server.ConfigDrive,
		"memory_details": map[string]any{"maximum": said.MemoryKB >> 10, "used": said.UsedKB >> 10},
		"num_cpus":       len(cpus), "num_disks": len(disks), "num_nics": len(nics),
		"cpu_details": cpus, "disk_details": disks, "nic_details": nics,
	}
}

// countersOf is the form before: a counter a key.
func countersOf(said servers.Diagnostics) map[string]any {
	shown := map[string]any{"memory": said.MemoryKB, "memory-actual": said.UsedKB}
	for _, cpu := range said.CPUs {
		shown[fmt.Sprintf("cpu%d_time", cpu.ID)] = cpu.Time
	}
	for _, d := range said.Disks {
		for counter, n := range map[string]int64{"_read_req": d.ReadRequests, "_read": d.ReadBytes, "_write_req": d.WriteRequests, "_write": d.WriteBytes, "_errors": d.Errors} {
			shown[d.Name+counter] = n
		}
	}
	for _, n := range said.NICs {
		for way, t := range map[string]servers.Traffic{"_rx": n.Received, "_tx": n.Sent} {
			for counter, value := range map[string]int64{"": t.Octets, "_packets": t.Packets, "_errors": t.Errors, "_drop": t.Drops} {
				shown[n.Name+way+counter] = value
			}
		}
	}
	return shown
}
