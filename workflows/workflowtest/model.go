package workflowtest

// A model of less than a server: the row of an operation on any resource, by the
// rules that internal/engine keeps, and the calls of its steps. What is true of the
// resource is its package's to say, in a world of its own around the Model.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
)

// Model is the operation of a world. What it is asked for is set up by a scene; the
// rest is read once a run has ended.
type Model struct {
	Kind operations.Kind
	// Recovers is what Begin tells a recover operation, Input what the request asked for.
	Recovers *steps.Recovered
	Input    json.RawMessage
	// Since is when it was accepted; zero is Epoch.
	Since time.Time
	// Strike is what happens, and when.
	Strike Strike

	Step            string
	CancelRequested bool
	Finished        int
	Result          operations.Result
	Fault           *steps.Fault
	Calls           []string
	// Effects are the ledger.
	Effects []operations.Effect

	mu         sync.Mutex
	generation int64
	run        string
	undoing    bool   // what it has done is being taken back
	lost       bool   // the workflow is: nothing that it calls arrives
	foreign    bool   // another operation has the resource
	frozen     string // the world when that one took it
	broke      []string
	env        *testsuite.TestWorkflowEnvironment
}

// Modelled is a world with a Model in it.
type Modelled interface {
	model() *Model
	// Families are its steps by family, but for the records.
	Families() map[string]any
	// Brief has Begin say what the resource is, and Publish keeps what the end of the
	// operation makes true of it.
	Brief(*steps.BeginOut)
	Publish(steps.FinishIn)
	// Check holds it against the rules of its resource once the operation has ended.
	Check(*testing.T)
	// End is how it ended, as a scene has it.
	End() string
	// String is everything there is.
	String() string
}

// Refuser is a world of whose resource not everything can be made true.
type Refuser interface {
	Refuse(steps.FinishIn) error
}

// Mover is a world whose resource is shown to be elsewhere from a step on.
type Mover interface{ Move(steps.NodeMove) }

//lint:ignore U1000 it is what makes a world with a Model in it Modelled
func (m *Model) model() *Model { return m }

// Spec is the kind's.
func (m *Model) Spec() operations.Spec {
	spec, _ := operations.Lookup(m.Kind)
	return spec
}

// Broke notes that a rule was broken.
func (m *Model) Broke(format string, args ...any) {
	m.broke = append(m.broke, fmt.Sprintf(format, args...))
}

// Strike is an incident at one call: before its work or after it.
type Strike struct {
	Name  string
	At    int
	After bool
	// Times is how many calls it meets; 0 is one.
	Times int
	// Do makes it happen. Its error is the answer of the call; without one the call
	// goes its way.
	Do func(Modelled) error
}

// Fenced is one call of a step of a family's, under the operation's fence.
func Fenced[Out any](w Modelled, name string, f steps.Fence, work func() (Out, error)) (Out, error) {
	m := w.model()
	return called(w, name, func() (out Out, err error) {
		if m.foreign || f.Generation != m.generation || f.RunID != m.run || m.Finished > 0 {
			return out, errSuperseded
		}
		return work()
	})
}

