package baremetal

// Allocations: whoever asks for a machine of a class is given one that is free.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

var allocations = kind[baremetal.Allocation]{
	resource: &allocationResource, table: baremetal.Allocations, rule: "baremetal:allocation:", param: "allocation", misnamed: "Expected a logical name or UUID but received %s.", what: "allocation",
	schema: "allocation_create", byName: alwaysNamed,
	filters: []filter{
		{name: "node", since: 1},
		{name: "resource_class", since: 1, read: equal("resource_class")},
		{name: "state", since: 1, read: equal("state")},
		{name: "owner", since: 60, read: equal("owner")},
	},
	fresh: func() *baremetal.Allocation { return &baremetal.Allocation{State: baremetal.Allocating} },
	list: func(a *API, r *rest.Request) (func(*listing) error, error) {
		project, err := mayList(r, "allocation", r.Query.Get("owner"))
		return func(l *listing) error {
			if project != "" {
				l.Filters = append(l.Filters, baremetal.Filter{SQL: "t.owner = $", Value: project})
			}
			return a.ofItsNode(r, l)
		}, err
	},
	may: func(_ *API, r *rest.Request, _ store.Queryer, row *baremetal.Allocation, rules ...string) error {
		owner := map[string]any{"allocation.owner": row.Owner}
		if !r.Allows("baremetal:allocation:get", owner) {
			return baremetal.Allocations.Missing(r.Param("allocation"))
		}
		for _, rule := range rules {
			if err := r.Enforce(rule, owner); err != nil {
				return err
			}
		}
		return nil
	},
	create:  (*API).createAllocation,
	created: (*API).allocate,
	change: func(_ *API, r *rest.Request, _ store.Tx, _, _ *baremetal.Allocation, changes []change) error {
		for _, name := range values(changes, "/name") {
			if word, ok := name.(string); ok && word != "" && !isLogicalName(r, word) {
				return faults.New(faults.Invalid, "Invalid", "Cannot update allocation with invalid name '%s'", word)
			}
		}
		return nil
	},
	remove: deallocate,
}

// ofItsNode narrows a list to the allocation of the node that the query names.
func (a *API) ofItsNode(r *rest.Request, l *listing) error {
	if !r.Query.Has("node") {
		return nil
	}
	n, err := visibleNode(r, a.DB.Pool, r.Query.Get("node"), true)
	if err != nil {
		return asInvalid(err)
	}
	l.Filters = append(l.Filters, baremetal.Filter{SQL: "EXISTS (SELECT FROM baremetal.nodes n WHERE n.uuid = $ AND n.allocation_uuid = t.uuid)", Value: n.UUID})
	return nil
}

// createAllocation says whether the caller may ask for it, and names its owner,
// class and candidates.
func (a *API) createAllocation(r *rest.Request, tx store.Tx, body *pyjson.Object, row *baremetal.Allocation) error {
	if err := ownAllocation(r, body, row); err != nil {
		return err
	}
	if row.Name != nil && *row.Name != "" && !isLogicalName(r, *row.Name) {
		return faults.New(faults.Invalid, "Invalid", "Cannot create allocation with invalid name '%s'", *row.Name)
	}
	n, err := backfilled(r, tx, body)
	if err != nil {
		return err
	}
	if n != nil {
		if sent, _ := body.Get("uuid"); sent == nil && n.InstanceUUID != nil {
			row.UUID = *n.InstanceUUID
		}
		if row.ResourceClass == nil || *row.ResourceClass == "" {
			row.ResourceClass = n.ResourceClass
		}
	}
	if n == nil && (row.ResourceClass == nil || *row.ResourceClass == "") {
		return faults.New(faults.Invalid, "Invalid", "The resource_class field is mandatory when not backfilling")
	}
	project := ""
	if !r.Allows("baremetal:allocation:create_restricted", nil) {
		project = r.Identity.ProjectID
	}
	row.CandidateNodes, err = baremetal.NodeIDs(r.Context(), tx, row.CandidateNodes, project)
	return asInvalid(err)
}

// ownAllocation names the owner of a new allocation: a project's own are its.
func ownAllocation(r *rest.Request, body *pyjson.Object, row *baremetal.Allocation) error {
	project := r.Identity.ProjectID
	foreign := row.Owner != nil && *row.Owner != "" && *row.Owner != project
	if err := r.Enforce("baremetal:allocation:create", nil); err != nil {
		if foreign && project != "" {
			return err
		}
		if err := r.Enforce("baremetal:allocation:create_restricted", nil); err != nil {
			return err
		}
		row.Owner = &project
	}
	if err := allocationResource.acceptable(r, body); err != nil {
		return err
	}
	if r.Identity.SystemScope == "all" {
		return nil
	}
	if foreign && !r.Allows("baremetal:allocation:create_restricted", nil) {
		return faults.New(faults.Forbidden, "NotAuthorized", "Cannot create allocation with an owner Project ID value %s not matching the requester Project ID %s. "+
			"Policy baremetal:allocation:create_restricted is required for this capability.", *row.Owner, project)
	}
	if !foreign {
		row.Owner = &project
	}
	return nil
}

