package workflowtest

// Incidents: what can happen at a call of a step.

import (
	"errors"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Call is one call of a step; N counts them from 0.
type Call struct {
	N    int
	Step string
	// Host is set for steps on a host.
	Host string
}

// Incident happens at one call: before its work or after it.
type Incident struct {
	Name  string
	After bool
	// Times is how many repeats of the call it strikes; 0 is one.
	Times int
	// Do makes it happen. Its error is the answer of the call; without one the
	// call goes its way.
	Do func(w *World, c Call) error

	at int
	// ends checks the result against the one of the undisturbed run.
	ends ending
}

// ending says what an incident may do to the operation's result.
type ending int

const (
	// Without a name it is any: done or failed, as the story has it.
	_ ending = iota
	// sameEnd: the same as without it.
	sameEnd
	// sameOrOpen: the same, or cancelled where hypervisors have yet to decide.
	sameOrOpen
	// cancelled: undone, if the operation can be.
	cancelled
	// noEnd: another operation owns the server; this one touches nothing more.
	noEnd
)

// serviceTries is how often a step on a host is tried before the workflow is asked.
const serviceTries = 5

var (
	errBusy    = faults.New(faults.Unavailable, "Busy", "busy")
	errInvalid = faults.New(faults.Invalid, "BadRequest", "it can't work")
)

func fails(err error) func(*World, Call) error {
	return func(*World, Call) error { return err }
}

// Unexpected has the call, and its repeats, answered with an error that no step
// knows: a local one, which is never given up, until the operation's time is over.
func (w *World) Unexpected(c Call) *World {
	w.incident = Incident{Times: beyondPatience, Do: fails(errors.New("nobody expected this")), at: c.N}
	return w
}

// CancelledAt has the operation cancelled, by its row and by Temporal, when the call comes.
func (w *World) CancelledAt(c Call) *World {
	w.incident = Incident{Do: cancelByBoth, at: c.N}
	return w
}

// beyondPatience is how many repeats last longer than patience.
const beyondPatience = 100

// anywhere are the incidents of every call.
var anywhere = []Incident{
	{Name: "the answer is lost", After: true, Do: fails(errBusy), ends: sameEnd},
	{Name: "cancelled by row", Do: cancelByRow, ends: cancelled},
	{Name: "cancelled by row afterwards", After: true, Do: cancelByRow, ends: cancelled},
	{Name: "cancelled by row, and then lost", Do: cancelAndLose, ends: cancelled},
	{Name: "cancelled by Temporal", Do: cancelByTemporal, ends: cancelled},
	{Name: "cancelled by Temporal afterwards", After: true, Do: cancelByTemporal, ends: cancelled},
	{Name: "cancelled by both", Do: cancelByBoth, ends: cancelled},
	{Name: "superseded", Do: supersede, ends: noEnd},
	{Name: "superseded afterwards", After: true, Do: supersede, ends: noEnd},
	{Name: "the workflow is lost", Do: lose, ends: sameEnd},
	{Name: "the workflow is lost afterwards", After: true, Do: lose, ends: sameEnd},
	{Name: "knocks and strangers", Do: signal, ends: sameEnd},
}

// inTheLedger are those of the writes that a story moves on by.
var inTheLedger = []Incident{
	{Name: "its task is lost beyond, and it is cancelled then", After: true, Do: crossAndCancel, ends: sameOrOpen},
}

// inTheDatabase are those of local steps.
var inTheDatabase = []Incident{
	{Name: "fails three times", Times: 3, Do: fails(errBusy), ends: sameEnd},
	{Name: "every host with something on it dies", Do: hostsDie},
}

// inWhatIsKept are those of local steps that make something of what is kept, and may
// not be able to.
var inWhatIsKept = append([]Incident{
	{Name: "fails for good", Do: fails(errInvalid)},
	{Name: "fails for good though it acted", After: true, Do: fails(errInvalid)},
}, inTheDatabase...)

// onAHost are those of steps on hosts.
var onAHost = []Incident{
	{Name: "fails for good", Do: fails(errInvalid)},
	{Name: "fails for good though it acted", After: true, Do: fails(errInvalid)},
	{Name: "fails until given up", Times: serviceTries, Do: fails(errBusy)},
	{Name: "fails until given up though it acted", Times: serviceTries, After: true, Do: fails(errBusy)},
	{Name: "host silent and down", Do: hostDies},
	{Name: "host acts, then silent and down", After: true, Do: func(w *World, c Call) error {
		w.Down(c.Host)
		return temporal.NewHeartbeatTimeoutError()
	}},
	{Name: "host silent for a while and up", ends: sameEnd, Do: func(w *World, c Call) error {
		w.Hosts[c.Host].SilentFor = 7
		return nil
	}},
	{Name: "host silent for ever and up", Do: func(w *World, c Call) error {
		w.Hosts[c.Host].Answers = false
		return nil
	}},
	{Name: "too slow", Times: serviceTries, After: true, Do: func(*World, Call) error {
		return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, nil)
	}},
}

