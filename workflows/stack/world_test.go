package stack

// A model of what the steps of an operation on a stack read and change, by the
// rules that internal/engine and activities/resources keep.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

var epoch = time.Now().Truncate(time.Second)

const operation = "stack/5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d11/it/01jqzk0000000000test"

// node is one resource.
type node struct {
	needs []int
	// slow has an activity of its own; waits is how often it asks for more time,
	// and fails says that it fails.
	slow  bool
	waits int
	fails bool

	there, begun, failed, visited bool
}

// visits are the phases that leave resources what they are.
var visits = []steps.Phase{steps.Check, steps.Suspend, steps.Resume}

// done says whether a phase has done its part in a node.
func (n *node) done(phase steps.Phase) bool {
	if slices.Contains(visits, phase) {
		return n.visited
	}
	return n.there == (phase == steps.Make)
}

func (n *node) do(phase steps.Phase) {
	if slices.Contains(visits, phase) {
		n.visited = true
		return
	}
	n.there = phase == steps.Make
}

// mayFail says whether a phase is one that nodes fail in.
func mayFail(phase steps.Phase) bool { return phase == steps.Make || slices.Contains(visits, phase) }

// actions are what stacks show of operations of each kind.
var actions = map[operations.Kind]string{operations.StackDelete: actionDelete, operations.StackUpdate: actionUpdate,
	operations.StackRollback: actionRollback, operations.StackCheck: actionCheck, operations.StackSuspend: actionSuspend, operations.StackResume: actionResume}

// world is one stack and the operation that holds it.
type world struct {
	kind     operations.Kind
	rollback bool
	recovers *steps.Recovered
	timeout  time.Duration
	nodes    []*node
	// pause is how long one that waits asks for; since is when the operation was
	// accepted. Zero is 10 s, and the epoch.
	pause time.Duration
	since time.Time

	mu         sync.Mutex
	generation int64
	run        string
	step       string
	cancelled  bool
	finished   int
	result     operations.Result
	fault      *steps.Fault
	outcome    steps.StackOutcome
	calls      []string
	events     int
	busy, most int

	incident incident
	lost     bool
	foreign  bool
	frozen   string
	broke    []string
	env      *testsuite.TestWorkflowEnvironment
}

// incident happens at a call, before its work or after.
type incident struct {
	name  string
	at    int
	times int
	after bool
	do    func(*world) error
}

var (
	errBusy       = faults.New(faults.Unavailable, "Busy", "busy")
	errSuperseded = faults.New(faults.Superseded, "Superseded", "another operation owns the stack")
)

func (w *world) spec() operations.Spec { s, _ := operations.Lookup(w.kind); return s }

func (w *world) accepted() time.Time {
	if w.since.IsZero() {
		return epoch
	}
	return w.since
}

func (w *world) String() string {
	s := fmt.Sprintf("%s finished %d as %q: %+v\n", w.step, w.finished, w.result, w.outcome)
	for i, n := range w.nodes {
		s += fmt.Sprintf(" %d there %t begun %t failed %t\n", i, n.there, n.begun, n.failed)
	}
	return s
}

// act is one call of a step.
func act[Out any](w *world, name string, work func() (Out, error)) (out Out, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var none Out
	if w.lost {
		return none, steps.Encode(errSuperseded)
	}
	n := len(w.calls)
	w.calls = append(w.calls, name)
	strikes := func(after bool) bool {
		i := w.incident
		return i.do != nil && i.after == after && n >= i.at && n < i.at+max(i.times, 1)
	}
	if strikes(false) {
		if err := w.incident.do(w); err != nil {
			return none, encode(err)
		}
	}
	out, err = work()
	if strikes(true) {
		if err := w.incident.do(w); err != nil {
			return none, encode(err)
		}
	}
	return out, encode(err)
}

func encode(err error) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	return steps.Encode(err)
}

func fenced[Out any](w *world, name string, f steps.Fence, work func() (Out, error)) (Out, error) {
	return act(w, name, func() (out Out, err error) {
		if w.foreign || f.Generation != w.generation || f.RunID != w.run || w.finished > 0 {
			return out, errSuperseded
		}
		return work()
	})
}

type records struct{ w *world }

