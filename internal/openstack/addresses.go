package openstack

// The addresses of servers' ports, fixed and floating.

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/store/compute"
)

// ServerAddresses is the function of that name in the caller's own name.
func (c *Caller) ServerAddresses(ctx context.Context, who identity.Identity, serverIDs ...string) ([]compute.PortAddresses, error) {
	client, err := c.client(who, keystone.NewNetworkV2)
	if err != nil {
		return nil, err
	}
	return ServerAddresses(ctx, client, serverIDs...)
}

// ServerAddresses gives the addresses of all ports of servers. A Neutron without
// floating addresses has none. Errors: Unavailable.
func ServerAddresses(ctx context.Context, neutron *gophercloud.ServiceClient, serverIDs ...string) ([]compute.PortAddresses, error) {
	var all []compute.PortAddresses
	for part := range slices.Chunk(serverIDs, mostInQuery) {
		var document struct{ Ports []compute.PortAddresses }
		if err := get(ctx, neutron, &document, "ports"+anyOf("device_id", part)); err != nil {
			return nil, err
		}
		all = append(all, document.Ports...)
	}
	at := map[string]int{}
	for i, p := range all {
		at[p.PortID] = i
	}
	for part := range slices.Chunk(all, mostInQuery) {
		ids := make([]string, len(part))
		for i, p := range part {
			ids[i] = p.PortID
		}
		var document struct {
			Floating []struct {
				compute.FloatingIP
				PortID string `json:"port_id"`
			} `json:"floatingips"`
		}
		err := get(ctx, neutron, &document, "floatingips"+anyOf("port_id", ids))
		if err != nil && !faults.Is(err, faults.NotFound) {
			return nil, err
		}
		for _, f := range document.Floating {
			if i, ok := at[f.PortID]; ok {
				all[i].FloatingIPs = append(all[i].FloatingIPs, f.FloatingIP)
			}
		}
	}
	return all, nil
}
