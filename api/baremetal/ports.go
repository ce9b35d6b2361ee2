package baremetal

// Ports: the network interfaces of nodes.

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// portFilters are the parameters of lists of ports.
var portFilters = []filter{
	{name: "node", since: 1},
	{name: "node_uuid", since: 1},
	{name: "address", since: 1, read: byAddress},
	{name: "portgroup", since: 24},
	{name: "shard", since: 82, says: true, read: inShard("(SELECT n.shard FROM baremetal.nodes n WHERE n.uuid = t.node_uuid)")},
	{name: "description_contains", since: 1, read: contains},
}

func byAddress(value string) (baremetal.Filter, error) {
	address, err := mac("address", value)
	return baremetal.Filter{SQL: "t.address = $", Value: address}, err
}

// mac reads a hardware address: lower case, with colons.
func mac(name, value string) (string, error) {
	address, err := net.ParseMAC(value)
	if err != nil || len(address) != 6 || len(value) != 17 {
		return "", invalid("Expected valid MAC address for %s: %s", name, value)
	}
	return address.String(), nil
}

var ports = kind[baremetal.Port]{
	resource: &portResource, table: baremetal.Ports, rule: "baremetal:port:", param: "port", misnamed: "Expected UUID or name for port_ident: %s", what: "port",
	schema: "port_create", byName: func(r *rest.Request) bool { return r.At(v(88)) },
	filters: portFilters,
	fresh:   func() *baremetal.Port { return &baremetal.Port{PXEEnabled: true, ForDynamicPortgroup: true} },
	list: func(a *API, r *rest.Request) (func(*listing) error, error) {
		narrow, err := a.partsOfNodes(r, "port")
		return func(l *listing) error {
			if err := a.ofOnePortgroup(r, l); err != nil {
				return err
			}
			return narrow(l)
		}, err
	},
	may:    mayPart(baremetal.Ports, "port", func(p *baremetal.Port) string { return p.NodeUUID }),
	create: (*API).createPort,
	change: (*API).changePort,
	remove: func(a *API, r *rest.Request, tx store.Tx, p *baremetal.Port) error {
		n, err := idle(r, tx, p.NodeUUID)
		if err == nil && (n.ProvisionState == provision.Active || n.InstanceUUID != nil) && !n.Maintenance && (nodes.Bearer{Ports: []*baremetal.Port{p}}).VIF() != "" {
			err = faults.New(faults.Conflict, "InvalidState", "Cannot delete port %s as node %s is active or has instance UUID assigned", p.UUID, n.UUID)
		}
		return err
	},
}

// ofOnePortgroup narrows a list of ports to a port group, by the path or the
// query, whose node the caller must see. Of node, port group and shard only one can be asked by.
func (a *API) ofOnePortgroup(r *rest.Request, l *listing) error {
	ident := r.Query.Get("portgroup")
	if r.Param("portgroup") != "" {
		ident = r.Param("portgroup")
		l.path = "portgroups/" + ident + "/" + l.path
	}
	given, node := 0, r.Param("node") != "" || r.Query.Get("node") != "" || r.Query.Get("node_uuid") != ""
	for _, is := range []bool{node, ident != "", r.Query.Has("shard")} {
		if is {
			given++
		}
	}
	if given > 1 {
		return faults.New(faults.Forbidden, "OperationNotPermitted", "Operation not permitted.")
	}
	if ident == "" {
		return nil
	}
	if !mayBeNamed(r, ident) {
		return invalid("Expected UUID or name for portgroup: %s", ident)
	}
	g, err := baremetal.Portgroups.Find(r.Context(), a.DB.Pool, ident, true)
	if err != nil {
		return err
	}
	if _, err := visibleNode(r, a.DB.Pool, g.NodeUUID, false); faults.Is(err, faults.NotFound) {
		return baremetal.Portgroups.Missing(ident)
	} else if err != nil {
		return err
	}
	l.Filters = append(l.Filters, baremetal.Filter{SQL: "t.portgroup_uuid = $", Value: g.UUID})
	return nil
}

