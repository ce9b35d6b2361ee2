package compute

// Operations that the original had once (contracts/compute/operations.json,
// removed_410): whoever asks for one is told that it is gone.

import "holdfast.dev/api/rest"

// gone is a path, or an action on it, and the methods it had.
type gone struct {
	path, action string
	methods      []string
}

var goneOperations = []gone{
	{"/os-agents", "", []string{"GET", "POST"}},
	{"/os-agents/{id}", "", []string{"PUT", "DELETE"}},
	{"/os-cells", "", []string{"POST", "GET"}},
	{"/os-cells/capacities", "", []string{"GET"}},
	{"/os-cells/detail", "", []string{"GET"}},
	{"/os-cells/info", "", []string{"GET"}},
	{"/os-cells/sync_instances", "", []string{"POST"}},
	{"/os-cells/{id}", "", []string{"GET", "PUT", "DELETE"}},
	{"/os-cells/{id}/capacities", "", []string{"GET"}},
	{"/os-certificates", "", []string{"POST"}},
	{"/os-certificates/{id}", "", []string{"GET"}},
	{"/os-cloudpipe", "", []string{"GET", "POST"}},
	{"/os-cloudpipe/{id}", "", []string{"PUT"}},
	{"/os-fixed-ips/{id}", "", []string{"GET"}},
	{"/os-fixed-ips/{id}/action", "reserve", []string{"POST"}},
	{"/os-fixed-ips/{id}/action", "unreserve", []string{"POST"}},
	{"/os-floating-ip-dns", "", []string{"GET"}},
	{"/os-floating-ip-dns/{id}", "", []string{"PUT", "DELETE"}},
	{"/os-floating-ip-dns/{domain_id}/entries/{id}", "", []string{"GET", "PUT", "DELETE"}},
	{"/os-floating-ips-bulk", "", []string{"GET", "POST"}},
	{"/os-floating-ips-bulk/{id}", "", []string{"GET", "PUT"}},
	{"/os-fping", "", []string{"GET"}},
	{"/os-fping/{id}", "", []string{"GET"}},
	{"/os-networks", "", []string{"POST"}},
	{"/os-networks/add", "", []string{"POST"}},
	{"/os-networks/{id}", "", []string{"DELETE"}},
	{"/os-networks/{id}/action", "associate_host", []string{"POST"}},
	{"/os-networks/{id}/action", "disassociate", []string{"POST"}},
	{"/os-networks/{id}/action", "disassociate_host", []string{"POST"}},
	{"/os-networks/{id}/action", "disassociate_project", []string{"POST"}},
	{"/os-security-group-default-rules", "", []string{"GET", "POST"}},
	{"/os-security-group-default-rules/{id}", "", []string{"GET", "DELETE"}},
	{"/os-tenant-networks", "", []string{"POST"}},
	{"/os-tenant-networks/{id}", "", []string{"DELETE"}},
	{"/servers/{id}/action", "resetNetwork", []string{"POST"}},
	{"/servers/{server_id}/consoles", "", []string{"GET", "POST"}},
	{"/servers/{server_id}/consoles/{id}", "", []string{"GET", "DELETE"}},
	{"/servers/{server_id}/os-virtual-interfaces", "", []string{"GET"}},
}

func removedOperations() []rest.Operation {
	var rows []rest.Operation
	for _, g := range goneOperations {
		for _, method := range g.methods {
			rows = append(rows, rest.Operation{Method: method, Path: g.path, Action: g.action, Removed: true})
		}
	}
	return rows
}
