package compute

// /os-hypervisors: hosts as what they are made of and what is used of them.

import (
	"context"
	"encoding/json"
	"net"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// hypervisorView is a host about to be shown as a hypervisor.
type hypervisorView struct {
	*compute.Host
	request *rest.Request
	api     *API
	// servers are those on it; nil if they aren't shown.
	servers []compute.ServerName
	about   inventory
	// uptime is what it says of itself; empty if it hasn't.
	uptime string
}

// reported is what a host reports of itself (internal/hosts).
type reported struct {
	Details inventory `json:"details"`
	Uptime  string    `json:"uptime"`
}

// inventory is what is read of a report's details.
type inventory struct {
	Type    string          `json:"hypervisor_type"`
	Version json.RawMessage `json:"hypervisor_version"`
	CPU     json.RawMessage `json:"cpu"`
}

// hypervisorField is one row of the table of fields.
type hypervisorField struct {
	name     string
	versions microversion.Range
	value    func(hypervisorView) any
}

var hypervisorBasics = []hypervisorField{
	{name: "id", value: func(v hypervisorView) any { return idFor(v.request, v.ID, v.Number) }},
	{name: "hypervisor_hostname", value: func(v hypervisorView) any { return v.Name }},
	{name: "state", value: func(v hypervisorView) any { return upWord(v.Up(v.api.HostDownAfter)) }},
	{name: "status", value: func(v hypervisorView) any { return enabledWord(v.Disabled) }},
	{name: "servers", versions: microversion.From(53), value: func(v hypervisorView) any { return v.shownServers() }},
}

// hypervisorDetails add what a host is made of; what is used of it is shown
// until 2.87.
var hypervisorDetails = append(hypervisorBasics[:len(hypervisorBasics):len(hypervisorBasics)], []hypervisorField{
	{name: "hypervisor_type", value: func(v hypervisorView) any { return v.about.Type }},
	{name: "hypervisor_version", value: func(v hypervisorView) any { return v.version() }},
	{name: "host_ip", value: func(v hypervisorView) any { return v.address() }},
	{name: "service", value: func(v hypervisorView) any {
		return map[string]any{"id": idFor(v.request, v.ID, v.Number), "host": v.Name, "disabled_reason": nullIfEmpty(v.DisabledReason)}
	}},
	{name: "cpu_info", versions: microversion.Until(27), value: func(v hypervisorView) any { return string(v.cpu()) }},
	{name: "cpu_info", versions: microversion.Between(28, 87), value: func(v hypervisorView) any { return v.cpu() }},
	{name: "vcpus", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.VCPUs }},
	{name: "vcpus_used", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.VCPUsUsed }},
	{name: "memory_mb", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.MemoryMB }},
	{name: "memory_mb_used", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.MemoryMBUsed + v.ReservedMemoryMB }},
	{name: "free_ram_mb", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.MemoryMB - v.MemoryMBUsed - v.ReservedMemoryMB }},
	{name: "local_gb", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.DiskGB }},
	{name: "local_gb_used", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.DiskGBUsed + v.ReservedDiskGB }},
	{name: "free_disk_gb", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.DiskGB - v.DiskGBUsed - v.ReservedDiskGB }},
	{name: "disk_available_least", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.DiskGB - v.DiskGBUsed - v.ReservedDiskGB }},
	{name: "running_vms", versions: microversion.Until(87), value: func(v hypervisorView) any { return v.Servers }},
	{name: "current_workload", versions: microversion.Until(87), value: func(hypervisorView) any { return 0 }},
	{name: "uptime", versions: microversion.From(88), value: func(v hypervisorView) any { return v.shownUptime() }},
}...)

func (v hypervisorView) show(fields []hypervisorField) map[string]any {
	shown := make(map[string]any, len(fields))
	for _, f := range fields {
		if !f.versions.Has(v.request.Version) {
			continue
		}
		if value := f.value(v); value != absent {
			shown[f.name] = value
		}
	}
	return shown
}

// shownServers leaves the field out where servers weren't asked for, and until
// 2.74 where there are none.
func (v hypervisorView) shownServers() any {
	if v.servers == nil || len(v.servers) == 0 && !v.request.Has(75) {
		return absent
	}
	return serverNames(v.servers)
}

func serverNames(servers []compute.ServerName) []map[string]string {
	shown := make([]map[string]string, len(servers))
	for i, s := range servers {
		shown[i] = map[string]string{"uuid": s.ID, "name": s.Name}
	}
	return shown
}