func (a *API) createPort(r *rest.Request, tx store.Tx, body *pyjson.Object, p *baremetal.Port) (err error) {
	if p.Address, err = mac("address", p.Address); err != nil {
		return err
	}
	ident := p.NodeUUID
	if named, ok := body.Get("node_ident"); ok {
		if !r.At(v(94)) {
			return notAcceptable()
		}
		ident, _ = named.(string)
	}
	if p.NodeUUID, err = a.mayHave(r, tx, ident, "baremetal:port:create"); err != nil {
		return err
	}
	if err := portResource.acceptable(r, body); err != nil {
		return err
	}
	if err := grouped(r, tx, p); err != nil {
		return err
	}
	if err := sound(r, p); err != nil {
		return err
	}
	return onNetworkOfGroup(r, tx, p)
}

// sound refuses what a port can't be.
func sound(r *rest.Request, p *baremetal.Port) error {
	if p.PhysicalNetwork != nil && *p.PhysicalNetwork == "" {
		return faults.New(faults.Invalid, "Invalid", "A non-empty value is required when setting physical_network")
	}
	link, err := wiredTo(p)
	if err != nil {
		return err
	}
	if _, typed := link["network_type"]; typed && !r.At(v(64)) {
		return notAcceptable()
	}
	if p.IsSmartNIC && (link["port_id"] == nil || link["hostname"] == nil) {
		return faults.New(faults.Invalid, "Invalid", "Smart NIC port must have port_id and hostname in local_link_connection")
	}
	return nil
}

// datapath is an id of OpenFlow's for a switch.
var datapath = regexp.MustCompile(`^[0-9a-f]{16}$`)

// wiredTo reads where a port is wired to, and has its switch's id in lower case.
func wiredTo(p *baremetal.Port) (link map[string]any, err error) {
	said, _, err := pyjson.Parse(p.LocalLinkConnection)
	if err != nil {
		return nil, fmt.Errorf("local_link_connection: %w", err)
	}
	if err := check("local_link_connection", "local_link_connection", said); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(p.LocalLinkConnection, &link); err != nil {
		return nil, fmt.Errorf("local_link_connection: %w", err)
	}
	for one, other := range map[string]string{"vtep-logical-switch": "vtep-physical-switch", "vtep-physical-switch": "vtep-logical-switch"} {
		if link[one] != nil && link[other] == nil {
			return nil, invalid("Schema error for local_link_connection: '%s' is a dependency of '%s'", other, one)
		}
	}
	id, given := link["switch_id"].(string)
	if !given {
		return link, nil
	}
	lower := strings.ToLower(id)
	if _, err := mac("switch_id", lower); err != nil && !datapath.MatchString(lower) {
		return nil, faults.New(faults.Invalid, "InvalidSwitchID", "Expected a MAC address or OpenFlow datapath ID but received %s.", id)
	}
	link["switch_id"] = lower
	p.LocalLinkConnection, err = json.Marshal(link)
	return link, err
}

// connectivity are the fields of a port that its node's network is made by.
var connectivity = []string{"local_link_connection", "physical_network", "portgroup_uuid", "pxe_enabled"}

// wirableStates are those in which a node's connections may change.
const wirableStates = "enroll, inspecting, inspect wait, manageable"

// wirable says whether a node's connections may change.
func wirable(n *baremetal.Node) bool {
	return n.Maintenance || n.ProvisionState.Rewirable() && n.ProvisionState != provision.Available
}

func (a *API) changePort(r *rest.Request, tx store.Tx, before, after *baremetal.Port, changes []change) (err error) {
	if after.Address, err = mac("address", after.Address); err != nil {
		return err
	}
	if after.NodeUUID != before.NodeUUID {
		if err := mayMovePort(r, tx, after); err != nil {
			return err
		}
	}
	if !same(before.PortgroupUUID, after.PortgroupUUID) || after.NodeUUID != before.NodeUUID {
		if err := grouped(r, tx, after); err != nil {
			return err
		}
	}
	if err := sound(r, after); err != nil {
		return err
	}
	n, err := idle(r, tx, before.NodeUUID)
	if err != nil {
		return err
	}
	if err := mayChangePort(r, before, after, n, changes); err != nil {
		return err
	}
	if same(before.PortgroupUUID, after.PortgroupUUID) && same(before.PhysicalNetwork, after.PhysicalNetwork) {
		return nil
	}
	return onNetworkOfGroup(r, tx, after)
}

