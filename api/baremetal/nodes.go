package baremetal

// Nodes: listed, shown, enrolled and taken away.

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// nodeFilters are the parameters of lists of nodes.
var nodeFilters = []filter{
	{name: "chassis_uuid", since: 1, read: byUUID("chassis_uuid")},
	{name: "instance_uuid", since: 1, read: byUUID("instance_uuid")},
	{name: "associated", since: 1, read: present("instance_uuid", "associated")},
	{name: "maintenance", since: 1, read: truth("maintenance")},
	{name: "provision_state", since: 9, read: inState},
	{name: "driver", since: 16, says: true, read: equal("driver")},
	{name: "resource_class", since: 21, says: true, read: equal("resource_class")},
	{name: "fault", since: 42, says: true, read: byFault},
	{name: "conductor_group", since: 46, says: true, read: equal("conductor_group")},
	{name: "conductor", since: 49, says: true, read: byConductor},
	{name: "owner", since: 50, says: true, read: equal("owner")},
	{name: "description_contains", since: 1, read: contains},
	{name: "retired", since: 1, read: truth("retired")},
	{name: "lessee", since: 65, says: true, read: equal("lessee")},
	{name: "project", since: 1},
	{name: "shard", since: 82, says: true, read: inShard("t.shard")},
	{name: "sharded", since: 82, says: true, read: present("shard", "sharded")},
	{name: "include_children", since: 83, says: true},
	{name: "parent_node", since: 83, says: true, read: byUUID("parent_node")},
	{name: "instance_name", since: 104, says: true, read: equal("instance_name")},
}

// present is a filter by whether a column has a value.
func present(column, name string) func(string) (baremetal.Filter, error) {
	return func(value string) (baremetal.Filter, error) {
		is, err := boolean(name, value)
		return baremetal.Filter{SQL: "(t." + column + " IS NOT NULL) = $", Value: is}, err
	}
}

func inState(value string) (baremetal.Filter, error) {
	if _, known := provision.Lookup(provision.State(value)); !known {
		return baremetal.Filter{}, invalid("Provision state \"%s\" is not valid", value)
	}
	return baremetal.Filter{SQL: "t.provision_state = $", Value: value}, nil
}

func byFault(value string) (baremetal.Filter, error) {
	if !slices.Contains(provision.Faults, value) {
		return baremetal.Filter{}, invalid("Unrecognized fault \"%s\" is specified, allowed faults are ('%s')", value, strings.Join(provision.Faults, "', '"))
	}
	return baremetal.Filter{SQL: "t.fault = $", Value: value}, nil
}

// byConductor is a filter by who works on a node's requests.
func byConductor(value string) (baremetal.Filter, error) {
	return baremetal.Filter{SQL: baremetal.Nodes.SQL("conductor") + " = $", Value: value}, nil
}

// inShard is a filter by a list of shards.
func inShard(column string) func(string) (baremetal.Filter, error) {
	return func(value string) (baremetal.Filter, error) {
		var shards []string
		for part := range strings.SplitSeq(value, ",") {
			shards = append(shards, strings.ToLower(strings.TrimSpace(part)))
		}
		return baremetal.Filter{SQL: column + " = ANY ($)", Value: shards}, nil
	}
}

func (a *API) listNodes(detailed bool) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		project, err := mayList(r, "node", r.Query.Get("project"))
		if err != nil {
			return nil, err
		}
		l, err := nodeResource.listing(r, nodeFilters, a.MaxPageSize, detailed)
		if err != nil {
			return nil, err
		}
		if project != "" {
			l.Filters = append(l.Filters, baremetal.Filter{SQL: "(t.owner = $ OR t.lessee = $)", Value: project})
		}
		if err := a.within(r, l); err != nil {
			return nil, err
		}
		nodes, err := baremetal.Nodes.List(r.Context(), a.DB.Pool, l.List)
		if err != nil {
			return nil, err
		}
		if r.Query.Has("instance_uuid") {
			l.Limit = 0 // there is no other
		}
		show := a.nodeView(r, l.wanted)
		return page(r, &nodeResource, l, nodes, func(n *baremetal.Node) string { return n.UUID }, show), nil
	}
}