// backfilled is the node that a body gives an allocation, nil for one that is
// chosen.
func backfilled(r *rest.Request, tx store.Tx, body *pyjson.Object) (*baremetal.Node, error) {
	ident, _ := body.Get("node")
	word, _ := ident.(string)
	switch {
	case word == "":
		return nil, nil
	case !r.At(v(58)):
		return nil, faults.New(faults.Invalid, "Invalid", "Cannot set node when creating an allocation in this API version")
	}
	n, err := baremetal.Nodes.Lock(r.Context(), tx, word, true)
	if err == nil {
		err = visible(r, n, word)
	}
	return n, asInvalid(err)
}

// allocate finds a new allocation its node. The client is told of the allocation
// as it was accepted, and sees what became of it when it looks again; a node that
// the client named is there at once.
func (a *API) allocate(r *rest.Request, tx store.Tx, body *pyjson.Object, row *baremetal.Allocation) error {
	n, err := backfilled(r, tx, body)
	if err != nil {
		return err
	}
	if n != nil {
		if err := baremetal.CanAllocate(row, n); err != nil {
			return err
		}
		row.NodeUUID = &n.UUID
		return baremetal.Allocate(r.Context(), tx, row, n)
	}
	after := *row
	n, err = baremetal.ChooseNode(r.Context(), tx, &after)
	switch {
	case err == nil:
		return baremetal.Allocate(r.Context(), tx, &after, n)
	case faults.As(err).Code != "AllocationFailed":
		return err
	}
	reason := faults.As(err).Message
	after.State, after.LastError = baremetal.AllocationError, &reason
	return baremetal.Allocations.Update(r.Context(), tx, &after)
}

// deallocate gives the node of an allocation back, if that isn't in use.
func deallocate(_ *API, r *rest.Request, tx store.Tx, row *baremetal.Allocation) error {
	if row.NodeUUID == nil {
		return nil
	}
	n, err := baremetal.Nodes.Lock(r.Context(), tx, *row.NodeUUID, false)
	if err != nil {
		return err
	}
	switch at := n.Position(); {
	case n.Maintenance:
	case at.Target != provision.None && at.Update(n.UUID, v(1)) != nil:
		return faults.New(faults.Conflict, "InvalidState", "Cannot remove allocation %s for node %s, because the node is in state %s where updates are not allowed "+
			"(and maintenance mode is off)", row.UUID, n.UUID, n.ProvisionState)
	case n.ProvisionState == provision.Active:
		return faults.New(faults.Conflict, "InvalidState", "Cannot remove allocation %s for node %s, because the node is active (and maintenance mode is off)", row.UUID, n.UUID)
	}
	return baremetal.Release(r.Context(), tx, row)
}

// nodesAllocation gives the allocation of the node of the path; that it isn't there is
// told only of the allocation, as by the original.
func (a *API) nodesAllocation(r *rest.Request, q store.Queryer, rule string) (*baremetal.Allocation, error) {
	n, err := a.node(r, q)
	if err != nil {
		return nil, asInvalid(err)
	}
	if n.AllocationUUID == nil {
		return nil, faults.New(faults.NotFound, "AllocationNotFound", "Allocation for node %s was not found", r.Param("node"))
	}
	row, err := baremetal.Allocations.Find(r.Context(), q, *n.AllocationUUID, false)
	if err != nil {
		return nil, err
	}
	return row, r.Enforce(rule, map[string]any{"allocation.owner": row.Owner})
}

// showNodesAllocation answers GET /nodes/{node}/allocation.
func (a *API) showNodesAllocation(r *rest.Request) (*rest.Response, error) {
	return allocations.show(r, func() (*baremetal.Allocation, error) {
		return a.nodesAllocation(r, a.DB.Pool, "baremetal:allocation:get")
	})
}

// deleteNodesAllocation answers DELETE /nodes/{node}/allocation.
func (a *API) deleteNodesAllocation(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		row, err := a.nodesAllocation(r, tx, "baremetal:allocation:delete")
		if err != nil {
			return err
		}
		if err := deallocate(a, r, tx, row); err != nil {
			return err
		}
		return baremetal.Allocations.Delete(r.Context(), tx, row)
	})
}