// mayMovePort finds the node that a port is given to, which the caller must see.
func mayMovePort(r *rest.Request, tx store.Tx, p *baremetal.Port) error {
	n, err := visibleNode(r, tx, p.NodeUUID, byName(r))
	if err != nil {
		return asInvalid(err)
	}
	return r.Enforce("baremetal:port:update", target(n))
}

// mayChangePort says whether a port can be changed while its node is what it is.
func mayChangePort(r *rest.Request, before, after *baremetal.Port, n *baremetal.Node, changes []change) error {
	if n.ProvisionState == provision.Inspecting && r.At(v(39)) {
		return faults.New(faults.Conflict, "ClientSideError", "Cannot update port \"%s\" on \"%s\" while it is in state \"%s\".",
			before.UUID, n.UUID, n.ProvisionState)
	}
	if n.Maintenance {
		return nil
	}
	if (n.ProvisionState == provision.Active || n.InstanceUUID != nil) && before.Address != after.Address {
		return faults.New(faults.Conflict, "InvalidState", "Cannot update hardware address for port %s as node %s is active or has instance UUID assigned",
			before.UUID, n.UUID)
	}
	touched := slices.ContainsFunc(changes, func(c change) bool { return slices.Contains(connectivity, c.root()) })
	if touched && !wirable(n) {
		return faults.New(faults.Conflict, "InvalidState", "Port %s can not have any connectivity attributes (%s) updated unless node %s is in a %s state "+
			"or in maintenance mode. The current state is %s.", before.UUID, strings.Join(connectivity, ", "), n.UUID,
			wirableStates, n.ProvisionState)
	}
	return nil
}

// deletePort answers DELETE /ports/{port}, which knows ports by their ids only.
func (a *API) deletePort(r *rest.Request) (*rest.Response, error) {
	if !baremetal.IsUUID(r.Param("port")) {
		return nil, invalid("Expected UUID for port_uuid: %s", r.Param("port"))
	}
	return ports.remover(a)(r)
}

// grouped finds the port group of a port, which must be its node's.
func grouped(r *rest.Request, tx store.Tx, p *baremetal.Port) error {
	if p.PortgroupUUID == nil {
		return nil
	}
	g, err := baremetal.Portgroups.Lock(r.Context(), tx, *p.PortgroupUUID, true)
	switch {
	case err != nil:
		return asInvalid(err)
	case g.NodeUUID != p.NodeUUID:
		return faults.New(faults.Invalid, "BadRequest", "Port can not be added to a portgroup belonging to a different node.")
	case p.PXEEnabled && !g.StandalonePorts:
		return faults.New(faults.Conflict, "Conflict", "Port group %s doesn't support standalone ports. This port cannot be created as a member of that "+
			"portgroup as the port's 'pxe_enabled' field was set to True.", g.UUID)
	}
	return nil
}

// onNetworkOfGroup refuses a port that isn't on the physical network of its port group;
// one that is on none yet is on the port's from now on.
func onNetworkOfGroup(r *rest.Request, tx store.Tx, p *baremetal.Port) error {
	if p.PortgroupUUID == nil {
		return nil
	}
	network, bound, err := baremetal.NetworkOfGroup(r.Context(), tx, p)
	switch {
	case err != nil:
		return err
	case bound && !same(network, p.PhysicalNetwork):
		return faults.New(faults.Conflict, "Conflict", "Port with physical network %s cannot become a member of port group %s which has ports in physical network %s.",
			orNone(p.PhysicalNetwork), *p.PortgroupUUID, orNone(network))
	case !bound && p.PhysicalNetwork != nil:
		return baremetal.SetNetworkOfGroup(r.Context(), tx, *p.PortgroupUUID, *p.PhysicalNetwork)
	}
	return nil
}

// orNone is a text as Python prints it.
func orNone(text *string) string {
	if text == nil {
		return "None"
	}
	return *text
}
