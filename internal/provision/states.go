package provision

// States: where a node can be, what kind of rest each is, where it leads, and
// how long it may last.

import (
	"slices"
	"time"
)

// State is what a node's provision_state says; the strings are the ones that
// clients see.
type State string

// None is no state: the target of a node that is where it should be.
const None State = ""

// The states of a node.
const (
	Enroll         State = "enroll"
	Verifying      State = "verifying"
	Manageable     State = "manageable"
	Inspecting     State = "inspecting"
	InspectWait    State = "inspect wait"
	InspectFailed  State = "inspect failed"
	Cleaning       State = "cleaning"
	CleanWait      State = "clean wait"
	CleanHold      State = "clean hold"
	CleanFailed    State = "clean failed"
	Available      State = "available"
	Deploying      State = "deploying"
	DeployWait     State = "wait call-back"
	DeployHold     State = "deploy hold"
	DeployFailed   State = "deploy failed"
	Active         State = "active"
	Deleting       State = "deleting"
	Error          State = "error"
	Rescuing       State = "rescuing"
	RescueWait     State = "rescue wait"
	RescueFailed   State = "rescue failed"
	Rescue         State = "rescue"
	Unrescuing     State = "unrescuing"
	UnrescueFailed State = "unrescue failed"
	Servicing      State = "servicing"
	ServiceWait    State = "service wait"
	ServiceHold    State = "service hold"
	ServiceFailed  State = "service failed"
	Adopting       State = "adopting"
	AdoptFailed    State = "adopt failed"
)

// The faults that a node may have: its power could not be brought into step, or a step
// of cleaning or of service has failed on it.
const (
	PowerFailure   = "power failure"
	CleanFailure   = "clean failure"
	ServiceFailure = "service failure"
)

// Faults are those that one may ask for; the one of a rescue that could not be aborted
// no node has here.
var Faults = []string{PowerFailure, CleanFailure, "rescue abort failure", ServiceFailure}

// Class is what kind of state one is.
type Class string

const (
	// Stable: a node stays there until somebody asks for something else.
	Stable Class = "stable"
	// Working: an operation works on the node.
	Working Class = "working"
	// Waiting: an operation waits for the node's ramdisk or BMC to report.
	Waiting Class = "waiting"
	// Held: a step of hold stopped the work until somebody says unhold.
	Held Class = "held"
	// Failed: an operation ended without reaching its target.
	Failed Class = "failed"
)

// Info is what holds for a state.
type Info struct {
	State State
	Class Class
	// Target is where the work that shows this state leads, unless it was begun
	// with another target; None for stable states.
	Target State
	// Deadline is how long the state may last before its operation fails; zero
	// for states that no operation holds. Waits have the original's time
	// (contracts: config-defaults.json, *_callback_timeout and
	// inspect_wait_timeout); the original knows none for work.
	Deadline time.Duration
}

// callback is how long a ramdisk may be silent.
const callback = 30 * time.Minute

var states = []Info{
	{Enroll, Stable, None, 0},
	{Verifying, Working, Manageable, 10 * time.Minute},
	{Manageable, Stable, None, 0},
	{Inspecting, Working, Manageable, 30 * time.Minute},
	{InspectWait, Waiting, Manageable, callback},
	{InspectFailed, Failed, Manageable, 0},
	{Cleaning, Working, Available, 4 * time.Hour},
	{CleanWait, Waiting, Available, callback},
	{CleanHold, Held, Available, 0},
	{CleanFailed, Failed, Available, 0},
	{Available, Stable, None, 0},
	{Deploying, Working, Active, time.Hour},
	{DeployWait, Waiting, Active, callback},
	{DeployHold, Held, Active, 0},
	{DeployFailed, Failed, Active, 0},
	{Active, Stable, None, 0},
	{Deleting, Working, Available, time.Hour},
	{Error, Stable, None, 0},
	{Rescuing, Working, Rescue, 30 * time.Minute},
	{RescueWait, Waiting, Rescue, callback},
	{RescueFailed, Failed, Rescue, 0},
	{Rescue, Stable, None, 0},
	{Unrescuing, Working, Active, 30 * time.Minute},
	{UnrescueFailed, Failed, Active, 0},
	{Servicing, Working, Active, 4 * time.Hour},
	{ServiceWait, Waiting, Active, callback},
	{ServiceHold, Held, Active, 0},
	{ServiceFailed, Failed, Active, 0},
	{Adopting, Working, Active, 10 * time.Minute},
	{AdoptFailed, Failed, Active, 0},
}

var byState = func() map[State]Info {
	m := make(map[State]Info, len(states))
	for _, s := range states {
		m[s.State] = s
	}
	return m
}()

// States gives every state, in the order of a node's life.
func States() []Info { return slices.Clone(states) }

// Lookup is what holds for a state; false for a word that is none.
func Lookup(s State) (Info, bool) { info, ok := byState[s]; return info, ok }

// Transient says whether an operation holds a node in this state.
func (s State) Transient() bool {
	class := byState[s].Class
	return class == Working || class == Waiting
}

// Busy says whether somebody is at work on a node in this state, and doesn't wait.
func (s State) Busy() bool { return byState[s].Class == Working }

// Stable says whether a node stays in this state by right.
func (s State) Stable() bool { return byState[s].Class == Stable }
