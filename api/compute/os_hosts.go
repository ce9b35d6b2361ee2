package compute

// /os-hosts, until 2.42: hosts by name, as the services that run on them and as
// what is used of them by project.

import (
	"net/http"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// hostsRule begins the names of their policies.
const hostsRule = "os_compute_api:os-hosts:"

// untilHosts are the versions that have them.
var untilHosts = microversion.Until(42)

// listHostServices lists what is enabled, of one zone if the request names one.
func (a *API) listHostServices(r *rest.Request) (*rest.Response, error) {
	services, err := compute.ListServices(r.Context(), a.DB.Pool, "", "")
	if err != nil {
		return nil, err
	}
	shown, zone := []map[string]string{}, r.Query.Get("zone")
	for _, s := range services {
		if !s.Disabled && (zone == "" || zone == s.Zone) {
			shown = append(shown, map[string]string{"host_name": s.Host, "service": strings.TrimPrefix(s.Binary, "nova-"), "zone": s.Zone})
		}
	}
	return rest.JSON(map[string]any{"hosts": shown}), nil
}

// hostUse is a row of what a host has, or of what somebody has of it.
type hostUse struct {
	Host     string `json:"host"`
	Project  string `json:"project"`
	VCPUs    int    `json:"cpu"`
	MemoryMB int64  `json:"memory_mb"`
	DiskGB   int64  `json:"disk_gb"`
}

// showHostUse shows what there is, what is taken, what servers have together, and
// what those of each project have.
func (a *API) showHostUse(r *rest.Request) (*rest.Response, error) {
	host, err := a.hostNamed(r, r.Param("id"))
	if err != nil {
		return nil, err
	}
	projects, err := compute.UseOf(r.Context(), a.DB.Pool, host.ID)
	if err != nil {
		return nil, err
	}
	servers := hostUse{Host: host.Name, Project: "(used_max)"}
	var each []hostUse
	for _, p := range projects {
		servers.VCPUs, servers.MemoryMB, servers.DiskGB = servers.VCPUs+p.VCPUs, servers.MemoryMB+p.MemoryMB, servers.DiskGB+p.DiskGB
		each = append(each, hostUse{host.Name, p.ProjectID, p.VCPUs, p.MemoryMB, p.DiskGB})
	}
	rows := append([]hostUse{
		{host.Name, "(total)", host.VCPUs, host.MemoryMB, host.DiskGB},
		{host.Name, "(used_now)", host.VCPUsUsed, host.MemoryMBUsed + host.ReservedMemoryMB, host.DiskGBUsed + host.ReservedDiskGB},
		servers,
	}, each...)
	shown := make([]map[string]hostUse, len(rows))
	for i, row := range rows {
		shown[i] = map[string]hostUse{"resource": row}
	}
	return rest.JSON(map[string]any{"host": shown}), nil
}

// updateHostByName takes a host out of scheduling or puts it back. No host has a
// maintenance mode, so that one is never in it and can't be put there.
func (a *API) updateHostByName(r *rest.Request) (*rest.Response, error) {
	asked, err := readWhole[struct {
		Status      *string `json:"status"`
		Maintenance *string `json:"maintenance_mode"`
	}](r)
	if err != nil {
		return nil, err
	}
	host, err := a.hostNamed(r, r.Param("id"))
	if err != nil {
		return nil, err
	}
	shown := map[string]any{"host": host.Name}
	if asked.Maintenance != nil {
		if strings.EqualFold(*asked.Maintenance, "enable") {
			return nil, notSupported()
		}
		shown["maintenance_mode"] = "off_maintenance"
	}
	if asked.Status != nil {
		disabled := strings.EqualFold(*asked.Status, "disable")
		if err := a.DB.InTx(r.Context(), func(tx store.Tx) error { return compute.SetHostDisabled(r.Context(), tx, host.ID, disabled, "") }); err != nil {
			return nil, err
		}
		shown["status"] = enabledWord(disabled)
	}
	return rest.JSON(shown), nil
}

// powerHost refuses to turn a host on or off: no hypervisor here does that.
func (a *API) powerHost(r *rest.Request) (*rest.Response, error) {
	if _, err := a.hostNamed(r, r.Param("id")); err != nil {
		return nil, err
	}
	return nil, notSupported()
}

func notSupported() error {
	return rest.NewFault(http.StatusNotImplemented, "The requested functionality is not supported.")
}