// within narrows a list to a chassis in its path, and to nodes that are part of
// no other unless those were asked for; and finds its marker.
func (a *API) within(r *rest.Request, l *listing) error {
	if id := r.Param("chassis"); id != "" {
		if _, err := baremetal.AllChassis.Find(r.Context(), a.DB.Pool, id, false); err != nil {
			return err
		}
		l.path = "chassis/" + id + "/" + l.path
		l.Filters = append(l.Filters, baremetal.Filter{SQL: "t.chassis_uuid = $", Value: id})
	}
	children := r.Query.Has("parent_node")
	if value := r.Query.Get("include_children"); value != "" {
		is, err := boolean("include_children", value)
		if err != nil {
			return err
		}
		children = children || is
	}
	if !children {
		l.Filters = append(l.Filters, baremetal.Filter{SQL: "t.parent_node IS NULL"})
	}
	if l.Marker == "" {
		return nil
	}
	_, err := baremetal.Nodes.Find(r.Context(), a.DB.Pool, l.Marker, false)
	return err
}

func (a *API) showNode(r *rest.Request) (*rest.Response, error) {
	wanted, err := nodeResource.wanted(r)
	if err != nil {
		return nil, err
	}
	n, err := a.node(r, a.DB.Pool)
	if err != nil {
		return nil, err
	}
	return rest.JSON(a.nodeView(r, wanted)(n)), nil
}

