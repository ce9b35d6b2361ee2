package node

// A model of what the steps of an operation on a node read and change, by the
// rules that internal/engine and activities/bmc keep.

import (
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
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
)

var epoch = time.Now().Truncate(time.Second)

const operation = "node/5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d11/it/01jqzk0000000000test"

// world is one node and the operation that holds it.
type world struct {
	kind     operations.Kind
	recovers *steps.Recovered
	input    string
	// power is the machine's, pending how often it asks for more time. Broken refuses
	// whatever it is told; blind can't be looked at either.
	power         provision.Power
	pending       int
	broken, blind bool

	since      time.Time
	mu         sync.Mutex
	generation int64
	run        string
	step       string
	cancelled  bool
	finished   int
	result     operations.Result
	fault      *steps.Fault
	outcome    *steps.NodeOutcome
	calls      []string
	// sent is what the BMC was told, by the name of the act.
	sent map[string]int

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
	errBad        = faults.New(faults.Invalid, "Bad", "it can't work")
	errSuperseded = faults.New(faults.Superseded, "Superseded", "another operation owns the node")
)

func (w *world) spec() operations.Spec { s, _ := operations.Lookup(w.kind); return s }

func (w *world) String() string {
	return fmt.Sprintf("%s finished %d as %q: %+v, power %s, sent %v", w.step, w.finished, w.result, w.outcome, w.power, w.sent)
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
	strike := func(after bool) error {
		i := w.incident
		if i.do == nil || i.after != after || n < i.at || n >= i.at+max(i.times, 1) {
			return nil
		}
		return i.do(w)
	}
	if err := strike(false); err != nil {
		return none, encode(err)
	}
	out, err = work()
	if err := strike(true); err != nil {
		return none, encode(err)
	}
	return out, encode(err)
}

func encode(err error) error {
	var timeout *temporal.TimeoutError
	if temporal.IsCanceledError(err) || errors.As(err, &timeout) {
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
		since := w.since
		if since.IsZero() {
			since = epoch
		}
		return steps.BeginOut{Verdict: steps.Run, Kind: w.kind, Generation: w.generation, Deadline: since.Add(w.spec().Deadline), Step: w.step,
			CancelRequested: w.cancelled, Recovers: w.recovers, Input: []byte(w.input),
			Node: &steps.NodeBrief{ID: "n", Group: "g", Conductor: "c", PowerState: "power off"}}, nil
	})
}

func (r records) Advance(_ context.Context, in steps.AdvanceIn) (steps.AdvanceOut, error) {
	w := r.w
	return fenced(w, "records.Advance", in.Fence, func() (steps.AdvanceOut, error) {
		late := w.cancelled && w.spec().Beyond(in.Step) && !w.spec().Beyond(w.step)
		if in.Step != operations.StepUndo && !late {
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
	return act(w, "records.Finish", func() (out steps.FinishOut, err error) {
		switch {
		case w.finished > 0 && w.run == in.Fence.RunID:
			return out, nil
		case w.foreign || w.finished > 0 || in.Fence.Generation != w.generation:
			return out, errSuperseded
		case in.Result == operations.ResultDone && w.cancelled && !w.spec().Beyond(w.step):
			return steps.FinishOut{Cancelled: true}, nil
		}
		w.finished++
		w.result, w.fault, w.outcome = in.Result, in.Fault, in.Node
		return out, nil
	})
}

func (r records) Host(context.Context, steps.HostIn) (steps.HostOut, error) {
	return steps.HostOut{}, errBad
}

type bmc struct{ w *world }

func (b bmc) Power(_ context.Context, in steps.NodePowerIn) (steps.NodePowerOut, error) {
	w := b.w
	return fenced(w, "bmc.Power", in.Fence, func() (out steps.NodePowerOut, err error) {
		if w.blind {
			return out, errBad
		}
		if in.Target == "" {
			return steps.NodePowerOut{PowerState: string(w.power)}, nil
		}
		if !w.spec().Beyond(w.step) {
			w.broke = append(w.broke, "the BMC was told something before the step was written")
		}
		if w.broken {
			return out, errBad
		}
		key := in.Of + " " + in.Name
		if w.sent[key] == 0 {
			w.sent[key]++
		}
		if w.pending > 0 {
			w.pending--
			return steps.NodePowerOut{PowerState: string(w.power), Pending: true}, nil
		}
		w.power = provision.Power(in.Target).Target()
		return steps.NodePowerOut{PowerState: string(w.power)}, nil
	})
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
	for family, impl := range map[string]any{"records": records{w}, "bmc": bmc{w}} {
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
	if w.finished != 1 || w.outcome == nil {
		t.Errorf("finished %d times: %+v; calls %v", w.finished, w.outcome, w.calls)
		return
	}
	if (w.fault == nil) != (w.result == operations.ResultDone) && w.recovers == nil {
		t.Errorf("%s with fault %v", w.result, w.fault)
	}
	if said := w.outcome.PowerState; said != nil && *said != string(w.power) {
		t.Errorf("the row says %s of a node with %s", *said, w.power)
	}
	for key, n := range w.sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", key, n)
		}
	}
	var failure *temporal.ApplicationError
	shown := map[operations.Result]bool{operations.ResultDone: err == nil, operations.ResultCancelled: temporal.IsCanceledError(err),
		operations.ResultFailed: errors.As(err, &failure)}
	if !shown[w.result] && err != nil {
		t.Errorf("Temporal shows %v of an operation that is %q", err, w.result)
	}
}

// end is how it ended, as a scenario has it.
func (w *world) end() string {
	s := string(w.result)
	if w.outcome != nil && w.outcome.PowerState != nil {
		s += ", " + *w.outcome.PowerState
	}
	if w.fault != nil {
		s += ": " + w.fault.Message
	}
	return s
}
