package provision

// Verbs: what users ask for by PUT /v1/nodes/{node}/states/provision, since
// which microversion, and when it is refused.

import (
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
)

// Verb is the word of a request, its "target".
type Verb string

// The verbs.
const (
	VerbActive   Verb = "active"
	VerbDeploy   Verb = "deploy"
	VerbRebuild  Verb = "rebuild"
	VerbDeleted  Verb = "deleted"
	VerbUndeploy Verb = "undeploy"
	VerbManage   Verb = "manage"
	VerbProvide  Verb = "provide"
	VerbInspect  Verb = "inspect"
	VerbAbort    Verb = "abort"
	VerbClean    Verb = "clean"
	VerbAdopt    Verb = "adopt"
	VerbRescue   Verb = "rescue"
	VerbUnrescue Verb = "unrescue"
	VerbUnhold   Verb = "unhold"
	VerbService  Verb = "service"
)

// VerbInfo is what holds for a verb.
type VerbInfo struct {
	Verb  Verb
	Event Event
	// Since is the first microversion that the verb is documented for.
	Since microversion.Version
	// Late: a node whose state doesn't allow the verb is refused for that before
	// the version is looked at.
	Late bool
	// Ungated: the original takes the verb at every version all the same
	// (state-machine.json, enforced_in_code).
	Ungated bool
	// Idle: not while the node is in maintenance.
	Idle bool
}

// v is a version of this API.
func v(minor int) microversion.Version { return microversion.V(1, minor) }

var verbs = []VerbInfo{
	{Verb: VerbActive, Event: EventDeploy, Since: v(1), Idle: true},
	{Verb: VerbDeploy, Event: EventDeploy, Since: v(73)},
	{Verb: VerbRebuild, Event: EventRebuild, Since: v(1), Idle: true},
	{Verb: VerbDeleted, Event: EventDelete, Since: v(1)},
	{Verb: VerbUndeploy, Event: EventDelete, Since: v(73), Ungated: true},
	{Verb: VerbManage, Event: EventManage, Since: v(4)},
	{Verb: VerbProvide, Event: EventProvide, Since: v(4)},
	{Verb: VerbInspect, Event: EventInspect, Since: v(6)},
	{Verb: VerbAbort, Event: EventAbort, Since: v(13)},
	{Verb: VerbClean, Event: EventClean, Since: v(15)},
	{Verb: VerbAdopt, Event: EventAdopt, Since: v(17)},
	{Verb: VerbRescue, Event: EventRescue, Since: v(38)},
	{Verb: VerbUnrescue, Event: EventUnrescue, Since: v(38)},
	{Verb: VerbUnhold, Event: EventUnhold, Since: v(85), Late: true},
	{Verb: VerbService, Event: EventService, Since: v(87), Late: true},
}

// abortSince are the states in which abort came later than the verb.
var abortSince = map[State]microversion.Version{InspectWait: v(41), DeployWait: v(110)}

// Verbs gives every verb.
func Verbs() []VerbInfo { return slices.Clone(verbs) }

// LookupVerb is what holds for a verb; false for a word that is none.
func LookupVerb(verb Verb) (VerbInfo, bool) {
	i := slices.IndexFunc(verbs, func(i VerbInfo) bool { return i.Verb == verb })
	if i < 0 {
		return VerbInfo{}, false
	}
	return verbs[i], true
}

// Node is what a request for a verb finds.
type Node struct {
	// ID is how the node is named in refusals.
	ID          string
	State       State
	Maintenance bool
	// Reservation is who works on the node; empty if nobody does.
	Reservation string
}

// Accept gives the event that a verb is for on a node, or why it is refused.
// What is looked at first is the original's order. Errors: Invalid with code
// NotAcceptable (406), the version doesn't know the verb; NodeInMaintenance or
// InvalidStateRequested (400); Conflict, somebody works on the node.
func Accept(verb Verb, version microversion.Version, n Node) (Event, error) {
	info, known := LookupVerb(verb)
	tooOld := known && !info.Ungated && version.Less(info.Since)
	if tooOld && !info.Late {
		return "", notAcceptable()
	}
	if info.Idle && n.Maintenance {
		return "", faults.New(faults.Invalid, "NodeInMaintenance",
			"The %s operation can't be performed on node %s because it's in maintenance mode.", "provisioning", n.ID)
	}
	_, ok := Next(n.State, info.Event)
	// The machine has two words of users for an operation's own use: the end of
	// a manual clean, and the clean after a deletion.
	working := byState[n.State].Class == Working && n.Reservation != ""
	if !known || !ok || working {
		if n.Reservation != "" {
			return "", Locked(n)
		}
		return "", faults.New(faults.Invalid, "InvalidStateRequested",
			"The requested action \"%s\" can not be performed on node \"%s\" while it is in state \"%s\".", verb, n.ID, n.State)
	}
	if tooOld || verb == VerbAbort && version.Less(abortSince[n.State]) {
		return "", notAcceptable()
	}
	return info.Event, nil
}

const nodeLocked = "NodeLocked"

// IsLocked says whether an error is the refusal of Locked.
func IsLocked(err error) bool { return err != nil && faults.As(err).Code == nodeLocked }

// Locked is the refusal of what somebody's work on a node forbids.
func Locked(n Node) error {
	return faults.New(faults.Conflict, nodeLocked,
		"Node %s is locked by host %s, please retry after the current operation is completed.", n.ID, n.Reservation)
}

func notAcceptable() error {
	return faults.New(faults.Invalid, "NotAcceptable", "Request not acceptable.")
}