// shownUptime is null for a host that isn't heard of.
func (v hypervisorView) shownUptime() any {
	if !v.Up(v.api.HostDownAfter) {
		return nil
	}
	return nullIfEmpty(v.uptime)
}

func (v hypervisorView) version() any {
	if len(v.about.Version) == 0 {
		return 0
	}
	return v.about.Version
}

func (v hypervisorView) cpu() json.RawMessage {
	if len(v.about.CPU) == 0 {
		return json.RawMessage("{}")
	}
	return v.about.CPU
}

// address is where the host's link listens.
func (v hypervisorView) address() any {
	host, _, err := net.SplitHostPort(v.LinkAddress)
	if err != nil {
		return nil
	}
	return host
}

// hypervisorViews reads the servers of all hosts in one query, if they're shown.
func (a *API) hypervisorViews(r *rest.Request, hosts []*compute.Host, withServers bool) ([]hypervisorView, error) {
	ids := make([]string, len(hosts))
	for i, h := range hosts {
		ids[i] = h.ID
	}
	var on map[string][]compute.ServerName
	if withServers {
		var err error
		if on, err = compute.ServersOn(r.Context(), a.DB.Pool, ids...); err != nil {
			return nil, err
		}
	}
	views := make([]hypervisorView, len(hosts))
	for i, h := range hosts {
		views[i] = hypervisorView{Host: h, request: r, api: a}
		if withServers {
			views[i].servers = append([]compute.ServerName{}, on[h.ID]...)
		}
		if len(h.Inventory) > 0 {
			// A report of another shape says nothing that is shown.
			var report reported
			if json.Unmarshal(h.Inventory, &report) == nil {
				views[i].about, views[i].uptime = report.Details, report.Uptime
			}
		}
	}
	return views, nil
}

func (a *API) listHypervisors(r *rest.Request) (*rest.Response, error) {
	return a.hypervisorPage(r, "os-hypervisors", hypervisorBasics, compute.ListHosts)
}

func (a *API) listHypervisorsDetail(r *rest.Request) (*rest.Response, error) {
	return a.hypervisorPage(r, "os-hypervisors/detail", hypervisorDetails, compute.ListInventories)
}

// hypervisorPage shows these fields of the hosts that list gives.
func (a *API) hypervisorPage(r *rest.Request, path string, fields []hypervisorField,
	list func(context.Context, store.Queryer, compute.HostFilter) ([]*compute.Host, error)) (*rest.Response, error) {
	filter, err := a.hypervisorFilter(r)
	if err != nil {
		return nil, err
	}
	hosts, err := list(r.Context(), a.DB.Pool, filter)
	if err != nil {
		return nil, err
	}
	if filter.NamePart != "" && len(hosts) == 0 {
		return nil, noHypervisorMatches(filter.NamePart)
	}
	views, err := a.hypervisorViews(r, hosts, withServers(r))
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(views))
	for i, v := range views {
		shown[i] = v.show(fields)
	}
	body := map[string]any{"hypervisors": shown}
	if filter.Limit > 0 && len(hosts) > 0 {
		if links := nextLinks(r, path, len(hosts), filter.Limit, hosts[len(hosts)-1].ID); links != nil {
			body["hypervisors_links"] = links
		}
	}
	return rest.JSON(body), nil
}

// withServers: asked for from 2.53.
func withServers(r *rest.Request) bool {
	asked, _ := parseTruth(r.Query.Get("with_servers"))
	return r.Has(53) && asked
}

// hypervisorFilter reads the query: pages from 2.33, a part of the name from 2.53.
func (a *API) hypervisorFilter(r *rest.Request) (f compute.HostFilter, err error) {
	if r.Has(53) {
		f.NamePart = r.Query.Get("hypervisor_hostname_pattern")
	}
	if !r.Has(33) {
		return f, nil
	}
	if f.NamePart != "" && (r.Query.Has("limit") || r.Query.Has("marker")) {
		// The original has a better text for it, and loses it.
		return f, faults.New(faults.Invalid, "PagedPattern",
			"The server could not comply with the request since it is either malformed or otherwise incorrect.")
	}
	if f.Limit, err = pageSize(r.Query, a.MaxPageSize); err != nil {
		return f, err
	}
	marker := r.Query.Get("marker")
	if marker == "" {
		return f, nil
	}
	last, err := a.host(r, marker)
	if faults.Is(err, faults.NotFound) || faults.Is(err, faults.Invalid) {
		return f, faults.New(faults.Invalid, "MarkerNotFound", "marker [%s] not found", marker)
	}
	if err != nil {
		return f, err
	}
	f.Marker = last.Name
	return f, nil
}

