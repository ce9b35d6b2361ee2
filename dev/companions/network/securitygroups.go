package network

// Security groups and their rules.

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/dev/companions/service"
)

func newID() string { return uuid.NewString() }

const defaultName = "default"

// ensureDefaultGroup makes the group of the caller's project.
func (s *Service) ensureDefaultGroup(ctx context.Context, caller *service.Caller) error {
	project := caller.ProjectID()
	if project == "" {
		return nil
	}
	found, err := where(ctx, s.Pool, securityGroups, `r.project_id = $1 AND r.body->>'name' = $2`, project, defaultName)
	if err != nil || len(found) > 0 {
		return err
	}
	return s.write(ctx, caller, func(c *change) error {
		_, err := c.defaultGroup(ctx, project)
		return err
	})
}

// defaultGroup is the project's own group, made on first use.
func (c *change) defaultGroup(ctx context.Context, project string) (document, error) {
	if err := c.queue(ctx, "default group of "+project); err != nil {
		return nil, err
	}
	found, err := where(ctx, c.tx, securityGroups, `r.project_id = $1 AND r.body->>'name' = $2`, project, defaultName)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	doc := document{"id": newID(), "project_id": project, "name": defaultName, "description": "Default security group",
		"stateful": true, "shared": false, "tags": []any{}}
	if err := c.insert(ctx, securityGroups, doc); err != nil {
		return nil, err
	}
	return doc, storeGroup(ctx, c, doc)
}

