package ironic

// Networks: what the instance is told of its links, each of which is a port of the node, or
// a bond of several.

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/portgroups"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/ports"

	"holdfast.dev/internal/faults"
)

// vifKey is where the internal_info of a port or a port group says which VIF it bears.
const vifKey = "tenant_vif_port_id"

// bearers are what a node has to bear VIFs.
type bearers struct {
	ports  []ports.Port
	groups []portgroups.PortGroup
}

func (d *Driver) bearers(ctx context.Context) (b bearers, err error) {
	client, err := d.service.client(ctx)
	if err != nil {
		return b, err
	}
	page, err := ports.ListDetail(client, ports.ListOpts{Node: d.id}).AllPages(ctx)
	if err == nil {
		b.ports, err = ports.ExtractPorts(page)
	}
	if err == nil {
		page, err = portgroups.List(client, portgroups.ListOpts{Node: d.id, Detail: true}).AllPages(ctx)
	}
	if err == nil {
		b.groups, err = portgroups.ExtractPortGroups(page)
	}
	if err != nil {
		return b, answered(err)
	}
	return b, nil
}

// told is a network_data.json whose links are what bears them, with the hardware addresses
// that the instance finds there.
func (b bearers) told(text []byte) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, faults.Wrap(err, faults.Internal, "InvalidNetworkData", "what an instance is told of its network is no JSON")
	}
	links, _ := doc["links"].([]any)
	for _, l := range slices.Clone(links) {
		link, ok := l.(map[string]any)
		if !ok {
			continue
		}
		vif := link["vif_id"]
		if i := slices.IndexFunc(b.groups, func(g portgroups.PortGroup) bool { return g.InternalInfo[vifKey] == vif }); i >= 0 {
			links = append(links, b.bond(link, b.groups[i])...)
		} else if i := slices.IndexFunc(b.ports, func(p ports.Port) bool { return p.InternalInfo[vifKey] == vif }); i >= 0 {
			link["type"], link["ethernet_mac_address"] = "phy", b.ports[i].Address
		}
	}
	doc["links"] = links
	return json.Marshal(doc)
}

// bond makes a link the bond of a group, and gives the links of its members.
func (b bearers) bond(link map[string]any, g portgroups.PortGroup) (members []any) {
	link["type"], link["bond_mode"] = "bond", g.Mode
	if g.Address != "" {
		link["ethernet_mac_address"] = g.Address
	}
	for name, value := range g.Properties {
		if !strings.HasPrefix(name, "bond") {
			name = "bond_" + name
		}
		link[name] = value
	}
	ids := []string{}
	for _, p := range b.ports {
		if p.PortGroupUUID == g.UUID {
			ids = append(ids, p.UUID)
			members = append(members, map[string]any{"id": p.UUID, "type": "phy", "ethernet_mac_address": p.Address})
		}
	}
	link["bond_links"] = ids
	return members
}
