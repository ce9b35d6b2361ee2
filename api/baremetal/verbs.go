package baremetal

// The table of verbs: what each has done to a node, in the transaction of its
// request.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// place is an event and the state that it finds a node in; no state is any.
type place struct {
	event provision.Event
	state provision.State
}

// verb does what is asked for on a node that it was accepted for. It checks what
// the original does before its answer: what it refuses has changed nothing.
type verb func(*API, *rest.Request, store.Tx, *baremetal.Node, *asked) (begun, error)

var verbs = map[place]verb{
	{event: provision.EventDeploy}:                  deploy,
	{event: provision.EventRebuild}:                 rebuild,
	{event: provision.EventDelete}:                  undeploy,
	{event: provision.EventManage}:                  moved,
	{provision.EventManage, provision.Enroll}:       manage,
	{event: provision.EventProvide}:                 provide,
	{event: provision.EventClean}:                   clean,
	{event: provision.EventInspect}:                 inspect,
	{event: provision.EventAdopt}:                   adopt,
	{event: provision.EventRescue}:                  rescue,
	{event: provision.EventUnrescue}:                unrescue,
	{event: provision.EventService}:                 service,
	{provision.EventAbort, provision.CleanWait}:     abort,
	{provision.EventAbort, provision.CleanHold}:     abort,
	{provision.EventAbort, provision.InspectWait}:   abort,
	{provision.EventAbort, provision.DeployWait}:    abort,
	{provision.EventAbort, provision.DeployHold}:    abort,
	{provision.EventAbort, provision.RescueWait}:    abort,
	{provision.EventAbort, provision.ServiceWait}:   abort,
	{provision.EventAbort, provision.ServiceHold}:   abort,
	{provision.EventAbort, provision.ServiceFailed}: quitService,
	{provision.EventUnhold, provision.CleanHold}:    unhold,
	{provision.EventUnhold, provision.DeployHold}:   unhold,
	{provision.EventUnhold, provision.ServiceHold}:  unhold,
}

// starts has an operation begin that the node's states show from now on; target is
// where it leads, None where its states say so.
func (a *API) starts(r *rest.Request, tx store.Tx, n *baremetal.Node, event provision.Event, target provision.State, kind operations.Kind, input any) (begun, error) {
	accepted, err := a.begin(r, tx, n, kind, input)
	if err != nil {
		return begun{}, err
	}
	return begun{accepted: accepted}, baremetal.Enter(r.Context(), tx, n, event, target, true)
}

// moved: nothing has to be done but to say so.
func moved(_ *API, r *rest.Request, tx store.Tx, n *baremetal.Node, all *asked) (begun, error) {
	if err := unheld(n); err != nil {
		return begun{}, err
	}
	info, _ := provision.LookupVerb(all.verb)
	return begun{}, baremetal.Enter(r.Context(), tx, n, info.Event, provision.None, false)
}

// manage: what is wrong with the node's row is found by the operation, as in the
// original.
func manage(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, _ *asked) (begun, error) {
	return a.starts(r, tx, n, provision.EventManage, provision.None, operations.NodeManage, nil)
}

// abort asks for the end of the operation that waits: it takes back what it can
// take back, and the node fails.
func abort(a *API, r *rest.Request, tx store.Tx, n *baremetal.Node, _ *asked) (begun, error) {
	if n.OperationID == nil { // nothing waits there
		return begun{}, baremetal.Enter(r.Context(), tx, n, provision.EventAbort, provision.None, false)
	}
	_, err := a.Engine.RequestCancel(r.Context(), tx, *n.OperationID, r.Identity.UserID)
	return begun{knock: *n.OperationID}, err
}

// unhold lets the operation go on that holds the node. It reads that in the row.
func unhold(_ *API, r *rest.Request, tx store.Tx, n *baremetal.Node, _ *asked) (begun, error) {
	var who begun
	if n.OperationID != nil {
		who.knock = *n.OperationID
	}
	return who, baremetal.Enter(r.Context(), tx, n, provision.EventUnhold, provision.State(word(n.TargetProvisionState)), false)
}

func word(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
