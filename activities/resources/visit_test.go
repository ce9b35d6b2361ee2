package resources_test

// Visits: stacks put to sleep, woken and checked.

import (
	"context"
	"slices"
	"testing"
	"time"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/graph"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// sleepy is a type that sleeps and can be asked, by what it is told.
type sleepy struct {
	outside
	calls []string
	wrong error
}

func (s *sleepy) Check(_ context.Context, c *resources.Call) (time.Duration, error) {
	c.Attributes.Set("output", "seen")
	return s.note(c)
}

func (s *sleepy) Suspend(_ context.Context, c *resources.Call) (time.Duration, error) {
	return s.note(c)
}

func (s *sleepy) Resume(_ context.Context, c *resources.Call) (time.Duration, error) {
	return s.note(c)
}

func (s *sleepy) note(c *resources.Call) (time.Duration, error) {
	s.calls = append(s.calls, c.Action+" "+c.Name)
	return 0, s.wrong
}

const sleepers = `
heat_template_version: 2021-04-16
resources:
  first: {type: OS::Heat::TestResource}
  then: {type: OS::Heat::TestResource, depends_on: first}
  none: {type: OS::Heat::None, depends_on: then}
`

// visited has the stack visited by an operation, each resource by Work or Batch.
func (w *world) visited(kind operations.Kind, phase steps.Phase) (failed []string) {
	w.Helper()
	w.fence = w.begin(kind)
	plan := w.plan(phase)
	order, err := graph.Graph{Needs: plan.Needs}.Order()
	if err != nil {
		w.Fatal(err)
	}
	for _, node := range order {
		do := w.on(w.db).Work
		if slices.Contains(plan.Instant, node) {
			do = w.on(w.db).Batch
		}
		for range 2 {
			out, err := do(w.Context(), steps.WorkIn{Fence: w.fence, Phase: phase, IDs: plan.IDs[node : node+1]})
			if err != nil {
				w.Fatal(err)
			}
			if out.Failed != nil && !slices.Contains(failed, out.Failed.Reason) {
				failed = append(failed, out.Failed.Reason)
			}
		}
	}
	return failed
}

// A stack sleeps from its last resource to its first and wakes the other way, each
// asked once; what has nothing to do with it shows it all the same.
func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sleepers)
	o := &sleepy{outside: outside{there: map[string]bool{}}}
	w.types["OS::Heat::TestResource"] = o
	plan := w.plan(steps.Make)
	for _, id := range plan.IDs[:2] {
		if _, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: []int64{id}}); err != nil {
			t.Fatal(err)
		}
	}
	w.batch(steps.Make, plan.IDs[2])
	w.end("CREATE", "COMPLETE")
	if failed := w.visited(operations.StackSuspend, steps.Suspend); failed != nil {
		t.Errorf("%v", failed)
	}
	for name, r := range w.rows() {
		if r.Action != "SUSPEND" || r.Status != "COMPLETE" {
			t.Errorf("%s is %s_%s", name, r.Action, r.Status)
		}
	}
	w.end("SUSPEND", "COMPLETE")
	if failed := w.visited(operations.StackResume, steps.Resume); failed != nil {
		t.Errorf("%v", failed)
	}
	w.end("RESUME", "COMPLETE")
	if want := []string{"SUSPEND then", "SUSPEND first", "RESUME first", "RESUME then"}; !slices.Equal(o.calls, want) {
		t.Errorf("asked %v, want %v", o.calls, want)
	}
	o.wrong = &hot.Error{Class: "Error", Message: "it won't"}
	failed := w.visited(operations.StackSuspend, steps.Suspend)
	if want := []string{"Resource SUSPEND failed: Error: resources.then: it won't", "Resource SUSPEND failed: Error: resources.first: it won't"}; !slices.Equal(failed, want) {
		t.Errorf("%q, want %q", failed, want)
	}
	w.end("SUSPEND", "FAILED")
	failed = w.visited(operations.StackResume, steps.Resume)
	if want := "Resource RESUME failed: Error: resources.first: State ('SUSPEND', 'FAILED') invalid for resume"; len(failed) != 2 || failed[0] != want {
		t.Errorf("%q, want %q", failed, want)
	}
}

// A check tells of each resource what has become of it, and of those that can't be
// asked that they weren't; one that is cut short has found nothing wrong.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sleepers)
	plan := w.plan(steps.Make)
	w.batch(steps.Make, plan.IDs...)
	w.end("CREATE", "COMPLETE")
	o := &sleepy{outside: outside{there: map[string]bool{}}, wrong: &hot.Error{Class: "Error", Message: "it is gone"}}
	w.types["OS::Heat::TestResource"] = o
	failed := w.visited(operations.StackCheck, steps.Check)
	if want := "first: Resource CHECK failed: Error: resources.first: it is gone"; len(failed) != 2 || failed[0] != want {
		t.Errorf("%q, want %q", failed, want)
	}
	rows := w.rows()
	if none := rows["none"]; none.Action+"_"+none.Status+" "+none.Reason != "CHECK_COMPLETE CHECK not supported for OS::Heat::None" {
		t.Errorf("%+v", none)
	}
	if !w.plan(steps.Check).Unasked {
		t.Error("it is not said that one can't be asked")
	}
	w.end("CHECK", "FAILED")

	o.wrong = faults.New(faults.Unavailable, "Down", "the service is down")
	w.fence = w.begin(operations.StackCheck)
	if _, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Check, IDs: w.plan(steps.Check).IDs[:1]}); !faults.Is(err, faults.Unavailable) {
		t.Errorf("%v", err)
	}
	w.end("CHECK", "FAILED")
	if first := w.rows()["first"]; first.Action+"_"+first.Status != "CHECK_COMPLETE" {
		t.Errorf("cut short, it is %+v", first)
	}
}