func noHypervisorMatches(pattern string) error {
	return faults.New(faults.NotFound, "NoHypervisor", "No hypervisor matching '%s' could be found.", pattern)
}

// hypervisor finds the one that the path names.
func (a *API) hypervisor(r *rest.Request) (*compute.Host, error) {
	host, err := a.host(r, r.Param("id"))
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.NotFound, "HypervisorNotFound", "Hypervisor with ID '%s' could not be found.", r.Param("id"))
	}
	return host, err
}

func (a *API) showHypervisor(r *rest.Request) (*rest.Response, error) {
	host, err := a.hypervisor(r)
	if err != nil {
		return nil, err
	}
	views, err := a.hypervisorViews(r, []*compute.Host{host}, withServers(r))
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"hypervisor": views[0].show(hypervisorDetails)}), nil
}

// hypervisorUptime is for hosts that are up, until 2.87.
func (a *API) hypervisorUptime(r *rest.Request) (*rest.Response, error) {
	host, err := a.hypervisor(r)
	if err != nil {
		return nil, err
	}
	views, err := a.hypervisorViews(r, []*compute.Host{host}, false)
	if err != nil {
		return nil, err
	}
	switch up := views[0].shownUptime(); {
	case up != nil:
		shown := views[0].show(hypervisorBasics)
		shown["uptime"] = up
		return rest.JSON(map[string]any{"hypervisor": shown}), nil
	case !host.Up(a.HostDownAfter):
		return nil, faults.New(faults.Invalid, "ComputeServiceUnavailable", "Compute service of %s is unavailable at this time.", host.Name)
	}
	return nil, notSupported()
}

func (a *API) searchHypervisors(r *rest.Request) (*rest.Response, error) {
	return a.matchingHypervisors(r, false)
}

func (a *API) hypervisorServers(r *rest.Request) (*rest.Response, error) {
	return a.matchingHypervisors(r, true)
}

// matchingHypervisors answers those whose name has a part, as until 2.52.
func (a *API) matchingHypervisors(r *rest.Request, servers bool) (*rest.Response, error) {
	hosts, err := compute.ListHosts(r.Context(), a.DB.Pool, compute.HostFilter{NamePart: r.Param("id")})
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return nil, noHypervisorMatches(r.Param("id"))
	}
	views, err := a.hypervisorViews(r, hosts, servers)
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(views))
	for i, v := range views {
		shown[i] = v.show(hypervisorBasics)
		if len(v.servers) > 0 {
			shown[i]["servers"] = serverNames(v.servers)
		}
	}
	return rest.JSON(map[string]any{"hypervisors": shown}), nil
}

// hypervisorStatistics sums up all hosts, as until 2.87.
func (a *API) hypervisorStatistics(r *rest.Request) (*rest.Response, error) {
	hosts, err := compute.ListHosts(r.Context(), a.DB.Pool, compute.HostFilter{})
	if err != nil {
		return nil, err
	}
	sum := &compute.Host{}
	count := 0
	for _, h := range hosts {
		if h.Disabled {
			continue
		}
		count++
		sum.VCPUs, sum.VCPUsUsed, sum.Servers = sum.VCPUs+h.VCPUs, sum.VCPUsUsed+h.VCPUsUsed, sum.Servers+h.Servers
		sum.MemoryMB, sum.MemoryMBUsed = sum.MemoryMB+h.MemoryMB, sum.MemoryMBUsed+h.MemoryMBUsed+h.ReservedMemoryMB
		sum.DiskGB, sum.DiskGBUsed = sum.DiskGB+h.DiskGB, sum.DiskGBUsed+h.DiskGBUsed+h.ReservedDiskGB
	}
	return rest.JSON(map[string]any{"hypervisor_statistics": map[string]any{
		"count": count, "vcpus": sum.VCPUs, "vcpus_used": sum.VCPUsUsed, "running_vms": sum.Servers, "current_workload": 0,
		"memory_mb": sum.MemoryMB, "memory_mb_used": sum.MemoryMBUsed, "free_ram_mb": sum.MemoryMB - sum.MemoryMBUsed,
		"local_gb": sum.DiskGB, "local_gb_used": sum.DiskGBUsed, "free_disk_gb": sum.DiskGB - sum.DiskGBUsed,
		"disk_available_least": sum.DiskGB - sum.DiskGBUsed,
	}}), nil
}