func (a *API) createNode(r *rest.Request) (*rest.Response, error) {
	body, err := object(r, "node_create", "node")
	if err != nil {
		return nil, err
	}
	n := &baremetal.Node{UUID: uuid.NewString(), ProvisionState: provision.Initial(r.Version)}
	if err := fill(body, n); err != nil {
		return nil, err
	}
	if err := mayEnroll(r, n); err != nil {
		return nil, err
	}
	if err := nodeResource.acceptable(r, body); err != nil {
		return nil, err
	}
	if n.Name != nil {
		if err := named(r, *n.Name, "Cannot create node with invalid name '%s'"); err != nil {
			return nil, err
		}
	}
	n.ConductorGroup = strings.ToLower(n.ConductorGroup)
	settle(n)
	if err := a.equip(n); err != nil {
		return nil, err
	}
	if err := nodes.Conceal(a.Secrets, n, nil); err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) (err error) {
		if err = a.belongs(r, tx, n); err != nil {
			return err
		}
		if err = baremetal.Nodes.Create(r.Context(), tx, n); err == nil {
			n, err = baremetal.Nodes.Find(r.Context(), tx, n.UUID, false)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(a.nodeView(r, nil)(n)).WithHeader("Location", r.Link("nodes", n.UUID)), nil
}

// mayEnroll says whether the caller may add the node. A project's administrator
// adds nodes that the project owns.
func mayEnroll(r *rest.Request, n *baremetal.Node) error {
	const own = "baremetal:node:create:self_owned_node"
	if !r.Allows(own, nil) {
		return r.Enforce("baremetal:node:create", nil)
	}
	if r.Identity.SystemScope == "all" {
		return nil
	}
	project := r.Identity.ProjectID
	if n.Owner != nil && *n.Owner != "" && *n.Owner != project {
		return faults.New(faults.Invalid, "Invalid", "Cannot create a node as a project scoped admin with an owner other than your own project.")
	}
	n.Owner = &project
	return nil
}

// equip gives a node the interfaces of its hardware type that it doesn't name,
// and refuses those that the type doesn't have.
func (a *API) equip(n *baremetal.Node) error {
	t, err := a.Hardware.Type(n.Driver)
	if err != nil {
		return faults.Wrap(err, faults.Invalid, "NoValidHost", "No valid host was found. Reason: No conductor service registered which supports driver %s "+
			"for conductor group \"%s\". Ensure the driver is valid and enabled.", n.Driver, n.ConductorGroup)
	}
	for i, place := range interfacesOf(n) {
		asked := ""
		if *place != nil {
			asked = **place
		}
		chosen, err := a.Hardware.Choose(t, i, asked)
		if err != nil {
			return err
		}
		*place = &chosen
	}
	return nil
}

// interfacesOf are where a node says how it is handled.
func interfacesOf(n *baremetal.Node) map[hardware.Interface]**string {
	return map[hardware.Interface]**string{
		hardware.BIOS: &n.BIOSInterface, hardware.Boot: &n.BootInterface, hardware.Console: &n.ConsoleInterface,
		hardware.Deploy: &n.DeployInterface, hardware.Firmware: &n.FirmwareInterface, hardware.Inspect: &n.InspectInterface,
		hardware.Management: &n.ManagementInterface, hardware.Network: &n.NetworkInterface, hardware.Power: &n.PowerInterface,
		hardware.RAID: &n.RAIDInterface, hardware.Rescue: &n.RescueInterface, hardware.Storage: &n.StorageInterface,
		hardware.Vendor: &n.VendorInterface,
	}
}

// belongs finds the node that a node is part of, by id or name; the caller must
// see it.
func (a *API) belongs(r *rest.Request, tx store.Tx, n *baremetal.Node) error {
	if n.ParentNode == nil || *n.ParentNode == "" {
		n.ParentNode = nil
		return nil
	}
	parent, err := visibleNode(r, tx, *n.ParentNode, byName(r))
	if err != nil {
		return asInvalid(err)
	}
	n.ParentNode = &parent.UUID
	return nil
}

// reserved are words of paths, which no node can be called.
var reserved = []string{"detail", "maintenance", "management", "states", "validate", "vendor_passthru"}

// named refuses what can't be a node's name; format words it.
func named(r *rest.Request, name, format string) error {
	switch {
	case !byName(r):
		return notAcceptable()
	case !isLogicalName(r, name) || baremetal.IsUUID(name):
		return invalid(format, name)
	case slices.Contains(reserved, name):
		return invalid("The word \"%s\" is reserved and can not be used as a node name. Reserved words are: %s.", name, strings.Join(reserved, ", "))
	}
	return nil
}

// mayBeNamed says whether a row with a name, or an id, can be called so.
func mayBeNamed(r *rest.Request, ident string) bool {
	return baremetal.IsUUID(ident) || isLogicalName(r, ident)
}

// isLogicalName: until 1.10 a host's name, since then RFC 3986's unreserved characters.
func isLogicalName(r *rest.Request, name string) bool {
	if name == "" || len(name) > 255 {
		return false
	}
	more := ""
	if r.At(v(10)) {
		more = "_~"
	} else if strings.Trim(name, "-.") != name {
		return false
	}
	return strings.IndexFunc(name, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-."+more, c))
	}) < 0
}

func (a *API) deleteNode(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx)
		if err != nil {
			return err
		}
		if !r.Allows("baremetal:node:delete", target(n)) {
			if err := r.Enforce("baremetal:node:delete:self_owned_node", target(n)); err != nil {
				return err
			}
		}
		if err := mayGo(n); err != nil {
			return err
		}
		children, err := baremetal.HasChildren(r.Context(), tx, n.UUID)
		if err != nil {
			return err
		}
		if children {
			return faults.New(faults.Conflict, "NodeAssociated", "Node %s has other nodes as its parts.", n.UUID)
		}
		if err := baremetal.EndAllocation(r.Context(), tx, n); err != nil {
			return err
		}
		return baremetal.Nodes.Delete(r.Context(), tx, n)
	})
}

// mayGo says whether a node can be taken away.
func mayGo(n *baremetal.Node) error {
	if err := unheld(n); err != nil {
		return err
	}
	switch {
	case !n.Maintenance && n.InstanceUUID != nil:
		return faults.New(faults.Conflict, "NodeAssociated", "Node %s is associated with instance %s.", n.UUID, *n.InstanceUUID)
	case n.Protected:
		return isProtected(n)
	case n.Maintenance:
		return nil
	}
	return n.ProvisionState.Delete(n.UUID)
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
	nodes, err := baremetal.Nodes.List(r.Context(), a.DB.Pool, l)
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
