package stack

// A model of the stack that operations work on, by the rules that activities/resources
// keep.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/workflowtest"
)

// node is one resource.
type node struct {
	needs []int
	// slow has an activity of its own; waits is how often it asks for more time,
	// and fails says that it fails.
	slow  bool
	waits int
	fails bool

	// kept says that snapshots have copies of it.
	there, begun, failed, visited, kept bool
}

// byTemplate are the phases that make what a template says.
var byTemplate = []steps.Phase{steps.Make, steps.Adopt, steps.Back}

// visits are the phases that leave resources what they are.
var visits = []steps.Phase{steps.Check, steps.Suspend, steps.Resume, steps.Snapshot}

// done says whether a phase has done its part in a node.
func (n *node) done(phase steps.Phase) bool {
	if slices.Contains(visits, phase) {
		return n.visited
	}
	if phase == steps.Forget {
		return !n.kept
	}
	return n.there == (phase == steps.Make || phase == steps.Adopt)
}

func (n *node) do(phase steps.Phase) {
	if slices.Contains(visits, phase) {
		n.visited = true
		return
	}
	if phase == steps.Forget {
		n.kept = false
		return
	}
	n.there = phase == steps.Make || phase == steps.Adopt
}

// mayFail says whether a phase is one that nodes fail in.
func mayFail(phase steps.Phase) bool {
	return phase == steps.Make || phase == steps.Adopt || phase == steps.Forget || slices.Contains(visits, phase)
}

// actions are what stacks show of operations of each kind.
var actions = map[operations.Kind]string{operations.StackDelete: actionDelete, operations.StackUpdate: actionUpdate,
	operations.StackRollback: actionRollback, operations.StackCheck: actionCheck, operations.StackSuspend: actionSuspend, operations.StackResume: actionResume,
	operations.StackSnapshot: actionSnapshot, operations.StackRestore: actionRestore,
	operations.StackAdopt: actionAdopt,
	operations.StackScale: actionUpdate}

// world is one stack and the operation that holds it.
type world struct {
	workflowtest.Model
	rollback bool
	timeout  time.Duration
	nodes    []*node
	// sized says that the group that it is was asked to be of a size.
	sized bool
	// asks says that its templates ask for zones; zoned are the phases whose template has
	// them.
	asks  bool
	zoned map[steps.Phase]bool
	// forgets says that zones that are read aren't kept.
	forgets bool
	// pause is how long one that waits asks for; zero is 10 s.
	pause time.Duration

	outcome steps.StackOutcome
	// batches are the nodes that each batch was given.
	batches [][]int64
}

func (w *world) String() string {
	s := fmt.Sprintf("%s finished %d as %q: %+v\n", w.Step, w.Finished, w.Result, w.outcome)
	for i, n := range w.nodes {
		s += fmt.Sprintf(" %d there %t begun %t failed %t\n", i, n.there, n.begun, n.failed)
	}
	return s
}

// End is how it ended, as a scene has it.
func (w *world) End() string {
	if w.ofSnapshot() {
		return string(w.Result)
	}
	return fmt.Sprintf("%s %s_%s", w.Result, w.outcome.Action, w.outcome.Status)
}

func (w *world) Brief(out *steps.BeginOut) {
	action := cmp.Or(actions[w.Kind], actionCreate)
	if w.Step == operations.StepRollback {
		action = actionRollback
	}
	out.Stack = &steps.StackBrief{ID: "s", Action: action, Reason: "why it failed", Timeout: w.timeout, Rollback: w.rollback,
		Snapshots: slices.ContainsFunc(w.nodes, func(n *node) bool { return n.kept })}
}

// ofSnapshot says whether the operation is on a snapshot, of which its own end tells
// everything.
func (w *world) ofSnapshot() bool { return w.Spec().Resource == operations.Snapshot }

func (w *world) Publish(in steps.FinishIn) {
	if w.ofSnapshot() {
		return
	}
	if in.Stack == nil {
		w.Broke("nothing is said of the stack")
		return
	}
	w.outcome = *in.Stack
}

func (w *world) Families() map[string]any { return map[string]any{"resources": workers{w}} }

type workers struct{ w *world }

