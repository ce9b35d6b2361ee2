package baremetal

// Ports: the network interfaces of nodes.

import (
	"encoding/json"
	"net"
	"slices"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
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

func (a *API) listPorts(detailed bool) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		parent, err := a.portsOf(r)
		if err != nil {
			return nil, err
		}
		project, err := mayList(r, "port", "")
		if err != nil {
			return nil, err
		}
		l, err := portResource.listing(r, portFilters, a.MaxPageSize, detailed)
		if err != nil {
			return nil, err
		}
		if err := a.ofOnePortgroup(r, l, parent != nil); err != nil {
			return nil, err
		}
		ofNode(r, l, parent, project)
		if l.Marker != "" {
			if _, err := baremetal.FindPort(r.Context(), a.DB.Pool, l.Marker, false); err != nil {
				return nil, err
			}
		}
		ports, err := baremetal.ListPorts(r.Context(), a.DB.Pool, l.List)
		if err != nil {
			return nil, err
		}
		return page(r, &portResource, l, ports, func(p *baremetal.Port) string { return p.UUID }, func(p *baremetal.Port) map[string]any {
			return portView(r, p, l.wanted)
		}), nil
	}
}

// ofNode narrows a list of a node's parts to one node, nil for any, and to the
// nodes of a project.
func ofNode(r *rest.Request, l *listing, parent *baremetal.Node, project string) {
	if parent != nil {
		l.Filters = append(l.Filters, baremetal.Filter{SQL: "t.node_uuid = $", Value: parent.UUID})
	}
	if project != "" {
		l.Filters = append(l.Filters, baremetal.Filter{SQL: "EXISTS (SELECT FROM baremetal.nodes n WHERE n.uuid = t.node_uuid AND (n.owner = $ OR n.lessee = $))", Value: project})
	}
	if r.Param("node") != "" {
		l.path = "nodes/" + r.Param("node") + "/" + l.path
	}
}

// ofOnePortgroup narrows a list of ports to a port group, by the path or the
// query. Of node, port group and shard only one can be asked by.
func (a *API) ofOnePortgroup(r *rest.Request, l *listing, node bool) error {
	ident := r.Query.Get("portgroup")
	if r.Param("portgroup") != "" {
		ident = r.Param("portgroup")
		l.path = "portgroups/" + ident + "/" + l.path
	}
	given := 0
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
	g, err := baremetal.FindPortgroup(r.Context(), a.DB.Pool, ident)
	if err == nil {
		l.Filters = append(l.Filters, baremetal.Filter{SQL: "t.portgroup_uuid = $", Value: g.UUID})
	}
	return err
}

// portsOf is the node whose ports are asked for, by the path or the query; nil
// for those of all.
func (a *API) portsOf(r *rest.Request) (*baremetal.Node, error) {
	if r.Param("node") != "" {
		return a.node(r, a.DB.Pool)
	}
	ident := r.Query.Get("node_uuid")
	if ident == "" {
		ident = r.Query.Get("node")
	}
	if ident == "" {
		return nil, nil
	}
	if !byName(r) && !baremetal.IsUUID(ident) {
		return nil, notAcceptable()
	}
	return baremetal.FindNode(r.Context(), a.DB.Pool, ident, true)
}

// portView is what clients are shown of a port.
func portView(r *rest.Request, p *baremetal.Port, wanted []string) map[string]any {
	return view(r, &portResource, portPlaces, p, p.UUID, wanted)
}

// port finds the port of the path, with its node, and asks rules about that.
func (a *API) port(r *rest.Request, q store.Queryer, find func(named bool) (*baremetal.Port, error), rules ...string) (*baremetal.Port, *baremetal.Node, error) {
	p, err := find(r.At(v(88)))
	if err != nil {
		return nil, nil, err
	}
	n, err := baremetal.FindNode(r.Context(), q, p.NodeUUID, false)
	if err != nil {
		return nil, nil, err
	}
	if !r.Allows("baremetal:node:get", target(n)) {
		return nil, nil, faults.New(faults.NotFound, "PortNotFound", "Port %s could not be found.", r.Param("port"))
	}
	for _, rule := range rules {
		if err := r.Enforce(rule, target(n)); err != nil {
			return nil, nil, err
		}
	}
	return p, n, nil
}

