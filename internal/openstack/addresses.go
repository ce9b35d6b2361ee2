package openstack

// The addresses of servers' ports, fixed and floating.

import (
	"context"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/store/compute"
)

// ServerAddresses gives the addresses of all ports of servers. A Neutron without
// floating addresses has none. Errors: Unavailable.
func (c *Caller) ServerAddresses(ctx context.Context, who identity.Identity, serverIDs ...string) ([]compute.PortAddresses, error) {
	var all []compute.PortAddresses
	for part := range slices.Chunk(serverIDs, mostInQuery) {
		var document struct{ Ports []compute.PortAddresses }
		if err := c.network(ctx, who, &document, "ports"+anyOf("device_id", part)); err != nil {
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
		err := c.network(ctx, who, &document, "floatingips"+anyOf("port_id", ids))
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
