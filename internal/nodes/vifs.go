package nodes

// VIFs: ports of Neutron that a node's ports or port groups bear, as instances' networks
// have them. Which is on which stands in their internal_info.

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Wiring is how a node is wired to its networks.
type Wiring struct {
	Node   *baremetal.Node
	Ports  []*baremetal.Port
	Groups []*baremetal.Portgroup
}

// maxWires bounds a node's ports, and its port groups.
const maxWires = 1000

// WiringOf reads it.
func WiringOf(ctx context.Context, q store.Queryer, n *baremetal.Node) (*Wiring, error) {
	of := baremetal.List{Filters: []baremetal.Filter{{SQL: "t.node_uuid = $", Value: n.UUID}}, Limit: maxWires}
	w := &Wiring{Node: n}
	var err error
	if w.Ports, err = baremetal.Ports.List(ctx, q, of); err == nil {
		w.Groups, err = baremetal.Portgroups.List(ctx, q, of)
	}
	return w, err
}

// Bearer is a port or a port group, which can bear a VIF. Ports are its own, or itself.
type Bearer struct {
	Group *baremetal.Portgroup
	Ports []*baremetal.Port
}

// Bearers are a node's ports and port groups, in this order.
func (w *Wiring) Bearers() []Bearer {
	var all []Bearer
	for _, p := range w.Ports {
		all = append(all, Bearer{Ports: []*baremetal.Port{p}})
	}
	for _, g := range w.Groups {
		b := Bearer{Group: g}
		for _, p := range w.Ports {
			if textOf(p.PortgroupUUID) == g.UUID {
				b.Ports = append(b.Ports, p)
			}
		}
		all = append(all, b)
	}
	return all
}

// Bearing are those of them that bear something.
func (w *Wiring) Bearing() []Bearer {
	return slices.DeleteFunc(w.Bearers(), func(b Bearer) bool { return b.VIF() == "" })
}

// Bearer finds what bears a VIF.
func (w *Wiring) Bearer(vif string) (Bearer, bool) {
	all := w.Bearing()
	i := slices.IndexFunc(all, func(b Bearer) bool { return b.VIF() == vif })
	if i < 0 {
		return Bearer{}, false
	}
	return all[i], true
}

// NotBorne is the refusal of what nothing bears.
func (w *Wiring) NotBorne(vif string) error {
	return faults.New(faults.Invalid, "VifNotAttached", "Unable to detach VIF %s from node %s because it is not attached to it.", vif, w.Node.UUID)
}

// Kind is what refusals call it.
func (b Bearer) Kind() string {
	if b.Group != nil {
		return "Portgroup"
	}
	return "Port"
}

// UUID is its own id.
func (b Bearer) UUID() string {
	if b.Group != nil {
		return b.Group.UUID
	}
	return b.Ports[0].UUID
}

// Address is its hardware address; empty for a group without.
func (b Bearer) Address() string {
	if b.Group != nil {
		return textOf(b.Group.Address)
	}
	return b.Ports[0].Address
}

// PhysicalNetwork is the one that it is on by its own row; empty is none.
func (b Bearer) PhysicalNetwork() string {
	if b.Group != nil {
		return textOf(b.Group.PhysicalNetwork)
	}
	return textOf(b.Ports[0].PhysicalNetwork)
}

// Smart says whether it is an interface with a switch of its own.
func (b Bearer) Smart() bool { return b.Group == nil && b.Ports[0].IsSmartNIC }

// VIF is what it bears; empty for nothing.
func (b Bearer) VIF() string {
	var kept json.RawMessage
	if b.Group != nil {
		kept = b.Group.InternalInfo
	} else {
		kept = b.Ports[0].InternalInfo
	}
	var info map[string]any
	if json.Unmarshal(kept, &info) != nil {
		return ""
	}
	vif, _ := info[baremetal.VIFKey].(string)
	return vif
}

// Bear has it bear a VIF, empty for none, in its row.
func (b Bearer) Bear(ctx context.Context, tx store.Tx, vif string) error {
	words := map[string]string{baremetal.VIFKey: vif}
	if b.Group != nil {
		return baremetal.NotePortgroup(ctx, tx, b.Group.UUID, words)
	}
	return baremetal.NotePort(ctx, tx, b.Ports[0].UUID, words)
}

// KeepRamdiskPorts says in the rows of a node's ports which ports of Neutron they have, by
// their own ids, for the sake of a ramdisk's work, and for no other.
func (w *Wiring) KeepRamdiskPorts(ctx context.Context, tx store.Tx, work steps.NodeNetwork, made map[string]string) error {
	for _, p := range w.Ports {
		words := map[string]string{}
		for of := range called {
			words[string(of)+"_vif_port_id"] = ""
		}
		if id := made[p.UUID]; id != "" {
			words[string(work)+"_vif_port_id"] = id
		}
		if err := baremetal.NotePort(ctx, tx, p.UUID, words); err != nil {
			return err
		}
	}
	return nil
}

