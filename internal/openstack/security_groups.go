package openstack

// The security groups of servers' ports.

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"holdfast.dev/internal/identity"
)

// SecurityGroup is a security group of Neutron.
type SecurityGroup struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Description string              `json:"description"`
	ProjectID   string              `json:"tenant_id"`
	Rules       []SecurityGroupRule `json:"security_group_rules"`
}

// SecurityGroupRule is a rule of one; null is any.
type SecurityGroupRule struct {
	ID        string  `json:"id"`
	GroupID   string  `json:"security_group_id"`
	Direction string  `json:"direction"`
	Protocol  *string `json:"protocol"`
	PortMin   *int    `json:"port_range_min"`
	PortMax   *int    `json:"port_range_max"`
	CIDR      *string `json:"remote_ip_prefix"`
	// RemoteGroupID lets in the members of another group.
	RemoteGroupID *string `json:"remote_group_id"`
}

// mostInQuery is how many ids go into one URL.
const mostInQuery = 150

// ServerSecurityGroups gives the groups of servers' ports, each once, by server
// and in the order of their names. Errors: Unavailable.
func (c *Caller) ServerSecurityGroups(ctx context.Context, who identity.Identity, serverIDs ...string) (map[string][]SecurityGroup, error) {
	idsOf, wanted := map[string][]string{}, []string{}
	for part := range slices.Chunk(serverIDs, mostInQuery) {
		var document struct {
			Ports []struct {
				DeviceID string   `json:"device_id"`
				Groups   []string `json:"security_groups"`
			}
		}
		if err := c.network(ctx, who, &document, "ports"+anyOf("device_id", part)); err != nil {
			return nil, err
		}
		for _, p := range document.Ports {
			idsOf[p.DeviceID] = append(idsOf[p.DeviceID], p.Groups...)
			wanted = append(wanted, p.Groups...)
		}
	}
	groups := map[string]SecurityGroup{}
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(wanted))), mostInQuery) {
		var document struct {
			Groups []SecurityGroup `json:"security_groups"`
		}
		if err := c.network(ctx, who, &document, "security-groups"+anyOf("id", part)); err != nil {
			return nil, err
		}
		for _, g := range document.Groups {
			groups[g.ID] = g
		}
	}
	return byServer(idsOf, groups), nil
}

func byServer(idsOf map[string][]string, groups map[string]SecurityGroup) map[string][]SecurityGroup {
	all := map[string][]SecurityGroup{}
	for server, ids := range idsOf {
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			if g, ok := groups[id]; ok {
				all[server] = append(all[server], g)
			}
		}
		slices.SortFunc(all[server], func(a, b SecurityGroup) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
	}
	return all
}

// anyOf is the query for those whose attribute is one of the values.
func anyOf(attribute string, values []string) string {
	return "?" + url.Values{attribute: values}.Encode()
}
