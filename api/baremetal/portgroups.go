package baremetal

// Port groups: ports of a node that work as one.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
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

var portgroups = kind[baremetal.Portgroup]{
	resource: &portgroupResource, table: baremetal.Portgroups, rule: "baremetal:portgroup:", param: "portgroup", misnamed: "Expected UUID or name for portgroup: %s", what: "portgroup",
	schema: "portgroup_create", byName: alwaysNamed,
	filters: portgroupFilters,
	fresh: func() *baremetal.Portgroup {
		mode := usualMode
		return &baremetal.Portgroup{Mode: &mode, StandalonePorts: true}
	},
	list:   func(a *API, r *rest.Request) (func(*listing) error, error) { return a.partsOfNodes(r, "portgroup") },
	may:    mayPart(baremetal.Portgroups, "portgroup", func(g *baremetal.Portgroup) string { return g.NodeUUID }),
	create: (*API).createPortgroup,
	change: (*API).changePortgroup,
	remove: func(_ *API, r *rest.Request, tx store.Tx, g *baremetal.Portgroup) error {
		_, err := idle(r, tx, g.NodeUUID)
		return err
	},
}

func (a *API) createPortgroup(r *rest.Request, tx store.Tx, body *pyjson.Object, g *baremetal.Portgroup) (err error) {
	if err := addressed(g); err != nil {
		return err
	}
	if g.NodeUUID, err = a.mayHave(r, tx, g.NodeUUID, "baremetal:portgroup:create"); err != nil {
		return err
	}
	if err := portgroupResource.acceptable(r, body); err != nil {
		return err
	}
	if g.Name != nil && *g.Name != "" && !isLogicalName(r, *g.Name) {
		return invalid("Cannot create portgroup with invalid name '%s'", *g.Name)
	}
	return nil
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

func (a *API) changePortgroup(r *rest.Request, tx store.Tx, before, after *baremetal.Portgroup, changes []change) error {
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
	if err := addressed(after); err != nil {
		return err
	}
	n, err := baremetal.Nodes.Find(r.Context(), tx, before.NodeUUID, false)
	if err != nil {
		return err
	}
	if n.ProvisionState == provision.Inspecting && r.At(v(39)) {
		return faults.New(faults.Conflict, "ClientSideError", "Cannot update portgroup \"%s\" on node \"%s\" while it is in state \"%s\".",
			before.UUID, n.UUID, n.ProvisionState)
	}
	if err := unlocked(n); err != nil || after.NodeUUID == before.NodeUUID {
		return err
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
		err = baremetal.NotEmpty(before)
	}
	return err
}