// needs are those of a node in a phase.
func (w *world) needs(phase steps.Phase) [][]int {
	all := make([][]int, len(w.nodes))
	if phase == steps.Forget {
		return all
	}
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
	return workflowtest.Fenced(w, "resources.Plan", in.Fence, func() (out steps.PlanOut, err error) {
		if w.wantsZones(in.Phase) {
			out.Zones = true
			return out, nil
		}
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

// wantsZones says whether what a phase makes has to wait for zones.
func (w *world) wantsZones(phase steps.Phase) bool {
	return w.asks && slices.Contains(byTemplate, phase) && !w.zoned[phase]
}

func (a workers) Zones(_ context.Context, in steps.ZonesIn) (steps.ZonesOut, error) {
	w := a.w
	return workflowtest.Fenced(w, "resources.Zones", in.Fence, func() (out steps.ZonesOut, err error) {
		if !w.asks || !slices.Contains(byTemplate, in.Phase) {
			w.Broke("zones are read for %s, which asks for none", in.Phase)
		}
		if w.zoned == nil {
			w.zoned = map[steps.Phase]bool{}
		}
		w.zoned[in.Phase] = !w.forgets
		return out, nil
	})
}

func (a workers) Batch(_ context.Context, in steps.WorkIn) (steps.WorkOut, error) {
	return workflowtest.Fenced(a.w, "resources.Batch", in.Fence, func() (steps.WorkOut, error) {
		if len(in.IDs) > batch {
			a.w.Broke("a batch of %d", len(in.IDs))
		}
		a.w.batches = append(a.w.batches, in.IDs)
		return a.w.work(in, false), nil
	})
}

func (a workers) Work(_ context.Context, in steps.WorkIn) (steps.WorkOut, error) {
	return workflowtest.Fenced(a.w, "resources.Work", in.Fence, func() (steps.WorkOut, error) { return a.w.work(in, true), nil })
}

func (a workers) Fail(_ context.Context, in steps.FailIn) (steps.FailOut, error) {
	return workflowtest.Fenced(a.w, "resources.Fail", in.Fence, func() (steps.FailOut, error) {
		a.w.nodes[in.ID-1].failed = true
		return steps.FailOut{Reason: "Resource failed: " + in.Reason}, nil
	})
}

func (a workers) Scale(_ context.Context, in steps.ScaleIn) (steps.ScaleOut, error) {
	return workflowtest.Fenced(a.w, "resources.Scale", in.Fence, func() (out steps.ScaleOut, err error) {
		out.CancelRequested, a.w.sized = a.w.CancelRequested, true
		return out, nil
	})
}

func (a workers) Scaled(_ context.Context, in steps.ScaledIn) (steps.ScaledOut, error) {
	return workflowtest.Fenced(a.w, "resources.Scaled", in.Fence, func() (out steps.ScaledOut, err error) {
		if in.Done && !a.w.sized {
			a.w.Broke("it is done, and was never begun")
		}
		return out, nil
	})
}

func (w *world) work(in steps.WorkIn, slow bool) (out steps.WorkOut) {
	out.CancelRequested = w.CancelRequested
	if w.wantsZones(in.Phase) {
		w.Broke("nodes are worked on without the zones that the template asks for")
	}
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
			w.Broke("node %d is worked on in the wrong place", id-1)
		}
		for _, need := range needs[id-1] {
			if n := w.nodes[need]; !n.done(in.Phase) && !(in.Phase == steps.Check && n.failed) {
				w.Broke("node %d was begun before %d", id-1, need)
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

// Check: the stack shows what became of its resources.
func (w *world) Check(t *testing.T) {
	t.Helper()
	if w.ofSnapshot() {
		for i, n := range w.nodes {
			if n.kept && w.Result == operations.ResultDone {
				t.Errorf("node %d has a copy still", i)
			}
		}
		return
	}
	if w.outcome.Action == "" || w.outcome.Reason == "" && !w.outcome.Deleted {
		t.Errorf("the stack is %+v", w.outcome)
	}
	if (w.outcome.Status == complete) != (w.Result == operations.ResultDone) && w.outcome.Action != actionRollback && w.Recovers == nil {
		t.Errorf("%s, and the stack is %+v", w.Result, w.outcome)
	}
	if w.Kind == operations.StackScale && !slices.Contains(w.Calls, "resources.Scaled") {
		t.Error("its parent doesn't know what it has become")
	}
	for i, n := range w.nodes {
		switch w.outcome.Action + "_" + w.outcome.Status {
		case "CREATE_COMPLETE", "ADOPT_COMPLETE", "UPDATE_COMPLETE", "RESTORE_COMPLETE":
			if !n.there {
				t.Errorf("node %d is not there", i)
			}
		case "CHECK_COMPLETE", "SUSPEND_COMPLETE", "RESUME_COMPLETE", "SNAPSHOT_COMPLETE":
			if !n.visited {
				t.Errorf("node %d was not visited", i)
			}
		case "DELETE_COMPLETE", "ROLLBACK_COMPLETE":
			if n.there || n.kept && w.outcome.Deleted {
				t.Errorf("node %d is still there, or a copy of it", i)
			}
		}
	}
}
