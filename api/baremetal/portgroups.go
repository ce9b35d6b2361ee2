package baremetal

// Port groups: ports of a node that work as one.

import (
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// usualMode is that of a port group that names none (default_portgroup_mode).
const usualMode = "active-backup"

// portgroupFilters are the parameters of lists of port groups.
var portgroupFilters = []filter{
	{name: "node", since: 1},
	{name: "address", since: 1, read: byAddress},
	{name: "shard", since: 106, says: true, read: inShard("(SELECT n.shard FROM baremetal.nodes n WHERE n.uuid = t.node_uuid)")},
}

func (a *API) listPortgroups(detailed bool) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		parent, err := a.portsOf(r)
		if err != nil {
			return nil, err
		}
		project, err := mayList(r, "portgroup", "")
		if err != nil {
			return nil, err
		}
		l, err := portgroupResource.listing(r, portgroupFilters, a.MaxPageSize, detailed)
		if err != nil {
			return nil, err
		}
		ofNode(r, l, parent, project)
		if l.Marker != "" {
			if _, err := baremetal.FindPortgroup(r.Context(), a.DB.Pool, l.Marker); err != nil {
				return nil, err
			}
		}
		groups, err := baremetal.ListPortgroups(r.Context(), a.DB.Pool, l.List)
		if err != nil {
			return nil, err
		}
		return page(r, &portgroupResource, l, groups, func(g *baremetal.Portgroup) string { return g.UUID }, func(g *baremetal.Portgroup) map[string]any {
			return portgroupView(r, g, l.wanted)
		}), nil
	}
}

// portgroupView is what clients are shown of a port group.
func portgroupView(r *rest.Request, g *baremetal.Portgroup, wanted []string) map[string]any {
	return view(r, &portgroupResource, portgroupPlaces, g, g.UUID, wanted)
}

