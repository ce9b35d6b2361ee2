package network

// What ports of Neutron say by DHCP: how the node is booted, and who it is.

import (
	"slices"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// clientID is the DHCP option by which a port of InfiniBand is known.
const clientID = "61"

// boots finds out what the node's ports say of how it is booted, in a place: a ramdisk may
// be booted by them, an instance is never. Errors: Invalid.
func (s *session) boots(place steps.NodeNetwork) error {
	s.boot = nil
	if s.FirstStage == nil || place == steps.NetworkTenant || place == steps.NetworkNone {
		return nil
	}
	instance, err := nodes.InstanceInfo(s.box, s.node)
	if err == nil {
		s.boot, err = nodes.DHCPOptions(s.node, instance, *s.FirstStage)
	}
	return err
}

// options are what a port says of what bears it; a node is booted by none of its ports that
// isn't for that.
func (s *session) options(b nodes.Bearer) (all []nodes.DHCPOption) {
	if slices.ContainsFunc(b.Ports, func(p *baremetal.Port) bool { return p.PXEEnabled }) {
		all = slices.Clone(s.boot)
	}
	if b.Group == nil {
		if id := nodes.ClientID(b.Ports[0]); id != "" {
			all = append(all, nodes.DHCPOption{Name: clientID, Value: id, Version: 4})
		}
	}
	return all
}

// tells is the change by which a port says what it should, and of booting nothing else; empty
// if it does already. Neutron keeps every option of which a change says nothing.
func (s *session) tells(p *port, want []nodes.DHCPOption) attributes {
	changes := []any{}
	for _, o := range p.Options {
		stale := o.Boots() && !slices.ContainsFunc(want, func(w nodes.DHCPOption) bool { return w.Name == o.Name && w.Version == o.Version })
		if stale && s.FirstStage != nil {
			changes = append(changes, map[string]any{"opt_name": o.Name, "opt_value": nil, "ip_version": o.Version})
		}
	}
	for _, o := range want {
		if !slices.Contains(p.Options, o) {
			changes = append(changes, o)
		}
	}
	if len(changes) == 0 {
		return attributes{}
	}
	return attributes{"extra_dhcp_opts": changes}
}