func called[Out any](w Modelled, name string, work func() (Out, error)) (out Out, err error) {
	m := w.model()
	m.mu.Lock()
	defer m.mu.Unlock()
	var none Out
	if m.lost {
		return none, encode(errSuperseded)
	}
	n := len(m.Calls)
	m.Calls = append(m.Calls, name)
	strike := func(after bool) error {
		s := m.Strike
		if s.Do == nil || s.After != after || n < s.At || n >= s.At+max(s.Times, 1) {
			return nil
		}
		return s.Do(w)
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

// rows are the records of a Model.
type rows struct{ w Modelled }

func (r rows) Begin(_ context.Context, in steps.BeginIn) (steps.BeginOut, error) {
	m := r.w.model()
	return called(r.w, "records.Begin", func() (steps.BeginOut, error) {
		if m.Finished > 0 || m.foreign || in.Reset {
			return steps.BeginOut{Verdict: steps.Stop}, nil
		}
		m.generation++
		m.run = in.RunID
		since := m.Since
		if since.IsZero() {
			since = Epoch
		}
		step := m.Step
		if m.undoing {
			step = operations.StepUndo
		}
		if step == "" && !m.CancelRequested {
			m.Step = in.First
		}
		out := steps.BeginOut{Verdict: steps.Run, Kind: m.Kind, Generation: m.generation, Deadline: since.Add(m.Spec().Deadline), Step: step,
			Opened: in.First != "" && !m.undoing && m.Step == in.First, CancelRequested: m.CancelRequested, Recovers: m.Recovers, Input: m.Input, Effects: slices.Clone(m.Effects)}
		r.w.Brief(&out)
		return out, nil
	})
}

func (r rows) Advance(_ context.Context, in steps.AdvanceIn) (steps.AdvanceOut, error) {
	m := r.w.model()
	return Fenced(r.w, "records.Advance", in.Fence, func() (steps.AdvanceOut, error) {
		m.undoing = in.Step == operations.StepUndo && (m.Spec().Forward() || !m.Spec().Beyond(m.Step))
		now := m.Step
		if in.Step == operations.StepUndo && (m.undoing || in.Beyond) {
			now = operations.StepUndo
		}
		late := m.CancelRequested && m.Spec().Beyond(in.Step) && !m.Spec().Beyond(m.Step)
		if in.Step != operations.StepUndo && !late {
			if !slices.Contains(m.Spec().Steps, in.Step) {
				m.Broke("there is no step %s", in.Step)
			}
			m.Step, now = in.Step, in.Step
			if mover, ok := r.w.(Mover); ok && in.Node != nil {
				mover.Move(*in.Node)
			}
			for _, e := range in.Intend {
				e.Seq, e.State = len(m.Effects)+1, operations.Intended
				m.Effects = append(m.Effects, e)
			}
		}
		m.settle(in.Settle)
		return steps.AdvanceOut{Step: now, CancelRequested: m.CancelRequested, Effects: slices.Clone(m.Effects)}, nil
	})
}

// Node is what Brief says of a world whose resource is a node.
func (r rows) Node(_ context.Context, in steps.NodeIn) (steps.NodeBrief, error) {
	return Fenced(r.w, "records.Node", in.Fence, func() (steps.NodeBrief, error) {
		var out steps.BeginOut
		r.w.Brief(&out)
		if out.Node == nil {
			return steps.NodeBrief{}, errInvalid
		}
		return *out.Node, nil
	})
}

func (r rows) Finish(_ context.Context, in steps.FinishIn) (steps.FinishOut, error) {
	m := r.w.model()
	return called(r.w, "records.Finish", func() (out steps.FinishOut, err error) {
		switch {
		case m.Finished > 0 && m.run == in.Fence.RunID:
			return out, nil
		case m.foreign || m.Finished > 0 || in.Fence.Generation != m.generation:
			return out, errSuperseded
		case in.Result == operations.ResultDone && m.CancelRequested && !m.Spec().Beyond(m.Step):
			return steps.FinishOut{Cancelled: true}, nil
		}
		if refuser, ok := r.w.(Refuser); ok {
			if err := refuser.Refuse(in); err != nil {
				return out, err
			}
		}
		m.Finished++
		m.Result, m.Fault = in.Result, in.Fault
		r.w.Publish(in)
		return out, nil
	})
}

// settle says what became of effects.
func (m *Model) settle(settled []steps.Settlement) {
	for _, s := range settled {
		for i := range m.Effects {
			if m.Effects[i].Seq == s.Seq {
				m.Effects[i].State = s.State
			}
		}
	}
}

// stepsOf are the methods of a world that are registered as steps, by name.
func stepsOf(w Modelled) map[string]any {
	all := map[string]any{}
	families := w.Families()
	families["records"] = rows{w}
	for family, impl := range families {
		v := reflect.ValueOf(impl)
		for i := range v.NumMethod() {
			all[family+"."+v.Type().Method(i).Name] = v.Method(i).Interface()
		}
	}
	return all
}

// Tell runs a world's workflow once and checks that what Temporal shows of it is
// what the operation's row says.
func Tell(t *testing.T, workflows Workflows, w Modelled) error {
	t.Helper()
	m := w.model()
	m.env = testenv.Workflow()
	m.env.SetStartTime(Epoch)
	m.env.SetTestTimeout(time.Minute)
	m.env.RegisterWorkflowWithOptions(workflows[m.Kind], workflow.RegisterOptions{Name: string(m.Kind)})
	for name, method := range stepsOf(w) {
		m.env.RegisterActivityWithOptions(method, activity.RegisterOptions{Name: name})
	}
	finished := m.Finished
	m.env.ExecuteWorkflow(workflows[m.Kind], steps.Ref{OperationID: m.id("it")})
	if !m.env.IsWorkflowCompleted() {
		t.Fatalf("the workflow did not end; calls %v", m.Calls)
	}
	err := m.env.GetWorkflowError()
	if finished == 0 && !m.lost && !workflow.IsContinueAsNewError(err) && !shows(err, m.Result) {
		t.Errorf("Temporal shows %v of an operation that is %q", err, m.Result)
	}
	return err
}

// id is the operation's in a story.
func (m *Model) id(story string) string {
	return fmt.Sprintf("%s/%s/%s/01jqzk0000000000test", m.Spec().Resource, ServerID, story)
}

// shows says whether the end of a workflow is that of an operation with the result;
// without one another has taken over.
func shows(err error, result operations.Result) bool {
	var failure *temporal.ApplicationError
	switch result {
	case operations.ResultCancelled:
		return temporal.IsCanceledError(err)
	case operations.ResultFailed:
		return errors.As(err, &failure)
	}
	return err == nil
}

// check holds a world whose operation has ended against the rules of all.
func check(t *testing.T, w Modelled) {
	t.Helper()
	m := w.model()
	for _, rule := range m.broke {
		t.Error(rule)
	}
	if m.Finished != 1 {
		t.Errorf("the operation was finished %d times; calls %v", m.Finished, m.Calls)
		return
	}
	if (m.Fault == nil) != (m.Result == operations.ResultDone) && m.Recovers == nil {
		t.Errorf("%s with fault %v", m.Result, m.Fault)
	}
	w.Check(t)
}