// Link is a port's local_link_connection: where it is wired to.
func Link(p *baremetal.Port) map[string]any {
	link := map[string]any{}
	if json.Unmarshal(p.LocalLinkConnection, &link) != nil {
		return map[string]any{}
	}
	return link
}

// GroupInformation is what Neutron's mechanisms are told of a port group.
func GroupInformation(g *baremetal.Portgroup) map[string]any {
	given, told := map[string]any{}, map[string]any{}
	if json.Unmarshal(g.Properties, &given) != nil {
		given = nil
	}
	for key, value := range given {
		if !strings.HasPrefix(key, "bond") { // as the Linux driver of bonds has its options
			key = "bond_" + key
		}
		told[key] = value
	}
	return map[string]any{"id": g.UUID, "name": g.Name, "bond_mode": g.Mode, "bond_properties": told}
}

// ClientID is the DHCP client id of a port of InfiniBand; empty for any other.
func ClientID(p *baremetal.Port) string {
	var extra map[string]any
	if json.Unmarshal(p.Extra, &extra) != nil {
		return ""
	}
	id, _ := extra["client-id"].(string)
	return id
}

// Wired says whether the network knows where a port is: that of the interface neutron needs
// a switch.
func (w *Wiring) Wired(p *baremetal.Port) bool {
	if ClientID(p) != "" {
		return true
	}
	link := Link(p)
	smart := link["port_id"] != nil && link["hostname"] != nil
	return smart == p.IsSmartNIC && (len(link) > 0 || NetworkInterface(w.Node) != NetworkNeutron)
}

// Choose finds what is to bear a VIF, of those that bear nothing: one on a physical network
// that the VIF can be on, none for every one; groups come before ports, and ports that boot
// before others. Ports of groups stand back behind their group unless one of them bears
// something already. Errors, in the original's words: Conflict (something bears the VIF
// already), Invalid (none is free), Internal (the ports of a group are on several physical
// networks).
func (w *Wiring) Choose(ask steps.NodeCommandInput, physical []string) (Bearer, error) {
	if b, borne := w.Bearer(ask.VIF); borne {
		return Bearer{}, faults.New(faults.Conflict, "VifAlreadyAttached", "Unable to attach VIF because VIF %s is already attached to Ironic %s %s", ask.VIF, b.Kind(), b.UUID())
	}
	var best Bearer
	rank := -1
	for _, b := range w.free(ask, physical) {
		if err := b.consistent(); err != nil {
			return Bearer{}, err
		}
		if r := b.rank(physical); r > rank {
			best, rank = b, r
		}
	}
	if rank < 0 {
		return Bearer{}, faults.New(faults.Invalid, "NoFreePhysicalPorts", "Unable to attach VIF %s, not enough free physical ports.", ask.VIF)
	}
	return best, nil
}

// free are those that can bear it.
func (w *Wiring) free(ask steps.NodeCommandInput, physical []string) []Bearer {
	var free []Bearer
	members, used := map[string][]Bearer{}, map[string]bool{}
	for _, b := range w.Bearers() {
		switch {
		case b.Group != nil || ask.Port != "" && ask.Port != b.UUID() || !w.Wired(b.Ports[0]):
			continue
		case b.VIF() != "":
			used[textOf(b.Ports[0].PortgroupUUID)] = true
			continue
		}
		if on := b.PhysicalNetwork(); len(physical) > 0 && on != "" && !slices.Contains(physical, on) {
			continue
		}
		if group := textOf(b.Ports[0].PortgroupUUID); group != "" || ask.Port == "" && ask.Portgroup != "" {
			members[group] = append(members[group], b)
		} else {
			free = append(free, b)
		}
	}
	if ask.Port != "" {
		return free
	}
	for _, b := range w.Bearers() {
		switch {
		case b.Group == nil || ask.Portgroup != "" && ask.Portgroup != b.UUID() || b.VIF() != "":
		case used[b.UUID()]:
			if ask.Portgroup == "" {
				free = append(free, members[b.UUID()]...)
			}
		case len(members[b.UUID()]) > 0:
			free = append(free, b)
		}
	}
	return free
}

// rank is how well it fits.
func (b Bearer) rank(physical []string) (rank int) {
	if slices.Contains(physical, textOf(b.Ports[0].PhysicalNetwork)) {
		rank += 4
	}
	if b.Group != nil {
		rank += 2
	}
	if b.Group != nil || b.Ports[0].PXEEnabled {
		rank++
	}
	return rank
}

// consistent refuses a group whose ports are on several physical networks.
func (b Bearer) consistent() error {
	var on []string
	for _, p := range b.Ports {
		if name := orNone(p.PhysicalNetwork); !slices.Contains(on, name) {
			on = append(on, name)
		}
	}
	if len(on) < 2 {
		return nil
	}
	return faults.New(faults.Internal, "PortgroupPhysnetInconsistent", "Port group %s has member ports with inconsistent physical networks (%s). "+
		"All ports in a port group must have the same physical network.", b.UUID(), strings.Join(on, ", "))
}

// textOf is a text; empty for none.
func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// orNone is a text as Python prints it.
func orNone(text *string) string {
	if text == nil {
		return "None"
	}
	return *text
}
