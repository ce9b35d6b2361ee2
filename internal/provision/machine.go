package provision

// The machine: which event leads from which state to which.

import (
	"slices"

	"holdfast.dev/internal/faults"
)

// Event is what happens to a node.
type Event string

// Events. Those down to EventUnhold are asked for by users; the others are an
// operation's own.
const (
	EventManage   Event = "manage"
	EventProvide  Event = "provide"
	EventInspect  Event = "inspect"
	EventClean    Event = "clean"
	EventDeploy   Event = "deploy"
	EventRebuild  Event = "rebuild"
	EventDelete   Event = "delete"
	EventRescue   Event = "rescue"
	EventUnrescue Event = "unrescue"
	EventService  Event = "service"
	EventAdopt    Event = "adopt"
	EventAbort    Event = "abort"
	EventUnhold   Event = "unhold"

	// EventWait: the step goes on in the ramdisk or the BMC.
	EventWait Event = "wait"
	// EventResume: it has reported.
	EventResume Event = "resume"
	// EventHold: a step asks to stop until somebody says unhold.
	EventHold Event = "hold"
	EventDone Event = "done"
	EventFail Event = "fail"
)

var events = []Event{
	EventManage, EventProvide, EventInspect, EventClean, EventDeploy, EventRebuild, EventDelete, EventRescue, EventUnrescue,
	EventService, EventAdopt, EventAbort, EventUnhold, EventWait, EventResume, EventHold, EventDone, EventFail,
}

// Events gives every event.
func Events() []Event { return slices.Clone(events) }

// transitions is the machine; an event that a state doesn't name can't happen
// in it.
var transitions = map[State]map[Event]State{
	Enroll:     {EventManage: Verifying},
	Verifying:  {EventDone: Manageable, EventFail: Enroll},
	Manageable: {EventProvide: Cleaning, EventClean: Cleaning, EventInspect: Inspecting, EventAdopt: Adopting},

	Inspecting:    {EventWait: InspectWait, EventDone: Manageable, EventFail: InspectFailed},
	InspectWait:   {EventResume: Inspecting, EventDone: Manageable, EventFail: InspectFailed, EventAbort: InspectFailed},
	InspectFailed: {EventInspect: Inspecting, EventManage: Manageable},

	// A manual clean ends by manage, an automated one by done.
	Cleaning:    {EventWait: CleanWait, EventHold: CleanHold, EventDone: Available, EventManage: Manageable, EventFail: CleanFailed},
	CleanWait:   {EventResume: Cleaning, EventHold: CleanHold, EventFail: CleanFailed, EventAbort: CleanFailed},
	CleanHold:   {EventUnhold: CleanWait, EventAbort: CleanFailed},
	CleanFailed: {EventManage: Manageable},
	Available:   {EventDeploy: Deploying, EventManage: Manageable},

	Deploying:    {EventWait: DeployWait, EventHold: DeployHold, EventDone: Active, EventFail: DeployFailed},
	DeployWait:   {EventResume: Deploying, EventHold: DeployHold, EventFail: DeployFailed, EventAbort: DeployFailed, EventDelete: Deleting},
	DeployHold:   {EventUnhold: DeployWait, EventAbort: DeployFailed},
	DeployFailed: {EventDeploy: Deploying, EventRebuild: Deploying, EventDelete: Deleting},
	Active:       {EventRebuild: Deploying, EventDelete: Deleting, EventRescue: Rescuing, EventService: Servicing},

	Deleting: {EventClean: Cleaning, EventFail: Error},
	Error:    {EventRebuild: Deploying, EventDelete: Deleting},

	Rescuing:       {EventWait: RescueWait, EventDone: Rescue, EventFail: RescueFailed},
	RescueWait:     {EventResume: Rescuing, EventFail: RescueFailed, EventAbort: RescueFailed, EventDelete: Deleting},
	RescueFailed:   {EventRescue: Rescuing, EventUnrescue: Unrescuing, EventDelete: Deleting},
	Rescue:         {EventRescue: Rescuing, EventUnrescue: Unrescuing, EventDelete: Deleting},
	Unrescuing:     {EventDone: Active, EventFail: UnrescueFailed},
	UnrescueFailed: {EventRescue: Rescuing, EventUnrescue: Unrescuing, EventDelete: Deleting},

	Servicing:   {EventWait: ServiceWait, EventHold: ServiceHold, EventDone: Active, EventFail: ServiceFailed},
	ServiceWait: {EventResume: Servicing, EventHold: ServiceHold, EventFail: ServiceFailed, EventAbort: ServiceFailed, EventDelete: Deleting},
	ServiceHold: {EventUnhold: ServiceWait, EventService: Servicing, EventFail: ServiceFailed, EventAbort: ServiceFailed},
	ServiceFailed: {EventService: Servicing, EventWait: ServiceWait, EventHold: ServiceHold, EventRescue: Rescuing, EventAbort: Active,
		EventDelete: Deleting},

	Adopting:    {EventDone: Active, EventFail: AdoptFailed},
	AdoptFailed: {EventAdopt: Adopting, EventManage: Manageable},
}

// Next is where an event leads from a state; false if it can't happen there.
func Next(from State, event Event) (State, bool) {
	to, ok := transitions[from][event]
	return to, ok
}

// Position is where a node is and where it is being brought.
type Position struct {
	State  State
	Target State
}

// Apply gives the position after an event. target is where the work leads that
// the event begins or goes on with: Manageable for a manual clean; None has the
// state's own. A node that has come to a stable state has no target. Errors:
// Conflict, the event can't happen in this state.
func (p Position) Apply(event Event, target State) (Position, error) {
	to, ok := Next(p.State, event)
	if !ok {
		return p, faults.New(faults.Conflict, "InvalidState",
			"Can not transition from state '%s' on event '%s' (no defined transition)", p.State, event)
	}
	return Position{State: to, Target: targetIn(to, target)}, nil
}

// Move gives the position of a node whose operation shows it in another state; an
// event leads there, or it is there already. The work keeps its target. Errors:
// Internal, no event does.
func (p Position) Move(to State) (Position, error) {
	for _, event := range events {
		if next, ok := Next(p.State, event); ok && next == to && to != p.State {
			return p.Apply(event, p.Target)
		}
	}
	if to == p.State {
		return p, nil
	}
	return p, faults.New(faults.Internal, "InvalidState", "no event leads from state '%s' to '%s'", p.State, to)
}

// Fail gives the position of a node whose work has come to nothing, wherever that
// was; one that nothing was done to stays.
func (p Position) Fail() Position {
	for _, event := range []Event{EventFail, EventAbort} {
		if to, ok := Next(p.State, event); ok && byState[p.State].Class != Failed {
			return Position{State: to, Target: targetIn(to, p.Target)}
		}
	}
	return p
}

// Abort gives the position of a node whose work has ended because somebody asked for
// that: where it has come to nothing, or where that leads from there.
func (p Position) Abort() Position {
	p = p.Fail()
	if to, ok := Next(p.State, EventAbort); ok {
		return Position{State: to, Target: targetIn(to, None)}
	}
	return p
}

// targetIn is where the work leads in a state: nowhere where a node stays by right.
func targetIn(to, target State) State {
	switch {
	case byState[to].Class == Stable:
		return None
	case target == None:
		return byState[to].Target
	}
	return target
}
