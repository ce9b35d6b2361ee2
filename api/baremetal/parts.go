package baremetal

// Parts of nodes: ports and port groups are for those to see and to change who may
// with their node.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// mayPart asks rules about the node of a part. Whoever may not see the node is
// told that the part isn't there.
func mayPart[T any](table *baremetal.Table[T], param string, node func(*T) string) func(*API, *rest.Request, store.Queryer, *T, ...string) error {
	return func(_ *API, r *rest.Request, q store.Queryer, row *T, rules ...string) error {
		n, err := baremetal.Nodes.Find(r.Context(), q, node(row), false)
		if err != nil {
			return err
		}
		if !r.Allows("baremetal:node:get", target(n)) {
			return table.Missing(r.Param(param))
		}
		for _, rule := range rules {
			if err := r.Enforce(rule, target(n)); err != nil {
				return err
			}
		}
		return nil
	}
}

// idle finds the node of a part that is to change; nobody may work on it.
func idle(r *rest.Request, tx store.Tx, uuid string) (*baremetal.Node, error) {
	n, err := baremetal.Nodes.Find(r.Context(), tx, uuid, false)
	if err == nil {
		err = unlocked(n)
	}
	return n, err
}

// partsOfNodes says which parts of nodes a list shows: those of one node, if the
// path or the query names it, and of the nodes that the caller may list.
func (a *API) partsOfNodes(r *rest.Request, noun string) (func(*listing) error, error) {
	parent, err := a.nodeOfList(r)
	if err != nil {
		return nil, err
	}
	project, err := mayList(r, noun, "")
	return func(l *listing) error {
		if parent != nil {
			l.Filters = append(l.Filters, baremetal.Filter{SQL: "t.node_uuid = $", Value: parent.UUID})
		}
		if project != "" {
			l.Filters = append(l.Filters, baremetal.Filter{SQL: "EXISTS (SELECT FROM baremetal.nodes n WHERE n.uuid = t.node_uuid AND (n.owner = $ OR n.lessee = $))", Value: project})
		}
		if r.Param("node") != "" {
			l.path = "nodes/" + r.Param("node") + "/" + l.path
		}
		return nil
	}, err
}

// nodeOfList is the node whose ports are asked for, by the path or the query, which
// the caller must see; nil for those of all.
func (a *API) nodeOfList(r *rest.Request) (*baremetal.Node, error) {
	if r.Param("node") != "" {
		return a.node(r, a.DB.Pool)
	}
	ident := r.Query.Get("node_uuid")
	if ident != "" && !baremetal.IsUUID(ident) {
		return nil, invalid("Expected UUID for node_uuid: %s", ident)
	}
	if ident == "" {
		ident = r.Query.Get("node")
	}
	if ident == "" {
		return nil, nil
	}
	if !mayBeNamed(r, ident) {
		return nil, invalid("Expected UUID or name for node: %s", ident)
	}
	if !byName(r) && !baremetal.IsUUID(ident) {
		return nil, notAcceptable()
	}
	return visibleNode(r, a.DB.Pool, ident, true)
}

// mayHave gives the id of the node that a new port or port group is of. Whoever
// a rule doesn't let is not told whether the node is there.
func (a *API) mayHave(r *rest.Request, tx store.Tx, ident, rule string) (uuid string, err error) {
	n, err := baremetal.Nodes.Lock(r.Context(), tx, ident, byName(r))
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