// lockPort is port for a change.
func (a *API) lockPort(r *rest.Request, tx store.Tx, rule string) (*baremetal.Port, *baremetal.Node, error) {
	return a.port(r, tx, func(named bool) (*baremetal.Port, error) {
		return baremetal.LockPort(r.Context(), tx, r.Param("port"), named)
	}, rule)
}

func (a *API) showPort(r *rest.Request) (*rest.Response, error) {
	if err := portResource.expected(r, common[4:5]); err != nil {
		return nil, err
	}
	wanted, err := portResource.wanted(r)
	if err != nil {
		return nil, err
	}
	p, _, err := a.port(r, a.DB.Pool, func(named bool) (*baremetal.Port, error) {
		return baremetal.FindPort(r.Context(), a.DB.Pool, r.Param("port"), named)
	}, "baremetal:port:get")
	if err != nil {
		return nil, err
	}
	return rest.JSON(portView(r, p, wanted)), nil
}

func (a *API) createPort(r *rest.Request) (*rest.Response, error) {
	body, err := object(r, "port_create", "port")
	if err != nil {
		return nil, err
	}
	p := &baremetal.Port{UUID: uuid.NewString(), PXEEnabled: true, ForDynamicPortgroup: true}
	if err := fill(body, p); err != nil {
		return nil, err
	}
	if p.Address, err = mac("address", p.Address); err != nil {
		return nil, err
	}
	ident := p.NodeUUID
	if named, ok := body.Get("node_ident"); ok {
		if !r.At(v(94)) {
			return nil, notAcceptable()
		}
		ident, _ = named.(string)
	}
	settle(p)
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		var err error
		if p.NodeUUID, err = a.mayHave(r, tx, ident, "baremetal:port:create"); err != nil {
			return err
		}
		if err := portResource.acceptable(r, body); err != nil {
			return err
		}
		if err := a.grouped(r, tx, p); err != nil {
			return err
		}
		if err := sound(r, p); err != nil {
			return err
		}
		if err := baremetal.CreatePort(r.Context(), tx, p); err != nil {
			return err
		}
		p, err = baremetal.FindPort(r.Context(), tx, p.UUID, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(portView(r, p, nil)).WithHeader("Location", r.Link("ports", p.UUID)), nil
}

// mayHave gives the id of the node that a new port or port group is of. Whoever
// a rule doesn't let is not told whether the node is there.
func (a *API) mayHave(r *rest.Request, tx store.Tx, ident, rule string) (uuid string, err error) {
	n, err := baremetal.LockNode(r.Context(), tx, ident, byName(r))
	if err != nil && !faults.Is(err, faults.NotFound) {
		return "", err
	}
	owners := map[string]any{"node.owner": nil}
	if err == nil {
		owners = target(n)
	}
	if refused := r.Enforce(rule, owners); refused != nil {
		return "", refused
	}
	if err != nil {
		return "", asInvalid(err)
	}
	return n.UUID, nil
}

// sound refuses what a port can't be.
func sound(r *rest.Request, p *baremetal.Port) error {
	if p.PhysicalNetwork != nil && *p.PhysicalNetwork == "" {
		return faults.New(faults.Invalid, "Invalid", "A non-empty value is required when setting physical_network")
	}
	var link map[string]any
	if err := json.Unmarshal(p.LocalLinkConnection, &link); err != nil {
		return invalid("Invalid value for local_link_connection: %s", p.LocalLinkConnection)
	}
	if _, typed := link["network_type"]; typed && !r.At(v(64)) {
		return notAcceptable()
	}
	if p.IsSmartNIC && (link["port_id"] == nil || link["hostname"] == nil) {
		return faults.New(faults.Invalid, "Invalid", "Smart NIC port must have port_id and hostname in local_link_connection")
	}
	return nil
}

func (a *API) updatePort(r *rest.Request) (*rest.Response, error) {
	changes, err := portResource.readPatch(r)
	if err != nil {
		return nil, err
	}
	var after *baremetal.Port
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		p, n, err := a.lockPort(r, tx, "baremetal:port:update")
		if err != nil {
			return err
		}
		if after, err = a.patchPort(r, tx, p, n, changes); err != nil {
			return err
		}
		if err := baremetal.UpdatePort(r.Context(), tx, after); err != nil {
			return err
		}
		after, err = baremetal.FindPort(r.Context(), tx, p.UUID, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(portView(r, after, nil)), nil
}

// connectivity are the fields of a port that its node's network is made by.
var connectivity = []string{"local_link_connection", "physical_network", "portgroup_uuid", "pxe_enabled"}

// wirableStates are those in which a node's connections may change.
const wirableStates = "enroll, inspecting, inspect wait, manageable"

// wirable says whether a node's connections may change.
func wirable(n *baremetal.Node) bool {
	return n.Maintenance || n.ProvisionState.Rewirable() && n.ProvisionState != provision.Available
}

// patchPort is the port after a patch.
func (a *API) patchPort(r *rest.Request, tx store.Tx, p *baremetal.Port, n *baremetal.Node, changes []change) (*baremetal.Port, error) {
	after := &baremetal.Port{PXEEnabled: true, ForDynamicPortgroup: true}
	if err := patched(p, changes, "port_create", after); err != nil {
		return nil, err
	}
	var err error
	if after.Address, err = mac("address", after.Address); err != nil {
		return nil, err
	}
	if after.NodeUUID != p.NodeUUID {
		if err := a.mayMovePort(r, tx, after); err != nil {
			return nil, err
		}
	}
	if !same(p.PortgroupUUID, after.PortgroupUUID) || after.NodeUUID != p.NodeUUID {
		if err := a.grouped(r, tx, after); err != nil {
			return nil, err
		}
	}
	if err := sound(r, after); err != nil {
		return nil, err
	}
	if n.Reservation != nil {
		return nil, provision.Locked(provision.Node{ID: n.UUID, Reservation: *n.Reservation})
	}
	return after, mayChangePort(r, p, after, n, changes)
}

// mayMovePort finds the node that a port is given to, which the caller must see.
func (a *API) mayMovePort(r *rest.Request, tx store.Tx, p *baremetal.Port) error {
	n, err := baremetal.FindNode(r.Context(), tx, p.NodeUUID, byName(r))
	if err == nil && !r.Allows("baremetal:node:get", target(n)) {
		err = faults.New(faults.NotFound, "NodeNotFound", "Node %s could not be found.", p.NodeUUID)
	}
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

func (a *API) deletePort(r *rest.Request) (*rest.Response, error) {
	if !baremetal.IsUUID(r.Param("port")) {
		return nil, invalid("Expected UUID for port_uuid: %s", r.Param("port"))
	}
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		p, n, err := a.lockPort(r, tx, "baremetal:port:delete")
		switch {
		case err != nil:
			return err
		case n.Reservation != nil:
			return provision.Locked(provision.Node{ID: n.UUID, Reservation: *n.Reservation})
		case (n.ProvisionState == provision.Active || n.InstanceUUID != nil) && !n.Maintenance && attached(p):
			return faults.New(faults.Conflict, "InvalidState", "Cannot delete port %s as node %s is active or has instance UUID assigned", p.UUID, n.UUID)
		}
		return baremetal.DeletePort(r.Context(), tx, p)
	})
}

// attached says whether an instance's network is on the port.
func attached(p *baremetal.Port) bool {
	var info map[string]any
	return json.Unmarshal(p.InternalInfo, &info) == nil && info["tenant_vif_port_id"] != nil
}
