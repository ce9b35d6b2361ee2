package steps

// How a step is called: its row in the table of steps, and the two ways to run
// one (in the control worker's own process, or on a queue).

import (
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
)

// ControlQueue is served by control workers.
const ControlQueue = "control"

// Knock is the signal that tells a workflow to read its inbox, or to look at what may
// have changed. Its argument is Knocked, or none at all.
const Knock = "knock"

// Knocked says what a workflow is knocked at for.
type Knocked struct {
	// Nodes are the resources that alone are to be looked at, by the numbers that they
	// have in the workflow's plan; none are all.
	Nodes []int64 `json:"nodes,omitempty"`
}

// HostQueue is served by the one worker that runs beside a host's libvirtd.
func HostQueue(hostID string) string { return "host/" + hostID }

// ConductorQueue is served by the conductor workers of a group.
func ConductorQueue(group string) string { return "conductor/" + group }

// Place says where a step runs.
type Place string

const (
	// Local steps touch only the database and run inside the workflow task.
	Local Place = "local"
	// Control steps call services from any control worker.
	Control Place = "control"
	// OnHost steps run on the queue of one host.
	OnHost Place = "host"
	// OnConductor steps run on the queue of a group of conductor workers.
	OnConductor Place = "conductor"
)

// Step is one row of the table of steps.
type Step struct {
	Name  string
	Place Place
	// StartToClose bounds one attempt.
	StartToClose time.Duration
	// ScheduleToStart bounds the wait for a worker; on a host queue its expiry
	// is the verdict "host down". Zero: no bound.
	ScheduleToStart time.Duration
	// Heartbeat is how long a running attempt may be silent. Every step with an
	// outside effect has one, since cancellation reaches it only that way.
	Heartbeat time.Duration
	Retry     Retry
}

// Retry is a row of the table of retry policies.
type Retry struct {
	Initial, Max time.Duration
	// Attempts bounds the tries; zero is no bound.
	Attempts int32
	// Once are kinds of fault, among those that are worth another try elsewhere,
	// that the same worker would only have again.
	Once []faults.Kind
	// Broken is the try at which a fault of kind Internal is for good: the step breaks
	// an assumption of the program, and would at every other. Zero: none is.
	Broken int32
}

var (
	// persistent: database steps are repeated until the database answers. Its
	// longest pause is longer than a workflow task, so that a long outage is
	// waited for by timers and not by a workflow task that is kept alive.
	persistent = Retry{Initial: 200 * time.Millisecond, Max: 30 * time.Second}
	// reading: database steps that make something of what is kept, which may be what
	// this release can't read. They are persistent, but an operation that nobody can
	// carry out ends, and says why.
	reading = Retry{Initial: persistent.Initial, Max: persistent.Max, Broken: 10}
	// service: calls to OpenStack services and hosts; the workflow decides
	// what a failure means, so tries are few.
	service = Retry{Initial: time.Second, Max: 15 * time.Second, Attempts: 5}
	// undo: an undo is repeated until it succeeds or its host is given up.
	undo = Retry{Initial: time.Second, Max: 30 * time.Second}
)

var table []Step

// All gives every step, for the tests that walk names and options.
func All() []Step { return append([]Step(nil), table...) }

// Lookup gives a step by its name.
func Lookup(name string) (Step, bool) {
	i := slices.IndexFunc(table, func(s Step) bool { return s.Name == name })
	if i < 0 {
		return Step{}, false
	}
	return table[i], true
}

// GivesUp says whether a fault of the kind, at an attempt, is the step's last.
func (s Step) GivesUp(kind faults.Kind, attempt int32) bool {
	return kind == faults.Internal && s.Retry.Broken > 0 && attempt >= s.Retry.Broken
}

// define adds a step. On a host or a conductor, one whose tries are few doesn't
// repeat what has broken an assumption of the program: it would there again, and
// perhaps not on another host.
func define(s Step) Step {
	if (s.Place == OnHost || s.Place == OnConductor) && s.Retry.Attempts > 0 {
		s.Retry.Once = []faults.Kind{faults.Internal}
	}
	table = append(table, s)
	return s
}

func (r Retry) policy() *temporal.RetryPolicy {
	p := &temporal.RetryPolicy{
		InitialInterval:    r.Initial,
		BackoffCoefficient: 2,
		MaximumInterval:    r.Max,
		MaximumAttempts:    r.Attempts,
	}
	for _, kind := range r.Once {
		p.NonRetryableErrorTypes = append(p.NonRetryableErrorTypes, string(kind))
	}
	return p
}

// Until bounds the steps called with the returned context: none of them, its
// repeats and its wait for a worker included, lasts beyond t. Local steps are
// not bounded: see call.
func Until(ctx workflow.Context, t time.Time) workflow.Context {
	return workflow.WithValue(ctx, untilKey{}, t)
}

type untilKey struct{}

// timeLeft is what Until leaves; zero is no bound.
func timeLeft(ctx workflow.Context) (left time.Duration, bounded bool) {
	t, ok := ctx.Value(untilKey{}).(time.Time)
	if !ok || t.IsZero() {
		return 0, false
	}
	return t.Sub(workflow.Now(ctx)), true
}

// forGood bounds the repeats of a local step. Without it the SDK would take the
// bound of one attempt for the bound of all.
const forGood = 365 * 24 * time.Hour

// call runs a step and waits for it. The queue is used by steps that are not local.
//
// A local step is one transaction. No cancel and no deadline cuts it short,
// since then nobody would know whether it has been committed; it is repeated
// until the database answers, or what it answers can't be worked with.
func call[Out any](ctx workflow.Context, s Step, queue string, in any) (Out, error) {
	var out Out
	if s.Place == Local {
		ctx, _ = workflow.NewDisconnectedContext(ctx)
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
			StartToCloseTimeout:    s.StartToClose,
			ScheduleToCloseTimeout: forGood,
			RetryPolicy:            s.Retry.policy(),
			Summary:                s.Name,
		})
		err := workflow.ExecuteLocalActivity(ctx, s.Name, in).Get(ctx, &out)
		return out, err
	}
	left, bounded := timeLeft(ctx)
	if bounded && left <= 0 {
		return out, ErrDeadline
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              queue,
		ScheduleToCloseTimeout: left,
		StartToCloseTimeout:    s.StartToClose,
		ScheduleToStartTimeout: s.ScheduleToStart,
		HeartbeatTimeout:       s.Heartbeat,
		WaitForCancellation:    true,
		RetryPolicy:            s.Retry.policy(),
		Summary:                queue,
	})
	err := workflow.ExecuteActivity(ctx, s.Name, in).Get(ctx, &out)
	if timeoutOf(err) == enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE {
		return out, ErrDeadline
	}
	return out, err
}
