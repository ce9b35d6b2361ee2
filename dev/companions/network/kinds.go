package network

// The kinds of resources and their attributes, as the API reference of Network
// v2.0 lists them.

import (
	"context"
	"strings"
)

// kind is a kind of resource.
type kind struct {
	name   string // "network"
	plural string // "networks"
	// missing is the type and the sentence of the 404.
	missing, missingText string
	attributes           []attribute
	// alsoSeen is an SQL condition on r for those who see it besides its owner.
	alsoSeen string

	hooks
}

// hooks is what a kind does besides being stored. They run in the transaction
// of the change and may alter the document that is about to be stored.
type hooks struct {
	onCreate func(ctx context.Context, c *change, doc document) error
	// onStored runs when the document has its row.
	onStored func(ctx context.Context, c *change, doc document) error
	// onUpdate gets what was, what the request gives, and what will be.
	onUpdate func(ctx context.Context, c *change, before, given, after document) error
	onRemove func(ctx context.Context, c *change, doc document) error
	// derive adds what follows from other resources.
	derive func(ctx context.Context, q querier, docs []document) error
}

func (k *kind) path() string { return strings.ReplaceAll(k.plural, "_", "-") }

func (k *kind) attribute(name string) *attribute {
	for i := range k.attributes {
		if k.attributes[i].name == name {
			return &k.attributes[i]
		}
	}
	return nil
}

const (
	longText      = 255
	sharedNetwork = `EXISTS (SELECT 1 FROM network.resources n WHERE n.id::text = r.body->>'network_id' AND n.body->>'shared' = 'true')`
	ownNetwork    = `EXISTS (SELECT 1 FROM network.resources n WHERE n.id::text = r.body->>'network_id' AND n.project_id = $1)`
)

// Which requests may give an attribute.
func both(name string, fallback any, c check) attribute {
	return attribute{name: name, post: true, put: true, fallback: fallback, check: c}
}
func once(name string, fallback any, c check) attribute {
	return attribute{name: name, post: true, fallback: fallback, check: c}
}
func needed(name string, c check) attribute {
	return attribute{name: name, post: true, required: true, check: c}
}
func shown(name string) attribute { return attribute{name: name} }
func (a attribute) admins() attribute {
	a.adminWrite = true
	return a
}
func (a attribute) secret() attribute {
	a.adminWrite, a.adminRead = true, true
	return a
}

// standard are the attributes that every kind has.
func standard(own ...attribute) []attribute {
	return append([]attribute{
		shown("id"),
		once("project_id", none, text(longText)).admins(),
		shown("tenant_id"),
		both("description", "", text(longText)),
		shown("revision_number"), shown("created_at"), shown("updated_at"),
	}, own...)
}

// tagged adds tags that a create may carry.
func tagged(own ...attribute) []attribute {
	return standard(append(own, once("tags", []any{}, listOf(text(60))))...)
}

var fixedIPs = listOf(object(map[string]check{"subnet_id": isUUID, "ip_address": ipAddress}))

var networks = &kind{
	name: "network", plural: "networks", missing: "NetworkNotFound", missingText: "Network %s could not be found.",
	alsoSeen: `(r.body->>'shared' = 'true' OR r.body->>'router:external' = 'true')`,
	attributes: tagged(
		both("name", "", text(longText)),
		both("admin_state_up", true, boolean),
		both("shared", false, boolean).admins(),
		both("router:external", false, boolean).admins(),
		both("is_default", false, boolean).admins(),
		both("dns_domain", "", dnsDomain),
		both("mtu", float64(1500), number(68, 9000)),
		both("port_security_enabled", true, boolean),
		once("provider:network_type", none, oneOf("flat", "vlan", "local")).secret(),
		once("provider:physical_network", none, orNull(text(64))).secret(),
		once("provider:segmentation_id", none, orNull(number(1, 4094))).secret(),
		once("availability_zone_hints", []any{}, listOf(oneOf(zone))),
		shown("availability_zones"), shown("status"), shown("subnets"),
		shown("ipv4_address_scope"), shown("ipv6_address_scope"),
	),
}

var subnets = &kind{
	name: "subnet", plural: "subnets", missing: "SubnetNotFound", missingText: "Subnet %s could not be found.",
	alsoSeen: sharedNetwork,
	attributes: tagged(
		both("name", "", text(longText)),
		needed("network_id", isUUID),
		needed("cidr", ipPrefix),
		needed("ip_version", number(4, 6)),
		both("gateway_ip", none, orNull(ipAddress)),
		both("enable_dhcp", true, boolean),
		both("allocation_pools", none, listOf(object(map[string]check{"start": ipAddress, "end": ipAddress}, "start", "end"))),
		both("dns_nameservers", []any{}, listOf(ipAddress)),
		both("host_routes", []any{}, listOf(object(map[string]check{"destination": ipPrefix, "nexthop": ipAddress}, "destination", "nexthop"))),
		once("ipv6_ra_mode", nil, oneOf(nil, "dhcpv6-stateful")),
		once("ipv6_address_mode", nil, oneOf(nil, "dhcpv6-stateful")),
		once("subnetpool_id", nil, oneOf(nil)),
		once("segment_id", nil, oneOf(nil)),
	),
}

