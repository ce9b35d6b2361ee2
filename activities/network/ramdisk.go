package network

// Ports that are made for a node's ramdisk.

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// networkID finds a network by its id or name.
func (s *session) networkID(ctx context.Context, ident, what string) (string, error) {
	if err := s.alone(ctx); err != nil {
		return "", err
	}
	return openstack.NetworkID(ctx, s.client, ident, what)
}

// leave takes away what was made for ramdisks but on one network, empty for none, and gives
// what is left.
func (s *session) leave(ctx context.Context, but string) (left []*port, err error) {
	made, err := s.ports(ctx, url.Values{"device_id": {s.node.UUID}, "device_owner": {openstack.NodePortOwner}})
	if err != nil {
		return nil, refusal(err, "Could not get given network VIF for %s from neutron, possible network issue. %s", s.node.UUID)
	}
	for _, p := range made {
		mine := slices.ContainsFunc(s.wires.Ports, func(own *baremetal.Port) bool { return strings.EqualFold(own.Address, p.MAC) })
		if but != "" && p.NetworkID == but && mine {
			left = append(left, p)
			continue
		}
		if err := s.remove(ctx, p.ID); err != nil {
			return nil, refusal(err, "Could not remove VIF %s of node %s, possibly a network issue: %s", p.ID, s.node.UUID)
		}
	}
	return left, nil
}

// booting are the node's ports that have one on a ramdisk's network: those that boot, unless
// it isn't booted by them.
func (s *session) booting() ([]*baremetal.Port, error) {
	if !nodes.BootsByNetwork(s.node) || s.Networks.AllPorts {
		if len(s.wires.Ports) == 0 {
			return nil, faults.New(faults.Conflict, CodeNetworkError, "No available ports on node %s.", s.node.UUID)
		}
		return s.wires.Ports, nil
	}
	boot := slices.DeleteFunc(slices.Clone(s.wires.Ports), func(p *baremetal.Port) bool { return !p.PXEEnabled })
	if len(boot) == 0 {
		return nil, faults.New(faults.Conflict, CodeNetworkError, "No available PXE-enabled ports on node %s.", s.node.UUID)
	}
	return boot, nil
}

// plugRamdisk has the node's ports be on a network, as many of them as can, and gives those
// of Neutron, also by the ids of the node's own. One of that kind is enough.
func (s *session) plugRamdisk(ctx context.Context, place steps.NodeNetwork, on string, have []*port) (plugged []*port, made map[string]string, err error) {
	own, err := s.booting()
	if err != nil {
		return nil, nil, err
	}
	groups := s.Networks.SecurityGroups[place]
	if nodes.NetworkInterface(s.node) != nodes.NetworkNeutron {
		groups = nil
	}
	if err := s.haveGroups(ctx, groups); err != nil {
		return nil, nil, err
	}
	made = map[string]string{}
	var names []string
	for _, p := range own {
		names = append(names, p.UUID)
		there, err := s.plugOne(ctx, p, on, groups, have)
		switch {
		case err == nil && there != nil:
			plugged, made[p.UUID] = append(plugged, there), there.ID
		case err == nil: // nobody knows where it is wired to
		case faults.As(err).Code != CodeNetworkError || faults.As(err).Kind.Retryable():
			return nil, nil, err
		default:
			s.Log.WarnContext(ctx, "a node's port is not on its ramdisk's network", "node", s.node.UUID, "port", p.UUID, "network", on, "error", err)
		}
	}
	if len(plugged) == 0 {
		if _, err := s.leave(ctx, ""); err != nil {
			return nil, nil, err
		}
		return nil, nil, faults.New(faults.Conflict, CodeNetworkError, "Failed to create neutron ports for node's %s ports [%s].", s.node.UUID, strings.Join(names, ", "))
	}
	return plugged, made, nil
}

// plugOne has a port of the node's be on a network; nil if it is wired to nothing that is
// known.
func (s *session) plugOne(ctx context.Context, own *baremetal.Port, on string, groups []string, have []*port) (*port, error) {
	if !s.wires.Wired(own) {
		return nil, nil
	}
	by := nodes.Bearer{Ports: []*baremetal.Port{own}}
	options := s.options(by)
	if i := slices.IndexFunc(have, func(p *port) bool { return strings.EqualFold(p.MAC, own.Address) }); i >= 0 {
		p := have[i]
		if says := s.tells(p, options); len(says) > 0 {
			var err error
			if p, err = s.update(ctx, p.ID, says); err != nil {
				return nil, err
			}
		}
		return p, s.bound(p)
	}
	want := s.binding(by, true)
	want["network_id"], want["admin_state_up"], want["mac_address"] = on, true, own.Address
	want["device_id"], want["device_owner"] = s.node.UUID, openstack.NodePortOwner
	if len(groups) > 0 {
		want["security_groups"] = groups
	}
	if !own.PXEEnabled {
		want["fixed_ips"] = []any{}
	}
	maps.Copy(want, s.tells(&port{}, options))
	p, err := s.create(ctx, want)
	if err != nil {
		return nil, err
	}
	return p, s.bound(p)
}

// haveGroups refuses security groups that Neutron doesn't have.
func (s *session) haveGroups(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var document struct {
		Groups []struct{ ID string } `json:"security_groups"`
	}
	if err := s.get(ctx, &document, url.Values{"id": ids, "fields": {"id"}}, "security-groups"); err != nil {
		return refusal(err, "Could not retrieve security groups from neutron: %s")
	}
	missing := slices.Clone(ids)
	for _, g := range document.Groups {
		missing = slices.DeleteFunc(missing, func(id string) bool { return id == g.ID })
	}
	if len(missing) == 0 {
		return nil
	}
	return faults.New(faults.Invalid, CodeNetworkError, "Could not find these security groups (specified via ironic config) in neutron: ['%s']", strings.Join(missing, "', '"))
}
