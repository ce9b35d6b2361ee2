package resources

// Visits: what is done with resources that stay what they are.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

// visit is what a phase does with each resource.
type visit struct {
	// action is what users see of it, word what it is called in a refusal.
	action, word string
	// refused says that it can't be done with a resource in its present state.
	refused func(*orchestration.Resource) bool
	// passes says that a resource stays as it is; nil is none.
	passes func(*orchestration.Resource) bool
	// hook is a type's part; nil has none.
	hook func(Type) func(context.Context, *Call) (time.Duration, error)
}

var visits = map[steps.Phase]visit{
	steps.Check: {
		action: orchestration.ActionCheck, word: "check",
		refused: func(*orchestration.Resource) bool { return false },
		hook: func(t Type) func(context.Context, *Call) (time.Duration, error) {
			if c, ok := t.(Checker); ok {
				return c.Check
			}
			return nil
		},
	},
	steps.Suspend: {
		action: orchestration.ActionSuspend, word: "suspend",
		refused: func(r *orchestration.Resource) bool {
			return r.Action == orchestration.ActionDelete || r.Action != orchestration.ActionSuspend && r.Status != orchestration.Complete
		},
		hook: func(t Type) func(context.Context, *Call) (time.Duration, error) {
			if s, ok := t.(Sleeper); ok {
				return s.Suspend
			}
			return nil
		},
	},
	steps.Resume: {
		action: orchestration.ActionResume, word: "resume",
		refused: func(r *orchestration.Resource) bool {
			state := r.Action + "_" + r.Status
			return !slices.Contains([]string{"SUSPEND_COMPLETE", "RESUME_FAILED", "RESUME_COMPLETE"}, state)
		},
		hook: func(t Type) func(context.Context, *Call) (time.Duration, error) {
			if s, ok := t.(Sleeper); ok {
				return s.Resume
			}
			return nil
		},
	},
	// Of what isn't there, or isn't as it should be, there is no copy; one that couldn't
	// be copied can be the next time.
	steps.Snapshot: {
		action: orchestration.ActionSnapshot, word: "snapshot",
		refused: func(*orchestration.Resource) bool { return false },
		passes: func(r *orchestration.Resource) bool {
			return r.Action == orchestration.ActionInit || r.Status != orchestration.Complete && r.Action != orchestration.ActionSnapshot
		},
		hook: func(t Type) func(context.Context, *Call) (time.Duration, error) {
			if s, ok := t.(Snapshotter); ok {
				return s.Snapshot
			}
			return nil
		},
	},
}

// planVisit has every resource there is, each after those it needs; those that
// are put to sleep after those that need them.
func (j *job) planVisit(rows []*orchestration.Resource) steps.PlanOut {
	rows = slices.DeleteFunc(rows, func(r *orchestration.Resource) bool { return r.ReplacedBy != 0 })
	g := needsOf(rows)
	if j.phase == steps.Suspend {
		g = g.Reverse()
	}
	out := steps.PlanOut{Needs: g.Needs}
	for node, r := range rows {
		out.IDs = append(out.IDs, r.ID)
		j.describe(&out, node, r, r.Carrier())
		out.Unasked = out.Unasked || j.phase == steps.Check && visits[steps.Check].hook(j.o.Types[r.Carrier()]) == nil
	}
	return out
}

// visit begins a visit of a resource; false if there is nothing to call: it is
// over, or it can't be.
func (s *shift) visit(id int64, r *orchestration.Resource, v visit) bool {
	asked := v.hook(s.o.Types[r.Carrier()]) != nil
	switch {
	case r.Action == v.action && r.Status == orchestration.InProgress:
		return true // begun, and to be gone on with
	case v.passes != nil && v.passes(r):
		s.out.Done = append(s.out.Done, id)
		return false
	case v.refused(r):
		s.out.Failed = &steps.FailedResource{ID: id, Reason: fmt.Sprintf("Resource %s failed: Error: resources.%s: State ('%s', '%s') invalid for %s",
			v.action, r.Name, r.Action, r.Status, v.word)}
		return false
	case s.phase != steps.Check:
		s.show(r, v.action)
		return true
	case r.Action == orchestration.ActionInit && asked:
		r.Action, r.Status, r.Reason = v.action, orchestration.Failed, "Can not check "+r.Name+", resource not created yet."
		s.tell(r)
		s.out.Failed = &steps.FailedResource{ID: id, Reason: s.reasonOf(r)}
	case asked:
		s.show(r, v.action)
		return true
	case r.Action != orchestration.ActionInit:
		r.Action, r.Status, r.Reason = v.action, orchestration.Complete, v.action+" not supported for "+r.Type
		s.tell(r)
		s.out.Done = append(s.out.Done, id)
	default:
		s.out.Done = append(s.out.Done, id)
	}
	r.DoneIn = s.traversal
	s.keep(r)
	return false
}