// atAService are those of steps that call a service, atAnUndo those that can
// meet one that takes something back, and is repeated until it can.
var (
	atAService = []Incident{
		{Name: "fails for good", Do: fails(errInvalid)},
		{Name: "fails for good though it acted", After: true, Do: fails(errInvalid)},
		{Name: "fails until given up", Times: serviceTries, Do: fails(errBusy)},
		{Name: "fails until given up though it acted", Times: serviceTries, After: true, Do: fails(errBusy)},
		{Name: "too slow", Times: serviceTries, After: true, Do: func(*World, Call) error {
			return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, nil)
		}},
	}
	atAnUndo = []Incident{
		{Name: "fails three times", Times: 3, Do: fails(errBusy), ends: sameEnd},
		{Name: "fails three times though it acted", Times: 3, After: true, Do: fails(errBusy), ends: sameEnd},
	}
)

// undos are the steps at services that take something back.
var undos = []string{"neutron.Deallocate", "cinder.Release", "cinder.DropSnapshots", "cinder.Disconnect", "neutron.Unbind", "cinder.Follow", "neutron.Follow", "glance.Delete", "cinder.CancelSwap", "cinder.EndSwap"}

func incidents(c Call) []Incident {
	rows := inTheDatabase
	step, _ := steps.Lookup(c.Step)
	switch {
	case step.Retry.Broken > 0:
		rows = inWhatIsKept
	case c.Host != "":
		rows = onAHost
	case slices.Contains(undos, c.Step):
		rows = atAnUndo
	case c.remote():
		rows = atAService
	}
	if c.Step == "records.Advance" {
		rows = slices.Concat(rows, inTheLedger)
	}
	return slices.Concat(anywhere, rows)
}

// remote says whether the call leaves the worker that the workflow runs in.
func (c Call) remote() bool {
	return slices.ContainsFunc(steps.All(), func(s steps.Step) bool { return s.Name == c.Step && s.Place != steps.Local })
}

func cancelByRow(w *World, _ Call) error {
	w.Op.CancelRequested = true
	return nil
}

func cancelByTemporal(w *World, c Call) error {
	w.cancel()
	if c.remote() && !w.incident.After && w.Op.Step != operations.StepUndo && w.reaches(c) {
		return temporal.NewCanceledError() // it heard of it in time
	}
	return nil
}

// reaches says whether a cancel reaches the call: before the point of no
// return, and beyond it one that changes the power of a guest or moves it, which
// is cut short then. A recovery's never is.
func (w *World) reaches(c Call) bool {
	spec, _ := operations.Lookup(w.Op.Kind)
	interruptible := c.Step == "libvirt.Power" || c.Step == "libvirt.Migrate"
	return !spec.Beyond(w.Op.Step) || interruptible && !spec.Recovers() && w.first(c)
}

// first says that no earlier call was of the same step.
func (w *World) first(c Call) bool {
	return !slices.ContainsFunc(w.calls, func(o Call) bool { return o.Step == c.Step && o.N < c.N })
}

func cancelByBoth(w *World, c Call) error {
	_ = cancelByRow(w, c)
	return cancelByTemporal(w, c)
}

// supersede gives the server to another operation, which has been at work on
// every host already.
func supersede(w *World, _ Call) error {
	w.Server.Owner = "another"
	w.Server.Generation++
	for _, h := range w.Hosts {
		h.seen = steps.Token{Generation: w.Server.Generation}
	}
	w.frozen = w.String()
	return nil
}

// lose ends the workflow as a lost database of Temporal's would.
func lose(w *World, _ Call) error {
	w.lost = true
	return errSuperseded
}

// cancelAndLose ends the workflow once the call has been made of an operation
// whose cancel Temporal could not be told of.
func cancelAndLose(w *World, c Call) error {
	w.lost = true
	return cancelByRow(w, c)
}

// crossAndCancel has the workflow not hear that a write has led past the point of no
// return, but of a cancel.
func crossAndCancel(w *World, c Call) error {
	if w.Op.crossed != c.N {
		return nil
	}
	_ = cancelByBoth(w, c)
	return temporal.NewCanceledError()
}

func signal(w *World, _ Call) error {
	w.signal()
	return nil
}

func hostDies(w *World, c Call) error {
	w.Down(c.Host)
	return nil
}

func hostsDie(w *World, _ Call) error {
	for name, h := range w.Hosts {
		if len(h.Claims)+len(h.Guests) > 0 {
			w.Down(name)
		}
	}
	return nil
}

// strike lets the world's incident happen, if this is its moment.
func (w *World) strike(c Call, after bool) error {
	i := w.incident
	if i.Do == nil || i.After != after || c.N < i.at || c.N >= i.at+max(i.Times, 1) {
		return nil
	}
	if w.struck == nil {
		spec, _ := operations.Lookup(w.Op.Kind)
		w.struck, w.beyond, w.open = &c, spec.Beyond(w.Op.standing()), w.Op.standing() == operations.StepMove
	} else if w.struck.Step != c.Step || w.struck.Host != c.Host {
		return nil
	}
	return i.Do(w, c)
}

// allows says whether an operation that would have ended as plain may end as
// result after the incident at call c. Beyond is whether it had come past its
// point of no return by then, or came there with that call, open whether hypervisors had yet to decide what
// becomes of it.
func (i Incident) allows(c Call, beyond, open bool, plain, result operations.Result) bool {
	switch i.ends {
	case sameEnd:
		return result == plain
	case sameOrOpen:
		return result == plain || open && result == operations.ResultCancelled
	case cancelled:
		late := beyond || c.Step == "records.Finish" && (i.After || i.Name == "cancelled by Temporal")
		return result == operations.ResultCancelled && (!late || open) ||
			result == plain && (late || plain == operations.ResultFailed)
	}
	return true
}