// ofGroup finds the node of the port group of the path, and asks rules about it.
// Whoever may not see the node is told that the group isn't there.
func (a *API) ofGroup(r *rest.Request, q store.Queryer, g *baremetal.Portgroup, rules ...string) (*baremetal.Node, error) {
	n, err := baremetal.FindNode(r.Context(), q, g.NodeUUID, false)
	if err != nil {
		return nil, err
	}
	if !r.Allows("baremetal:node:get", target(n)) {
		return nil, faults.New(faults.NotFound, "PortgroupNotFound", "Portgroup %s could not be found.", r.Param("portgroup"))
	}
	for _, rule := range rules {
		if err := r.Enforce(rule, target(n)); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (a *API) showPortgroup(r *rest.Request) (*rest.Response, error) {
	if err := portgroupResource.expected(r, common[4:5]); err != nil {
		return nil, err
	}
	wanted, err := portgroupResource.wanted(r)
	if err != nil {
		return nil, err
	}
	g, err := baremetal.FindPortgroup(r.Context(), a.DB.Pool, r.Param("portgroup"))
	if err != nil {
		return nil, err
	}
	if _, err := a.ofGroup(r, a.DB.Pool, g, "baremetal:portgroup:get"); err != nil {
		return nil, err
	}
	return rest.JSON(portgroupView(r, g, wanted)), nil
}

func (a *API) createPortgroup(r *rest.Request) (*rest.Response, error) {
	body, err := object(r, "portgroup_create", "portgroup")
	if err != nil {
		return nil, err
	}
	mode := usualMode
	g := &baremetal.Portgroup{UUID: uuid.NewString(), Mode: &mode, StandalonePorts: true}
	if err := fill(body, g); err != nil {
		return nil, err
	}
	if err := addressed(g); err != nil {
		return nil, err
	}
	settle(g)
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		var err error
		if g.NodeUUID, err = a.mayHave(r, tx, g.NodeUUID, "baremetal:portgroup:create"); err != nil {
			return err
		}
		if err := portgroupResource.acceptable(r, body); err != nil {
			return err
		}
		if g.Name != nil && *g.Name != "" && !isLogicalName(r, *g.Name) {
			return invalid("Cannot create portgroup with invalid name '%s'", *g.Name)
		}
		if err := baremetal.CreatePortgroup(r.Context(), tx, g); err != nil {
			return err
		}
		g, err = baremetal.FindPortgroup(r.Context(), tx, g.UUID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(portgroupView(r, g, nil)).WithHeader("Location", r.Link("portgroups", g.UUID)), nil
}

// addressed writes a port group's address as addresses are kept.
func addressed(g *baremetal.Portgroup) error {
	if g.Address == nil {
		return nil
	}
	address, err := mac("address", *g.Address)
	g.Address = &address
	return err
}

func (a *API) updatePortgroup(r *rest.Request) (*rest.Response, error) {
	changes, err := portgroupResource.readPatch(r)
	if err != nil {
		return nil, err
	}
	mode := usualMode
	after := &baremetal.Portgroup{Mode: &mode, StandalonePorts: true}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		g, err := baremetal.LockPortgroup(r.Context(), tx, r.Param("portgroup"))
		if err != nil {
			return err
		}
		n, err := a.ofGroup(r, tx, g, "baremetal:portgroup:update")
		if err != nil {
			return err
		}
		if err := a.patchPortgroup(r, tx, g, after, n, changes); err != nil {
			return err
		}
		if err := baremetal.UpdatePortgroup(r.Context(), tx, after); err != nil {
			return err
		}
		after, err = baremetal.FindPortgroup(r.Context(), tx, g.UUID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(portgroupView(r, after, nil)), nil
}

// patchPortgroup makes a port group what it is after a patch.
func (a *API) patchPortgroup(r *rest.Request, tx store.Tx, before, after *baremetal.Portgroup, n *baremetal.Node, changes []change) error {
	for _, c := range changes {
		if c.path == "/mode" && c.op == "remove" {
			return invalid("'mode' is a mandatory attribute and can not be removed")
		}
	}
	for _, name := range values(changes, "/name") {
		if word, ok := name.(string); ok && word != "" && !isLogicalName(r, word) {
			return invalid("Portgroup %s: Cannot change name to invalid name '%s'", r.Param("portgroup"), word)
		}
	}
	if err := patched(before, changes, "portgroup_create", after); err != nil {
		return err
	}
	after.UUID = before.UUID
	if err := addressed(after); err != nil {
		return err
	}
	switch {
	case n.ProvisionState == provision.Inspecting && r.At(v(39)):
		return faults.New(faults.Conflict, "ClientSideError", "Cannot update portgroup \"%s\" on node \"%s\" while it is in state \"%s\".",
			before.UUID, n.UUID, n.ProvisionState)
	case n.Reservation != nil:
		return provision.Locked(provision.Node{ID: n.UUID, Reservation: *n.Reservation})
	case after.NodeUUID == before.NodeUUID:
		return nil
	}
	return a.mayMoveGroup(r, tx, before, after, n)
}

// mayMoveGroup says whether a port group may become another node's.
func (a *API) mayMoveGroup(r *rest.Request, tx store.Tx, before, after *baremetal.Portgroup, n *baremetal.Node) error {
	var err error
	if after.NodeUUID, err = a.mayHave(r, tx, after.NodeUUID, "baremetal:portgroup:update"); err != nil {
		return err
	}
	if !wirable(n) {
		return faults.New(faults.Conflict, "InvalidState", "Portgroup %s can not be associated to node %s unless the node is in a %s state or in maintenance mode. "+
			"Current state is '%s'.", before.UUID, n.UUID, wirableStates, n.ProvisionState)
	}
	has, err := baremetal.PortgroupHasPorts(r.Context(), tx, before.UUID)
	if err == nil && has {
		err = notEmpty(before)
	}
	return err
}

func notEmpty(g *baremetal.Portgroup) error {
	return faults.New(faults.Invalid, "PortgroupNotEmpty", "Cannot complete the requested action because portgroup %s contains ports.", g.UUID)
}

func (a *API) deletePortgroup(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		g, err := baremetal.LockPortgroup(r.Context(), tx, r.Param("portgroup"))
		if err != nil {
			return err
		}
		n, err := a.ofGroup(r, tx, g, "baremetal:portgroup:delete")
		if err != nil {
			return err
		}
		if n.Reservation != nil {
			return provision.Locked(provision.Node{ID: n.UUID, Reservation: *n.Reservation})
		}
		has, err := baremetal.PortgroupHasPorts(r.Context(), tx, g.UUID)
		switch {
		case err != nil:
			return err
		case has:
			return notEmpty(g)
		}
		return baremetal.DeletePortgroup(r.Context(), tx, g)
	})
}

// grouped finds the port group of a port, which must be its node's.
func (a *API) grouped(r *rest.Request, tx store.Tx, p *baremetal.Port) error {
	if p.PortgroupUUID == nil {
		return nil
	}
	g, err := baremetal.LockPortgroup(r.Context(), tx, *p.PortgroupUUID)
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

// listGroupsPorts answers GET /portgroups/{portgroup}/ports.
func (a *API) listGroupsPorts(detailed bool) rest.Handler {
	list := a.listPorts(detailed)
	return func(r *rest.Request) (*rest.Response, error) {
		g, err := baremetal.FindPortgroup(r.Context(), a.DB.Pool, r.Param("portgroup"))
		if err != nil {
			return nil, err
		}
		if _, err := a.ofGroup(r, a.DB.Pool, g); err != nil {
			return nil, err
		}
		return list(r)
	}
}

// showChildren answers GET /nodes/{node}/children: the nodes that are part of it.
func (a *API) showChildren(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool)
	if err != nil {
		return nil, err
	}
	project, err := mayList(r, "node", "")
	if err != nil {
		return nil, err
	}
	l := baremetal.List{Limit: a.MaxPageSize, Filters: []baremetal.Filter{{SQL: "t.parent_node = $", Value: n.UUID}}}
	if project != "" {
		l.Filters = append(l.Filters, baremetal.Filter{SQL: "(t.owner = $ OR t.lessee = $)", Value: project})
	}
	nodes, err := baremetal.ListNodes(r.Context(), a.DB.Pool, l)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(nodes))
	for i, child := range nodes {
		ids[i] = child.UUID
	}
	link := rest.Link{Rel: "children", Href: strings.TrimSuffix(r.Link("nodes"), "/") + "?parent_node=" + n.UUID}
	return rest.JSON(map[string]any{"children": ids, "links": link}), nil
}