func createGroup(ctx context.Context, c *change, doc document) error {
	if doc.text("name") == defaultName {
		return conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	doc["shared"] = false
	_, err := c.defaultGroup(ctx, doc.text("project_id"))
	return err
}

// storeGroup gives a new group its first rules: out is open, and in the default
// group so is in from its members.
func storeGroup(ctx context.Context, c *change, doc document) error {
	for _, ethertype := range []string{"IPv4", "IPv6"} {
		if err := c.insertRule(ctx, doc, document{"direction": "egress", "ethertype": ethertype}); err != nil {
			return err
		}
		if doc.text("name") != defaultName {
			continue
		}
		if err := c.insertRule(ctx, doc, document{"direction": "ingress", "ethertype": ethertype, "remote_group_id": doc["id"]}); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) insertRule(ctx context.Context, group, values document) error {
	rule := document{"protocol": nil, "port_range_min": nil, "port_range_max": nil, "remote_ip_prefix": nil, "remote_group_id": nil,
		"normalized_cidr": nil, "description": ""}.merged(values)
	rule["id"], rule["project_id"], rule["security_group_id"] = newID(), group["project_id"], group["id"]
	return c.insert(ctx, securityGroupRules, rule)
}

func updateGroup(_ context.Context, _ *change, before, _, after document) error {
	if before.text("name") != after.text("name") && (before.text("name") == defaultName || after.text("name") == defaultName) {
		return conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
	}
	return nil
}

func removeGroup(ctx context.Context, c *change, doc document) error {
	id := doc.text("id")
	if doc.text("name") == defaultName && !c.caller.Admin() {
		return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	users, err := where(ctx, c.tx, ports, `r.body->'security_groups' ? $1`, id)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return conflict("SecurityGroupInUse", "Security Group %s in use.", id)
	}
	_, err = c.tx.Exec(ctx, `DELETE FROM network.resources WHERE kind = $1 AND (body->>'security_group_id' = $2 OR body->>'remote_group_id' = $2)`,
		securityGroupRules.name, id)
	return err
}

// groupRules adds each group's rules.
func groupRules(ctx context.Context, q querier, docs []document) error {
	byID := map[string]document{}
	ids := make([]string, 0, len(docs))
	for _, doc := range docs {
		doc["security_group_rules"] = []any{}
		byID[doc.text("id")] = doc
		ids = append(ids, doc.text("id"))
	}
	found, err := where(ctx, q, securityGroupRules, `r.body->>'security_group_id' = ANY($1)`, ids)
	if err != nil {
		return err
	}
	for _, rule := range found {
		doc := byID[rule.text("security_group_id")]
		doc["security_group_rules"] = append(doc["security_group_rules"].([]any), map[string]any(rule))
	}
	return nil
}

// protocols are the names of IP protocols that a rule may give.
var protocols = []string{"ah", "dccp", "egp", "esp", "gre", "hopopt", "icmp", "igmp", "ip", "ipip", "ipv6-encap", "ipv6-frag",
	"ipv6-icmp", "icmpv6", "ipv6-nonxt", "ipv6-opts", "ipv6-route", "ospf", "pgm", "rsvp", "sctp", "tcp", "udp", "udplite", "vrrp"}

// protocol is a name or a number; "any" is none.
func protocol(value any) (any, error) {
	name := strings.ToLower(fmt.Sprint(value))
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n <= 255 {
		return strconv.Itoa(n), nil
	}
	switch {
	case name == "any":
		return nil, nil
	case slices.Contains(protocols, name):
		return name, nil
	}
	return nil, reason("'%v' is not a known protocol.", value)
}

func etherType(value any) (any, error) {
	for _, name := range []string{"IPv4", "IPv6"} {
		if text, _ := value.(string); strings.EqualFold(text, name) {
			return name, nil
		}
	}
	return nil, reason("'%v' is not in ['IPv4', 'IPv6'].", value)
}

func createRule(ctx context.Context, c *change, doc document) error {
	group, err := c.own(ctx, securityGroups, doc.text("security_group_id"), "update")
	if err != nil {
		return err
	}
	doc["project_id"] = group["project_id"]
	if err := checkRule(doc); err != nil {
		return err
	}
	if remote := doc.text("remote_group_id"); remote != "" {
		if _, err := c.find(ctx, securityGroups, remote, inUse); err != nil {
			return err
		}
	}
	doc["normalized_cidr"] = nil
	if prefix, err := netip.ParsePrefix(doc.text("remote_ip_prefix")); err == nil {
		doc["normalized_cidr"] = prefix.Masked().String()
	}
	others, err := where(ctx, c.tx, securityGroupRules, `r.body->>'security_group_id' = $1`, group.text("id"))
	if err != nil {
		return err
	}
	for _, other := range others {
		if sameRule(other, doc) {
			return conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", other.text("id"))
		}
	}
	return nil
}

func sameRule(a, b document) bool {
	for _, name := range []string{"direction", "ethertype", "protocol", "port_range_min", "port_range_max", "normalized_cidr", "remote_group_id"} {
		if !reflect.DeepEqual(a[name], b[name]) {
			return false
		}
	}
	return true
}

// portProtocols are those with ports.
var portProtocols = []string{"tcp", "udp", "sctp", "dccp", "udplite", "6", "17", "132", "33", "136"}

func checkRule(doc document) error {
	bad := func(kind, format string, args ...any) error {
		return service.Typed(http.StatusBadRequest, kind, format, args...)
	}
	if doc.has("remote_ip_prefix") && doc.has("remote_group_id") {
		return bad("SecurityGroupMultipleRemoteEntities", "Only one of remote_ip_prefix or remote_group_id may be provided.")
	}
	if prefix, err := netip.ParsePrefix(doc.text("remote_ip_prefix")); err == nil && prefix.Addr().Is4() != (doc.text("ethertype") == "IPv4") {
		return bad("SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s", doc.text("ethertype"), prefix)
	}
	low, isLow := doc["port_range_min"].(float64)
	high, isHigh := doc["port_range_max"].(float64)
	name := doc.text("protocol")
	switch {
	case !isLow && !isHigh:
		return nil
	case name == "":
		return bad("SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	case strings.Contains(name, "icmp") || name == "1" || name == "58":
		if isLow && low > 255 || isHigh && high > 255 {
			return bad("SecurityGroupInvalidIcmpValue", "Invalid value for ICMP type or code. It must be 0 to 255.")
		}
		if !isLow {
			return bad("SecurityGroupMissingIcmpType", "ICMP code (port-range-max) %v is provided but ICMP type (port-range-min) is missing.", high)
		}
		return nil
	case !slices.Contains(portProtocols, name):
		return bad("SecurityGroupInvalidProtocolForPort", "Invalid protocol %s for port range, only supported for TCP, UDP, UDPLITE, SCTP and DCCP.", name)
	case !isLow || !isHigh || low > high || low == 0:
		return bad("SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
	}
	return nil
}
