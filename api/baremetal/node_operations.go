package baremetal

// Operations on nodes: how a request has one begin.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// begin has an operation begin on a node that the transaction has locked, and
// names the conductor that works on it. After the commit the caller offers it to
// the starter. Errors: Conflict, somebody works on the node; NotFound, there is no
// conductor for it.
func (a *API) begin(r *rest.Request, tx store.Tx, n *baremetal.Node, kind operations.Kind, input any) (engine.Accepted, error) {
	if err := mayFollow(n, kind); err != nil {
		return engine.Accepted{}, err
	}
	if n.Conductor == nil {
		return engine.Accepted{}, unserved(n)
	}
	accepted, err := a.Engine.Accept(r.Context(), tx, engine.Request{
		Kind: kind, ResourceID: n.UUID, ProjectID: r.Identity.ProjectID, UserID: r.Identity.UserID, RequestID: r.ID, Input: input,
	})
	if err != nil {
		return engine.Accepted{}, err
	}
	return accepted, baremetal.Reserve(r.Context(), tx, n.UUID, *n.Conductor)
}

// unserved is the refusal of what a conductor of the node would do.
func unserved(n *baremetal.Node) error {
	return faults.New(faults.NotFound, "NoValidHost", "No valid host was found. Reason: No conductor service registered which supports driver %s "+
		"for conductor group \"%s\".", n.Driver, n.ConductorGroup)
}

// mayFollow refuses a node that an operation has, unless one of this kind takes over
// from that while it waits.
func mayFollow(n *baremetal.Node, kind operations.Kind) error {
	if n.OperationID != nil && n.Reservation == nil {
		resource, _, verb, _ := operations.ParseID(*n.OperationID)
		if operations.Meet(operations.Kind(string(resource)+"."+verb), kind) == operations.Preempt {
			return nil
		}
	}
	return unheld(n)
}

// offer has what was accepted started, after the commit.
func (a *API) offer(accepted engine.Accepted) {
	if accepted.Startable {
		a.Starter.Offer(accepted.OperationID)
	}
}

// underWay answers a request whose work is shown by the node's states.
func underWay(r *rest.Request) *rest.Response {
	return (&rest.Response{}).WithHeader("Location", r.Link("nodes", r.Param("node"), "states"))
}
