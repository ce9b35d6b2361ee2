package network

// VIFs that come to a node, and go.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Attach is idempotent by the row of what bears the VIF, which is written first: a run that
// finds it there goes on with it. Errors: as in steps.NetworkActivities.
func (a *Activities) Attach(ctx context.Context, in steps.NetworkVIFIn) (struct{}, error) {
	s, err := a.open(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	defer s.End(ctx)
	return struct{}{}, s.attach(ctx, in.Ask)
}

func (s *session) attach(ctx context.Context, ask steps.NodeCommandInput) error {
	vif := ask.VIF
	b, borne := s.wires.Bearer(vif)
	if !borne {
		physical, err := s.physicalNetworks(ctx, vif)
		if err != nil {
			return err
		}
		if b, err = s.wires.Choose(ask, physical); err != nil {
			return err
		}
		if err := s.write(ctx, func(tx store.Tx) error { return b.Bear(ctx, tx, vif) }); err != nil {
			return err
		}
	}
	kind := nodes.NetworkInterface(s.node)
	runs := s.node.ProvisionState == provision.Active
	to := s.binding(b, runs && kind == nodes.NetworkNeutron)
	if !runs {
		// Enough for Neutron to give it addresses; its switch is told when the node is deployed.
		to["binding:profile"] = map[string]any{}
	}
	p, err := s.bind(ctx, vif, b, to)
	if err == nil && runs {
		err = s.bound(p)
	}
	if faults.Is(err, faults.NotFound) {
		return notFound(vif)
	}
	return refusal(err, "Unable to attach VIF %s to node %s, possible network, state, or access permission issue. %s", vif, s.node.UUID)
}

// notFound is the refusal of a VIF that Neutron doesn't have.
func notFound(vif string) error {
	return faults.New(faults.Invalid, "InvalidParameterValue", "Neutron port %s was not found", vif)
}

// Detach is idempotent by the row of what bears the VIF, which is written last. Errors: as
// in steps.NetworkActivities.
func (a *Activities) Detach(ctx context.Context, in steps.NetworkVIFIn) (struct{}, error) {
	s, err := a.open(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	defer s.End(ctx)
	b, borne := s.wires.Bearer(in.Ask.VIF)
	if !borne {
		return struct{}{}, nil
	}
	if err := s.letGoOf(ctx, b); err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.write(ctx, func(tx store.Tx) error { return b.Bear(ctx, tx, "") })
}

// physicalNetworks are those that a VIF can be on; none is every one.
func (s *session) physicalNetworks(ctx context.Context, vif string) ([]string, error) {
	p, err := s.port(ctx, vif)
	if faults.Is(err, faults.NotFound) {
		return nil, notFound(vif)
	}
	if err != nil {
		return nil, refusal(err, "Could not retrieve neutron port: %s")
	}
	var document struct{ Network network }
	if err := s.get(ctx, &document, nil, "networks", p.NetworkID); err != nil {
		return nil, refusal(err, "Could not retrieve network: %s")
	}
	n := document.Network
	if n.Segments == nil {
		n.Segments = []segment{{n.Physical}}
	} else if on, err := s.ofAddresses(ctx, p); err != nil || on != "" {
		return []string{on}, err
	}
	var all []string
	for _, one := range n.Segments {
		if one.Physical != "" {
			all = append(all, one.Physical)
		}
	}
	return all, nil
}

// ofAddresses is the physical network that a port's addresses are on; empty if they don't
// say: of a network that has several, a subnet may be on one.
func (s *session) ofAddresses(ctx context.Context, p *port) (string, error) {
	for _, ip := range p.FixedIPs {
		var subnet struct {
			Subnet struct {
				Segment string `json:"segment_id"`
			}
		}
		if err := s.get(ctx, &subnet, nil, "subnets", ip.SubnetID); err != nil {
			return "", refusal(err, "Could not retrieve neutron subnet: %s")
		}
		if subnet.Subnet.Segment == "" {
			continue
		}
		var on struct {
			Segment struct {
				Physical string `json:"physical_network"`
			}
		}
		if err := s.get(ctx, &on, nil, "segments", subnet.Subnet.Segment); err != nil {
			return "", refusal(err, "Could not retrieve neutron segment: %s")
		}
		if on.Segment.Physical != "" {
			return on.Segment.Physical, nil
		}
	}
	return "", nil
}
