package network

// What the service says of itself.

import (
	"net/http"

	"holdfast.dev/dev/companions/service"
)

// zone is the only availability zone.
const zone = "nova"

func (s *Service) versions(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
	return service.JSON(w, http.StatusOK, map[string]any{"versions": []any{map[string]any{
		"id": "v2.0", "status": "CURRENT", "links": []any{map[string]any{"rel": "self", "href": service.BaseURL(r) + "/v2.0/"}}}}})
}

// version lists the collections, as Neutron's root of v2.0 does.
func (s *Service) version(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
	resources := []any{}
	for _, k := range kinds {
		resources = append(resources, map[string]any{"name": k.name, "collection": k.path(),
			"links": []any{map[string]any{"rel": "self", "href": service.BaseURL(r) + "/v2.0/" + k.path()}}})
	}
	return service.JSON(w, http.StatusOK, map[string]any{"resources": resources})
}

// extensions are those that are behaved, by alias and name.
var extensions = []struct{ alias, name, about string }{
	{"agent", "agent", "The agent management extension."},
	{"allowed-address-pairs", "Allowed Address Pairs", "Provides allowed address pairs"},
	{"auto-allocated-topology", "Auto Allocated Topology Services", "Auto Allocated Topology Services."},
	{"availability_zone", "Availability Zone", "The availability zone extension."},
	{"binding", "Port Binding", "Expose port bindings of a virtual port to external application"},
	{"binding-extended", "Port Bindings Extended", "Expose port bindings of a virtual port to external application"},
	{"dns-integration", "DNS Integration", "Provides integration with DNS."},
	{"external-net", "Neutron external network", "Adds external network attribute to network resource."},
	{"extra_dhcp_opt", "Neutron Extra DHCP options", "Extra options configuration for DHCP."},
	{"ext-gw-mode", "Neutron L3 Configurable external gateway mode", "Extension of the router abstraction for specifying whether SNAT should occur on the external gateway"},
	{"filter-validation", "Filter parameters validation", "Provides validation on filter parameters."},
	{"fip-port-details", "Floating IP Port Details Extension", "Add port_details attribute to Floating IP resource"},
	{"net-mtu", "Network MTU", "Provides MTU attribute for a network resource."},
	{"net-mtu-writable", "Network MTU (writable)", "Provides a writable MTU attribute for a network resource."},
	{"network_availability_zone", "Network Availability Zone", "Availability zone support for network."},
	{"pagination", "Pagination support", "Extension that indicates that pagination is enabled."},
	{"port-security", "Port Security", "Provides port security"},
	{"project-id", "project_id field enabled", "Extension that indicates that project_id field is enabled."},
	{"provider", "Provider Network", "Expose mapping of virtual networks to physical networks"},
	{"quota_details", "Quota details management support", "Expose functions for quotas usage statistics per project"},
	{"quotas", "Quota management support", "Expose functions for quotas management per project"},
	{"router", "Neutron L3 Router", "Router abstraction for basic L3 forwarding between L2 Neutron networks and access to external networks via a NAT gateway."},
	{"router_availability_zone", "Router Availability Zone", "Availability zone support for router."},
	{"segment", "Segment", "Segments extension."},
	{"security-group", "security-group", "The security groups extension."},
	{"security-groups-normalized-cidr", "Normalized CIDR field for security group rules", "Add new field with normalized remote_ip_prefix cidr in SG rule"},
	{"sorting", "Sorting support", "Extension that indicates that sorting is enabled."},
	{"standard-attr-description", "standard-attr-description", "Extension to add descriptions to standard attributes"},
	{"standard-attr-revisions", "Resource revision numbers", "This extension will display the revision number of neutron resources."},
	{"standard-attr-tag", "Tag support for resources with standard attribute: port, subnet, network, security_group, router, floatingip", "Enables to set tag on resources with standard attribute."},
	{"standard-attr-timestamp", "Resource timestamps", "Adds created_at and updated_at fields to all Neutron resources that have Neutron standard attributes."},
	{"tag-ports-during-bulk-creation", "Tag Ports During Bulk Creation", "Allow to tag ports during bulk creation"},
}

func extensionView(i int) map[string]any {
	e := extensions[i]
	return map[string]any{"alias": e.alias, "name": e.name, "description": e.about, "updated": "2017-01-01T00:00:00-00:00", "links": []any{}}
}

func (s *Service) listExtensions(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
	list := []any{}
	for i := range extensions {
		list = append(list, extensionView(i))
	}
	return service.JSON(w, http.StatusOK, map[string]any{"extensions": list})
}

func (s *Service) showExtension(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
	for i, e := range extensions {
		if e.alias == r.PathValue("alias") {
			return service.JSON(w, http.StatusOK, map[string]any{"extension": extensionView(i)})
		}
	}
	return service.Typed(http.StatusNotFound, "ExtensionNotFound", "The extension with alias '%s' could not be found.", r.PathValue("alias"))
}

// listAgents is empty: there are no agents beside the service itself.
func (s *Service) listAgents(w http.ResponseWriter, _ *http.Request, caller *service.Caller) error {
	if !caller.Admin() {
		return forbidden("get_agent")
	}
	return service.JSON(w, http.StatusOK, map[string]any{"agents": []any{}})
}

func (s *Service) showAgent(_ http.ResponseWriter, r *http.Request, _ *service.Caller) error {
	return service.Typed(http.StatusNotFound, "AgentNotFound", "Agent %s could not be found.", r.PathValue("id"))
}

func (s *Service) listZones(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
	list := []any{}
	for _, resource := range []string{"network", "router"} {
		list = append(list, map[string]any{"name": zone, "resource": resource, "state": "available"})
	}
	return service.JSON(w, http.StatusOK, map[string]any{"availability_zones": list})
}

// listSegments is empty: no network here is routed, so none has segments.
func (s *Service) listSegments(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
	return service.JSON(w, http.StatusOK, map[string]any{"segments": []any{}})
}