var ports = &kind{
	name: "port", plural: "ports", missing: "PortNotFound", missingText: "Port %s could not be found.",
	alsoSeen: ownNetwork,
	attributes: tagged(
		both("name", "", text(longText)),
		needed("network_id", isUUID),
		both("admin_state_up", true, boolean),
		attribute{name: "mac_address", post: true, put: true, fallback: none, check: orNull(macAddress)},
		both("fixed_ips", none, fixedIPs),
		both("device_id", "", text(longText)),
		both("device_owner", "", text(longText)),
		both("security_groups", none, listOf(isUUID)),
		both("port_security_enabled", none, boolean),
		both("allowed_address_pairs", []any{}, listOf(object(map[string]check{"ip_address": addressOrPrefix, "mac_address": macAddress}, "ip_address"))),
		both("extra_dhcp_opts", []any{}, listOf(object(map[string]check{"opt_name": text(64), "opt_value": orNull(text(longText)), "ip_version": number(4, 6)}, "opt_name"))),
		both("binding:host_id", "", orNull(text(longText))).secret(),
		both("binding:vnic_type", "normal", oneOf("normal", "baremetal")),
		both("binding:profile", map[string]any{}, anyObject).secret(),
		attribute{name: "binding:vif_type", adminRead: true},
		attribute{name: "binding:vif_details", adminRead: true},
		both("dns_name", "", dnsName),
		shown("dns_assignment"),
		shown("qos_policy_id"), attribute{name: "resource_request", adminRead: true},
		shown("status"),
	),
}

var securityGroups = &kind{
	name: "security_group", plural: "security_groups", missing: "SecurityGroupNotFound", missingText: "Security group %s does not exist",
	attributes: tagged(
		both("name", "", text(longText)),
		both("stateful", true, oneOf(true)),
		shown("security_group_rules"), shown("shared"),
	),
}

var securityGroupRules = &kind{
	name: "security_group_rule", plural: "security_group_rules",
	missing: "SecurityGroupRuleNotFound", missingText: "Security group rule %s does not exist",
	attributes: standard(
		needed("security_group_id", isUUID),
		needed("direction", oneOf("ingress", "egress")),
		once("ethertype", "IPv4", etherType),
		once("protocol", nil, orNull(protocol)),
		once("port_range_min", nil, orNull(number(0, 65535))),
		once("port_range_max", nil, orNull(number(0, 65535))),
		once("remote_ip_prefix", nil, orNull(ipPrefix)),
		once("remote_group_id", nil, orNull(isUUID)),
		shown("normalized_cidr"),
	),
}

var routers = &kind{
	name: "router", plural: "routers", missing: "RouterNotFound", missingText: "Router %s could not be found",
	attributes: tagged(
		both("name", "", text(longText)),
		both("admin_state_up", true, boolean),
		both("external_gateway_info", nil, orNull(object(map[string]check{
			"network_id": isUUID, "enable_snat": boolean, "external_fixed_ips": fixedIPs}))),
		once("availability_zone_hints", []any{}, listOf(oneOf(zone))),
		shown("availability_zones"), shown("status"), shown("routes"),
	),
}

var floatingIPs = &kind{
	name: "floatingip", plural: "floatingips", missing: "FloatingIPNotFound", missingText: "Floating IP %s could not be found",
	attributes: tagged(
		needed("floating_network_id", isUUID),
		once("subnet_id", none, orNull(isUUID)),
		both("port_id", nil, orNull(isUUID)),
		both("fixed_ip_address", nil, orNull(ipAddress)),
		once("floating_ip_address", none, ipAddress).admins(),
		shown("router_id"), shown("status"), shown("port_details"), shown("floating_port_id"),
	),
}

// kinds are all of them, in no order that matters.
var kinds = []*kind{networks, subnets, ports, securityGroups, securityGroupRules, routers, floatingIPs}

// The hooks look up kinds, so the kinds can't name them where they are made.
func init() {
	networks.hooks = hooks{onCreate: createNetwork, onUpdate: updateNetwork, onRemove: removeNetwork, derive: networkSubnets}
	subnets.hooks = hooks{onCreate: createSubnet, onUpdate: updateSubnet, onRemove: removeSubnet}
	ports.hooks = hooks{onCreate: createPort, onStored: storePort, onUpdate: updatePort, onRemove: removePort, derive: portNames}
	securityGroups.hooks = hooks{onCreate: createGroup, onStored: storeGroup, onUpdate: updateGroup, onRemove: removeGroup, derive: groupRules}
	securityGroupRules.hooks = hooks{onCreate: createRule}
	routers.hooks = hooks{onCreate: createRouter, onStored: storeRouter, onUpdate: updateRouter, onRemove: removeRouter}
	floatingIPs.hooks = hooks{onCreate: createFloatingIP, onUpdate: updateFloatingIP, onRemove: removeFloatingIP}
}
