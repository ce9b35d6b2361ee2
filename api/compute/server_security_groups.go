package compute

// The security groups of servers' ports, which Neutron has: as a field of
// servers, GET /servers/{server_id}/os-security-groups, and addSecurityGroup and
// removeSecurityGroup, which change them there.

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store/compute"
)

// securityGroupRule begins the names of their policies.
const securityGroupRule = "os_compute_api:os-security-groups:"

// groupsOf asks Neutron once for all servers of an answer; those without a bound
// port have none. Servers are shown without this field while Neutron is down.
func (a *API) groupsOf(r *rest.Request, servers ...*compute.Server) map[string][]openstack.SecurityGroup {
	var ids []string
	for _, s := range servers {
		if len(s.Ports) > 0 {
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 || !a.reachable(r.Identity) {
		return nil
	}
	groups, err := a.Neighbours.ServerSecurityGroups(r.Context(), r.Identity, ids...)
	if err != nil {
		slog.WarnContext(r.Context(), "servers are shown without their security groups", "error", err)
	}
	return groups
}

// groupNames is the field; servers without groups don't show it.
func (v serverView) groupNames() any {
	if len(v.groups) == 0 {
		return absent
	}
	names := make([]groupRequest, len(v.groups))
	for i, g := range v.groups {
		names[i].Name = g.Name
	}
	return names
}

// securityGroupView and ingressRule are what is shown of a group by itself: the rules for
// what comes in, in the words of before Neutron.
type securityGroupView struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	TenantID    string        `json:"tenant_id"`
	Rules       []ingressRule `json:"rules"`
}

type ingressRule struct {
	ID       string            `json:"id"`
	ParentID string            `json:"parent_group_id"`
	Protocol *string           `json:"ip_protocol"`
	From     int               `json:"from_port"`
	To       int               `json:"to_port"`
	Group    map[string]string `json:"group"`
	IPRange  map[string]string `json:"ip_range"`
}

func (a *API) listServerSecurityGroups(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, securityGroupRule+"list")
	if err != nil {
		return nil, err
	}
	shown := []securityGroupView{}
	if a.reachable(r.Identity) {
		groups, err := a.Neighbours.ServerSecurityGroups(r.Context(), r.Identity, server.ID)
		if err != nil {
			return nil, err
		}
		for _, g := range groups[server.ID] {
			shown = append(shown, securityGroupView{g.ID, g.Name, g.Description, g.ProjectID, rulesOf(g)})
		}
	}
	slices.SortFunc(shown, func(a, b securityGroupView) int { return strings.Compare(a.TenantID+a.Name, b.TenantID+b.Name) })
	return rest.JSON(map[string]any{"security_groups": shown}), nil
}

func (a *API) addSecurityGroup(r *rest.Request) (*rest.Response, error) {
	return a.changeGroups(r, "addSecurityGroup", securityGroupRule+"add", Neighbours.AddSecurityGroup)
}

func (a *API) removeSecurityGroup(r *rest.Request) (*rest.Response, error) {
	return a.changeGroups(r, "removeSecurityGroup", securityGroupRule+"remove", Neighbours.RemoveSecurityGroup)
}

// changeGroups changes the groups of the request's server in Neutron. Ports are
// none of the server's states: this is done in any of them.
func (a *API) changeGroups(r *rest.Request, action, rule string, change func(Neighbours, context.Context, identity.Identity, string, string) error) (*rest.Response, error) {
	server, err := a.serverOf(r, rule)
	if err != nil {
		return nil, err
	}
	asked, err := readBody[groupRequest](r, action)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(asked.Name) == "" {
		return nil, faults.New(faults.Invalid, "SecurityGroupNameEmpty", "Security group name cannot be empty")
	}
	if !a.reachable(r.Identity) {
		return nil, openstack.NoSecurityGroup(asked.Name, r.Identity.ProjectID)
	}
	return nil, change(a.Neighbours, r.Context(), r.Identity, server.ID, asked.Name)
}

func rulesOf(g openstack.SecurityGroup) []ingressRule {
	shown := []ingressRule{}
	for _, rule := range g.Rules {
		if rule.Direction != "ingress" {
			continue
		}
		one := ingressRule{ID: rule.ID, ParentID: g.ID, Protocol: rule.Protocol, Group: map[string]string{}, IPRange: map[string]string{}}
		one.From, one.To = portsOf(rule)
		switch {
		case rule.RemoteGroupID != nil && *rule.RemoteGroupID == g.ID:
			one.Group = map[string]string{"name": g.Name, "tenant_id": g.ProjectID}
		case rule.RemoteGroupID != nil:
			// Another group may be another project's; its id says which it is.
			one.Group = map[string]string{"name": *rule.RemoteGroupID, "tenant_id": g.ProjectID}
		case rule.CIDR != nil:
			one.IPRange = map[string]string{"cidr": *rule.CIDR}
		default:
			one.IPRange = map[string]string{"cidr": "0.0.0.0/0"}
		}
		shown = append(shown, one)
	}
	return shown
}

// portsOf gives a rule's ports; all of them where it names none.
func portsOf(rule openstack.SecurityGroupRule) (from, to int) {
	switch {
	case rule.PortMin != nil && rule.PortMax != nil:
		return *rule.PortMin, *rule.PortMax
	case rule.Protocol != nil && (strings.EqualFold(*rule.Protocol, "tcp") || strings.EqualFold(*rule.Protocol, "udp")):
		return 1, 65535
	}
	return -1, -1
}
