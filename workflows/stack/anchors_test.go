package stack

// Rows 27, 29 and 33 of the list of failures that the original has had: each as it
// would happen here, and what comes of it.

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/workflowtest"
)

// beyondPatience is how many bad answers are more than a resource is tried for.
const beyondPatience = 12

// An exception that nobody expected left a stack IN_PROGRESS for ever. Here it is the
// failure of the resource that it strikes, and the stack has failed and says why.
func TestAnchor27TheUnexpectedFailsTheStackAndSaysWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   operations.Kind
		change func(*world)
		ends   string
	}{
		{operations.StackCreate, func(*world) {}, "failed CREATE_FAILED"},
		{operations.StackCreate, rolledBack, "failed ROLLBACK_COMPLETE"},
		{operations.StackUpdate, func(*world) {}, "failed UPDATE_FAILED"},
		{operations.StackDelete, made, "failed DELETE_FAILED"},
	} {
		plain := play.Told(t, diamond(of(c.kind), c.change)())
		for at, step := range plain.Calls {
			if step != "resources.Work" {
				continue
			}
			t.Run(fmt.Sprintf("%s %s, call %d, %s", c.kind, c.ends, at, step), func(t *testing.T) {
				t.Parallel()
				w := diamond(of(c.kind), c.change)()
				w.Strike = workflowtest.Strike{At: at, Times: beyondPatience, Do: workflowtest.Fails(errors.New("nobody expected this"))}
				play.Told(t, w)
				if w.End() != c.ends || w.outcome.Reason == "" && (w.Fault == nil || w.Fault.Message == "") {
					t.Errorf("%s because of %q, %+v", w.End(), w.outcome.Reason, w.Fault)
				}
			})
		}
	}
}

// Any message of a graph's walk that was lost, or whose receiver failed, stopped the
// traversal where it was. Here the walk is one workflow that asks again, and the
// stack is made whichever answer is lost.
func TestAnchor29ALostAnswerStopsNoTraversal(t *testing.T) {
	t.Parallel()
	for _, scene := range scenes {
		if !slices.Contains([]string{"create", "update", "delete"}, scene.Name) {
			continue
		}
		plain := play.Told(t, scene.World())
		for at := range plain.Calls {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, call %d, after it %t", scene.Name, at, after), func(t *testing.T) {
					t.Parallel()
					w := scene.World()
					w.Strike = workflowtest.Strike{At: at, After: after, Do: workflowtest.Fails(faults.New(faults.Unavailable, "Lost", "nobody heard it"))}
					play.Told(t, w)
					if w.End() != scene.Ends {
						t.Errorf("%s, want %s; calls %v", w.End(), scene.Ends, w.Calls)
					}
				})
			}
		}
	}
}

// Where many resources met in one, the rows that counted them were contended, the
// database found deadlocks, and random sleeps were the mend. Here the workflow counts
// in its memory: each is worked on once, and what needs all of them once, after them.
func TestAnchor33ManyThatMeetInOneAreCountedInMemory(t *testing.T) {
	t.Parallel()
	const many = 150
	w := creating()
	last := &node{slow: true}
	for i := range many {
		w.nodes = append(w.nodes, &node{slow: true})
		last.needs = append(last.needs, i)
	}
	w.nodes = append(w.nodes, last)
	play.Told(t, w)
	works := 0
	for _, step := range w.Calls {
		if step == "resources.Work" {
			works++
		}
	}
	// The world has it that nothing is begun before what it needs is done.
	if w.End() != "done CREATE_COMPLETE" || works != many+1 || len(w.Calls) != works+3 {
		t.Errorf("%s after %d calls, %d of them for resources", w.End(), len(w.Calls), works)
	}
}