func (r records) Begin(_ context.Context, in steps.BeginIn) (steps.BeginOut, error) {
	w := r.w
	return act(w, "records.Begin", func() (steps.BeginOut, error) {
		if w.finished > 0 || w.foreign || in.Reset {
			return steps.BeginOut{Verdict: steps.Stop}, nil
		}
		w.generation++
		w.run = in.RunID
		action := cmp.Or(actions[w.kind], actionCreate)
		if w.step == operations.StepRollback {
			action = actionRollback
		}
		return steps.BeginOut{Verdict: steps.Run, Kind: w.kind, Generation: w.generation, Deadline: w.accepted().Add(w.spec().Deadline), Step: w.step,
			CancelRequested: w.cancelled, Recovers: w.recovers,
			Stack: &steps.StackBrief{ID: "s", Action: action, Reason: "why it failed", Timeout: w.timeout, Rollback: w.rollback}}, nil
	})
}

func (r records) Advance(_ context.Context, in steps.AdvanceIn) (steps.AdvanceOut, error) {
	w := r.w
	return fenced(w, "records.Advance", in.Fence, func() (steps.AdvanceOut, error) {
		if in.Step != operations.StepUndo {
			if !slices.Contains(w.spec().Steps, in.Step) {
				w.broke = append(w.broke, "there is no step "+in.Step)
			}
			w.step = in.Step
		}
		return steps.AdvanceOut{Step: w.step, CancelRequested: w.cancelled}, nil
	})
}

func (r records) Finish(_ context.Context, in steps.FinishIn) (steps.FinishOut, error) {
	w := r.w
	return act(w, "records.Finish", func() (steps.FinishOut, error) {
		switch {
		case w.finished > 0 && w.run == in.Fence.RunID:
			return steps.FinishOut{}, nil
		case w.foreign || in.Fence.Generation != w.generation:
			return steps.FinishOut{}, errSuperseded
		case in.Result == operations.ResultDone && w.cancelled && !w.spec().Beyond(w.step):
			return steps.FinishOut{Cancelled: true}, nil
		case in.Stack == nil:
			w.broke = append(w.broke, "nothing is said of the stack")
			return steps.FinishOut{}, nil
		}
		w.finished++
		w.result, w.fault, w.outcome = in.Result, in.Fault, *in.Stack
		return steps.FinishOut{}, nil
	})
}

type workers struct{ w *world }

// needs are those of a node in a phase.
func (w *world) needs(phase steps.Phase) [][]int {
	all := make([][]int, len(w.nodes))
	for i, n := range w.nodes {
		for _, need := range n.needs {
			if mayFail(phase) && phase != steps.Suspend {
				all[i] = append(all[i], need)
			} else {
				all[need] = append(all[need], i)
			}
		}
	}
	for i := range all {
		slices.Sort(all[i])
	}
	return all
}

func (a workers) Plan(_ context.Context, in steps.PlanIn) (steps.PlanOut, error) {
	w := a.w
	return fenced(w, "resources.Plan", in.Fence, func() (out steps.PlanOut, err error) {
		out.Needs = w.needs(in.Phase)
		for i, n := range w.nodes {
			out.IDs = append(out.IDs, int64(i+1))
			if !n.slow {
				out.Instant = append(out.Instant, i)
			}
			if n.done(in.Phase) {
				out.Done = append(out.Done, i)
			}
		}
		return out, nil
	})
}

func (a workers) Batch(_ context.Context, in steps.WorkIn) (steps.WorkOut, error) {
	return fenced(a.w, "resources.Batch", in.Fence, func() (steps.WorkOut, error) {
		if len(in.IDs) > batch {
			a.w.broke = append(a.w.broke, fmt.Sprintf("a batch of %d", len(in.IDs)))
		}
		return a.w.work(in, false), nil
	})
}

func (a workers) Work(_ context.Context, in steps.WorkIn) (steps.WorkOut, error) {
	return fenced(a.w, "resources.Work", in.Fence, func() (steps.WorkOut, error) { return a.w.work(in, true), nil })
}

func (a workers) Fail(_ context.Context, in steps.FailIn) (steps.FailOut, error) {
	return fenced(a.w, "resources.Fail", in.Fence, func() (steps.FailOut, error) {
		a.w.nodes[in.ID-1].failed = true
		return steps.FailOut{Reason: "Resource failed: " + in.Reason}, nil
	})
}

