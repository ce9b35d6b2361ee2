package network

// Ports of the node's instance: bound to what bears them, and let go of.

import (
	"context"
	"maps"
	"net/url"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
)

// unbind lets go of every port that is bound to the node and was not made for a ramdisk,
// whatever bears it by now, and of what the node bears.
func (s *session) unbind(ctx context.Context) error {
	bound, err := s.ports(ctx, url.Values{"binding:host_id": {s.node.UUID}})
	if err != nil {
		return refusal(err, "Could not get given network VIF for %s from neutron, possible network issue. %s", s.node.UUID)
	}
	for _, p := range bound {
		if p.Owner == openstack.NodePortOwner {
			continue
		}
		if err := s.letGo(ctx, p); err != nil {
			return err
		}
	}
	for _, b := range s.wires.Bearing() {
		if err := s.letGoOf(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// letGoOf takes off the node what something bears, unless Neutron has it elsewhere by now.
// One that is bound to nothing may have the hardware address still.
func (s *session) letGoOf(ctx context.Context, b nodes.Bearer) error {
	p, err := s.port(ctx, b.VIF())
	switch {
	case faults.Is(err, faults.NotFound):
		return nil
	case err != nil:
		return refusal(err, "Unable to clear binding profile for neutron port %s. Error: %s", b.VIF())
	case p.HostID == s.hostOf(b), p.HostID == "" && strings.EqualFold(p.MAC, b.Address()):
		return s.letGo(ctx, p)
	}
	return nil
}

// letGo takes one off the node. A group without a hardware address has given it none.
func (s *session) letGo(ctx context.Context, p *port) error {
	b, borne := s.wires.Bearer(p.ID)
	err := s.release(ctx, p.ID, s.tells(p, nil), borne && b.Address() == "")
	return refusal(err, "Unable to clear binding profile for neutron port %s. Error: %s", p.ID)
}

// bindTenants binds everything that the node bears. A node that bears nothing can't be on
// its instance's networks.
func (s *session) bindTenants(ctx context.Context, kind string) (bound []*port, err error) {
	if kind == nodes.NetworkNeutron && len(s.wires.Ports) == 0 {
		return nil, faults.New(faults.Conflict, CodeNetworkError, "No ports are associated with node %s", s.node.UUID)
	}
	for _, b := range s.wires.Bearing() {
		p, err := s.bind(ctx, b.VIF(), b, s.binding(b, kind == nodes.NetworkNeutron))
		if err == nil {
			err = s.bound(p)
		}
		if kind == nodes.NetworkFlat {
			err = refusal(err, "Unable to set binding:host_id for neutron port %s. Error: %s", b.VIF())
		} else {
			err = refusal(err, "Could not add public network VIF %s to node %s, possible network issue. %s", b.VIF(), s.node.UUID)
		}
		if err != nil {
			return nil, err
		}
		bound = append(bound, p)
	}
	switch {
	case len(bound) > 0:
		return bound, nil
	case kind == nodes.NetworkFlat:
		return nil, faults.New(faults.Conflict, CodeNetworkError, "Failed to bind any flat network ports for node %s", s.node.UUID)
	}
	return nil, faults.New(faults.Conflict, CodeNetworkError, "No neutron ports or portgroups are associated with node %s", s.node.UUID)
}

// binding binds a port of Neutron to what bears it; told says that Neutron's mechanisms are
// told where that is wired to, of which a flat network has no need.
func (s *session) binding(b nodes.Bearer, told bool) attributes {
	to := attributes{"binding:host_id": s.hostOf(b), "binding:vnic_type": openstack.NodePortKind}
	if b.Smart() {
		to["binding:vnic_type"] = vnicSmart
	}
	if !told {
		return to
	}
	links := []any{}
	for _, p := range b.Ports {
		links = append(links, nodes.Link(p))
	}
	profile := map[string]any{"local_link_information": links}
	if b.Group != nil {
		profile["local_group_information"] = nodes.GroupInformation(b.Group)
	}
	if on := b.PhysicalNetwork(); on != "" {
		profile["physical_network"] = on
	}
	to["binding:profile"] = profile
	return to
}

// hostOf is binding:host_id of what a port or a port group bears: the node, or the switch
// that an interface has of its own.
func (s *session) hostOf(b nodes.Bearer) string {
	if b.Smart() {
		if host, ok := nodes.Link(b.Ports[0])["hostname"].(string); ok {
			return host
		}
	}
	return s.node.UUID
}

// bind has a VIF be bound as it should be, at the hardware address of what bears it.
func (s *session) bind(ctx context.Context, vif string, b nodes.Bearer, to attributes) (*port, error) {
	p, err := s.port(ctx, vif)
	if err != nil {
		return nil, err
	}
	address, says := b.Address(), s.tells(p, s.options(b))
	moves := address != "" && !strings.EqualFold(address, p.MAC)
	if !moves && len(says) == 0 && p.has(to) {
		return p, nil
	}
	if moves && p.HostID != "" { // Neutron changes the address of no port that is bound
		if _, err := s.update(ctx, p.ID, attributes{"binding:host_id": "", "binding:profile": map[string]any{}}); err != nil {
			return nil, err
		}
	}
	if moves {
		to["mac_address"] = address
	}
	maps.Copy(to, says)
	return s.update(ctx, p.ID, to)
}
