package openstack

// The security groups of servers' ports, and what callers change of them in their
// own name.

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/store/compute"
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

// groupPort is a port and its groups.
type groupPort struct {
	ID         string            `json:"id"`
	Groups     []string          `json:"security_groups"`
	FixedIPs   []compute.FixedIP `json:"fixed_ips"`
	Allocation string            `json:"ip_allocation"`
	// Secured is null where Neutron does not know the word: then it is.
	Secured *bool `json:"port_security_enabled"`
}

// takesGroups says whether the port can have security groups.
func (p groupPort) takesGroups() bool {
	return (len(p.FixedIPs) > 0 || p.Allocation == "deferred") && (p.Secured == nil || *p.Secured)
}

// AddSecurityGroup gives all ports of a server a group of the caller's project, by
// its id or name. Errors, in the original's words: NotFound (no such group, or
// no port), Conflict (several of the name, or refused so by Neutron), Invalid (a
// port that can't have groups), Unavailable.
func (c *Caller) AddSecurityGroup(ctx context.Context, who identity.Identity, serverID, group string) error {
	id, ports, err := c.groupAndPorts(ctx, who, serverID, group)
	if err != nil {
		return err
	}
	for _, p := range ports {
		if !p.takesGroups() {
			return faults.New(faults.Invalid, "SecurityGroupCannotBeApplied",
				"Network requires port_security_enabled and subnet associated in order to apply security groups.")
		}
		if slices.Contains(p.Groups, id) {
			continue
		}
		if err := c.setGroups(ctx, who, p.ID, append(p.Groups, id)); err != nil {
			return err
		}
	}
	return nil
}

// RemoveSecurityGroup takes a group from all ports of a server. Errors: those of
// AddSecurityGroup, and NotFound if no port has the group.
func (c *Caller) RemoveSecurityGroup(ctx context.Context, who identity.Identity, serverID, group string) error {
	id, ports, err := c.groupAndPorts(ctx, who, serverID, group)
	if err != nil {
		return err
	}
	found := false
	for _, p := range ports {
		at := slices.Index(p.Groups, id)
		if at < 0 {
			continue
		}
		if err := c.setGroups(ctx, who, p.ID, slices.Delete(p.Groups, at, at+1)); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return faults.New(faults.NotFound, "SecurityGroupNotFound", "Security group %s not associated with the instance %s", group, serverID)
	}
	return nil
}

// groupAndPorts finds a group of the caller's project, and a server's ports.
func (c *Caller) groupAndPorts(ctx context.Context, who identity.Identity, serverID, group string) (id string, ports []groupPort, err error) {
	for _, attribute := range []string{"id", "name"} {
		var document struct {
			Groups []SecurityGroup `json:"security_groups"`
		}
		query := url.Values{attribute: {group}, "tenant_id": {who.ProjectID}, "fields": {"id"}}
		if err := c.network(ctx, who, &document, "security-groups?"+query.Encode()); err != nil {
			return "", nil, err
		}
		if len(document.Groups) > 1 {
			return "", nil, faults.New(faults.Conflict, "NoUniqueMatch", "Multiple security_group matches found for name '%s', use an ID to be more specific.", group)
		}
		if len(document.Groups) == 1 {
			id = document.Groups[0].ID
			break
		}
	}
	if id == "" {
		return "", nil, NoSecurityGroup(group, who.ProjectID)
	}
	var document struct{ Ports []groupPort }
	if err := c.network(ctx, who, &document, "ports"+anyOf("device_id", []string{serverID})); err != nil {
		return "", nil, err
	}
	if len(document.Ports) == 0 {
		return "", nil, faults.New(faults.NotFound, "SecurityGroupNotFound", "instance_id %s could not be found as device id on any ports", serverID)
	}
	return id, document.Ports, nil
}

// NoSecurityGroup is the error of a project without such a group.
func NoSecurityGroup(group, projectID string) error {
	return faults.New(faults.NotFound, "SecurityGroupNotFound", "Security group %s is not found for project %s", group, projectID)
}

func (c *Caller) setGroups(ctx context.Context, who identity.Identity, portID string, groups []string) error {
	client, err := c.client(who, keystone.NewNetworkV2)
	if err != nil {
		return err
	}
	_, err = client.Put(ctx, client.ServiceURL("ports", portID), map[string]any{"port": map[string]any{"security_groups": groups}}, nil,
		&gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	switch {
	case err == nil:
		return nil
	case gophercloud.ResponseCodeIs(err, http.StatusBadRequest):
		return faults.Wrap(err, faults.Invalid, "SecurityGroupCannotBeApplied", "the port's security groups can't be changed so")
	case gophercloud.ResponseCodeIs(err, http.StatusConflict):
		return faults.Wrap(err, faults.Conflict, "SecurityGroupConnectionStateConflict", "the port's security groups can't be changed now")
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound), gophercloud.ResponseCodeIs(err, http.StatusForbidden):
		return faults.Wrap(err, faults.NotFound, "SecurityGroupNotFound", "the port's security groups can't be changed")
	}
	return faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "a service that the request needs can't be reached")
}