func (w *world) work(in steps.WorkIn, slow bool) (out steps.WorkOut) {
	out.CancelRequested = w.cancelled
	needs := w.needs(in.Phase)
	for _, id := range in.IDs {
		n := w.nodes[id-1]
		if slices.ContainsFunc(needs[id-1], func(need int) bool {
			n := w.nodes[need]
			return !n.done(in.Phase) && !(in.Phase == steps.Check && n.failed) && slices.Contains(in.IDs, int64(need+1))
		}) {
			continue
		}
		if n.slow != slow {
			w.broke = append(w.broke, fmt.Sprintf("node %d is worked on in the wrong place", id-1))
		}
		for _, need := range needs[id-1] {
			if n := w.nodes[need]; !n.done(in.Phase) && !(in.Phase == steps.Check && n.failed) {
				w.broke = append(w.broke, fmt.Sprintf("node %d was begun before %d", id-1, need))
			}
		}
		n.begun = true
		switch {
		case n.done(in.Phase):
		case n.waits > 0:
			n.waits--
			out.Waiting = append(out.Waiting, steps.Wait{ID: id, After: cmp.Or(w.pause, 10*time.Second)})
			continue
		case (n.fails || n.failed) && mayFail(in.Phase):
			n.failed = true
			out.Failed = &steps.FailedResource{ID: id, Reason: "why it failed"}
			return out
		}
		n.do(in.Phase)
		out.Done = append(out.Done, id)
	}
	return out
}

// tell runs the workflow once.
func (w *world) tell(t *testing.T) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	w.env = suite.NewTestWorkflowEnvironment()
	w.env.SetStartTime(epoch)
	w.env.SetTestTimeout(time.Minute)
	f := Workflows[w.kind]
	w.env.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: string(w.kind)})
	for name, method := range w.steps() {
		w.env.RegisterActivityWithOptions(method, activity.RegisterOptions{Name: name})
	}
	w.env.ExecuteWorkflow(f, steps.Ref{OperationID: operation})
	if !w.env.IsWorkflowCompleted() {
		t.Fatalf("the workflow did not end; calls %v", w.calls)
	}
	return w.env.GetWorkflowError()
}

// steps are the methods that are registered as steps, by name.
func (w *world) steps() map[string]any {
	all := map[string]any{}
	for family, impl := range map[string]any{"records": records{w}, "resources": workers{w}} {
		v := reflect.ValueOf(impl)
		for i := range v.NumMethod() {
			all[family+"."+v.Type().Method(i).Name] = v.Method(i).Interface()
		}
	}
	return all
}

// check holds a world whose operation has ended against the rules.
func (w *world) check(t *testing.T, err error) {
	t.Helper()
	for _, rule := range w.broke {
		t.Error(rule)
	}
	if w.finished != 1 || w.outcome.Action == "" || w.outcome.Reason == "" && !w.outcome.Deleted {
		t.Errorf("finished %d times: %+v", w.finished, w.outcome)
	}
	if (w.outcome.Status == complete) != (w.result == operations.ResultDone) && w.outcome.Action != actionRollback && w.recovers == nil {
		t.Errorf("%s, and the stack is %+v", w.result, w.outcome)
	}
	for i, n := range w.nodes {
		switch w.outcome.Action + "_" + w.outcome.Status {
		case "CREATE_COMPLETE", "UPDATE_COMPLETE":
			if !n.there {
				t.Errorf("node %d is not there", i)
			}
		case "CHECK_COMPLETE", "SUSPEND_COMPLETE", "RESUME_COMPLETE":
			if !n.visited {
				t.Errorf("node %d was not visited", i)
			}
		case "DELETE_COMPLETE", "ROLLBACK_COMPLETE":
			if n.there {
				t.Errorf("node %d is still there", i)
			}
		}
	}
	var failure *temporal.ApplicationError
	shown := map[operations.Result]bool{operations.ResultDone: err == nil, operations.ResultCancelled: temporal.IsCanceledError(err),
		operations.ResultFailed: errors.As(err, &failure)}
	if !shown[w.result] && err != nil {
		t.Errorf("Temporal shows %v of an operation that is %q", err, w.result)
	}
}
