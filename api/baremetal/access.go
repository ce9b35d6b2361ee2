package baremetal

// Who may do what to a node: its owner and lessee, and whom the rules let.

import (
	"cmp"
	"maps"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// rules are the service's: they know the project of services, and refuse in the original's
// words.
type rules struct {
	rest.Enforcer
	// services is the name of the project whose services may do to every node what the
	// rules let them; empty is none.
	services string
}

// Check implements rest.Enforcer.
func (w rules) Check(creds policy.Credentials, rule string, target map[string]any) error {
	if w.services != "" {
		if target == nil {
			target = policy.OwnTarget(&creds)
		}
		target = maps.Clone(target)
		target["config.service_project_name"] = w.services
	}
	err := w.Enforcer.Check(creds, rule, target)
	if faults.Is(err, faults.Forbidden) {
		return faults.Wrap(err, faults.Forbidden, "HTTPForbidden", "Access was denied to the following resource: %s", rule)
	}
	return err
}

// target is a node as rules know it; a node without a lessee has none to be.
func target(n *baremetal.Node) map[string]any {
	t := map[string]any{"node.owner": n.Owner}
	if n.Lessee != nil {
		t["node.lessee"] = n.Lessee
	}
	return t
}

// byName says whether the request's version knows names of nodes.
func byName(r *rest.Request) bool { return r.At(v(5)) }

// visible says that a node that was asked for by ident isn't there, if the caller
// may not see it.
func visible(r *rest.Request, n *baremetal.Node, ident string) error {
	if r.Allows("baremetal:node:get", target(n)) {
		return nil
	}
	return baremetal.Nodes.Missing(ident)
}

// visibleNode finds a node that the caller may see.
func visibleNode(r *rest.Request, q store.Queryer, ident string, byName bool) (*baremetal.Node, error) {
	n, err := baremetal.Nodes.Find(r.Context(), q, ident, byName)
	if err == nil {
		err = visible(r, n, ident)
	}
	return n, err
}

// node finds the node of the path and asks a rule about it. Whoever may not see
// it is told that it isn't there.
func (a *API) node(r *rest.Request, q store.Queryer, rules ...string) (*baremetal.Node, error) {
	n, err := namedNode(r, func(ident string) (*baremetal.Node, error) {
		return baremetal.Nodes.Find(r.Context(), q, ident, byName(r))
	})
	return n, permitted(r, n, err, rules)
}

// lockNode is node for a change: what it gives stays so until the transaction ends.
func (a *API) lockNode(r *rest.Request, tx store.Tx, rules ...string) (*baremetal.Node, error) {
	n, err := namedNode(r, func(ident string) (*baremetal.Node, error) {
		return baremetal.Nodes.Lock(r.Context(), tx, ident, byName(r))
	})
	return n, permitted(r, n, err, rules)
}

// namedNode has the node of the path looked for, unless nothing can be called so.
func namedNode(r *rest.Request, find func(ident string) (*baremetal.Node, error)) (*baremetal.Node, error) {
	if ident := r.Param("node"); !baremetal.IsUUID(ident) && !isLogicalName(r, ident) {
		return nil, invalid("Expected UUID or name for node: %s", ident)
	}
	return sought(r, "node", find)
}

func permitted(r *rest.Request, n *baremetal.Node, err error, rules []string) error {
	if err != nil {
		return err
	}
	if err := visible(r, n, r.Param("node")); err != nil {
		return err
	}
	for _, rule := range rules {
		if err := r.Enforce(rule, target(n)); err != nil {
			return err
		}
	}
	return nil
}

// unlocked refuses a node that somebody works on.
func unlocked(n *baremetal.Node) error {
	if n.Reservation == nil {
		return nil
	}
	return provision.Locked(provision.Node{ID: n.UUID, Reservation: *n.Reservation})
}

// isProtected is the refusal of what would end the instance of a node that is protected.
func isProtected(n *baremetal.Node) error {
	return faults.New(faults.Forbidden, "NodeProtected", "Node %s is protected and cannot be undeployed, rebuilt or deleted", n.UUID)
}

// unheld refuses a node that an operation has, be anybody at work on it or not.
func unheld(n *baremetal.Node) error {
	if n.OperationID == nil {
		return unlocked(n)
	}
	by := n.Reservation
	if by == nil {
		by = n.ConductorAffinity
	}
	return provision.Locked(provision.Node{ID: n.UUID, Reservation: *cmp.Or(by, n.OperationID)})
}

// mayList is the project whose nodes the caller may list; empty is everybody's.
// owner is the project that the request itself asks for.
func mayList(r *rest.Request, noun, owner string) (project string, err error) {
	err = r.Enforce("baremetal:"+noun+":list_all", nil)
	if err == nil {
		return owner, nil
	}
	own := r.Identity.ProjectID
	if own == "" || owner != "" && owner != own {
		return "", err
	}
	return own, r.Enforce("baremetal:"+noun+":list", nil)
}
