package stack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// scenario is a story and how it ends undisturbed.
type scenario struct {
	name  string
	world func() *world
	ends  string
}

// diamond is four nodes: one that three need, one of them slow, one that waits,
// and one that needs those.
func diamond(change ...func(*world)) func() *world {
	return func() *world {
		w := &world{kind: operations.StackCreate, timeout: time.Hour,
			nodes: []*node{{}, {needs: []int{0}, slow: true}, {needs: []int{0}, waits: 2}, {needs: []int{1, 2}}}}
		for _, f := range change {
			f(w)
		}
		return w
	}
}

func made(w *world) {
	for _, n := range w.nodes {
		n.there = true
	}
}

func of(kind operations.Kind) func(*world) { return func(w *world) { w.kind = kind } }

func failing(i int) func(*world) { return func(w *world) { w.nodes[i].fails = true } }

func rolledBack(w *world) { w.rollback = true }

func recovering(kind operations.Kind) func(*world) {
	return func(w *world) {
		w.kind, w.recovers = operations.StackRecover, &steps.Recovered{OperationID: "lost", Kind: kind, Step: operations.StepResources}
	}
}

var scenarios = []scenario{
	{"create", diamond(), "done CREATE_COMPLETE"},
	{"create, the first fails", diamond(failing(0)), "failed CREATE_FAILED"},
	{"create, a slow one fails", diamond(failing(1)), "failed CREATE_FAILED"},
	{"create, one that waits fails", diamond(failing(2), rolledBack), "failed ROLLBACK_COMPLETE"},
	{"create, the last fails", diamond(failing(3), rolledBack), "failed ROLLBACK_COMPLETE"},
	{"create nothing", func() *world { return &world{kind: operations.StackCreate, timeout: time.Hour} }, "done CREATE_COMPLETE"},
	{"update", diamond(of(operations.StackUpdate)), "done UPDATE_COMPLETE"},
	{"update, a slow one fails", diamond(of(operations.StackUpdate), failing(1)), "failed UPDATE_FAILED"},
	{"update, the last fails", diamond(of(operations.StackUpdate), failing(3), rolledBack), "failed ROLLBACK_COMPLETE"},
	{"delete", diamond(of(operations.StackDelete), made), "done DELETE_COMPLETE"},
	{"rollback", diamond(of(operations.StackRollback), made), "done ROLLBACK_COMPLETE"},
	{"check", diamond(of(operations.StackCheck), made), "done CHECK_COMPLETE"},
	{"check, two are broken", diamond(of(operations.StackCheck), made, failing(1), failing(2)), "failed CHECK_FAILED"},
	{"suspend", diamond(of(operations.StackSuspend), made), "done SUSPEND_COMPLETE"},
	{"suspend, a slow one fails", diamond(of(operations.StackSuspend), made, failing(1)), "failed SUSPEND_FAILED"},
	{"resume", diamond(of(operations.StackResume), made), "done RESUME_COMPLETE"},
	{"resume, the first fails", diamond(of(operations.StackResume), made, failing(0)), "failed RESUME_FAILED"},
	{"recover a create", diamond(recovering(operations.StackCreate)), "done CREATE_FAILED"},
	{"recover a delete", diamond(recovering(operations.StackDelete), made), "done DELETE_COMPLETE"},
}

func (w *world) end() string {
	return fmt.Sprintf("%s %s_%s", w.result, w.outcome.Action, w.outcome.Status)
}

// incidents are what can happen at any call.
var incidents = []incident{
	{name: "fails three times", times: 3, do: func(*world) error { return errBusy }},
	{name: "the answer is lost", after: true, do: func(*world) error { return errBusy }},
	{name: "fails until given up", times: 5, do: func(*world) error { return errBusy }},
	{name: "fails for good", do: func(*world) error { return faults.New(faults.Invalid, "Bad", "it can't work") }},
	{name: "cancelled by row", do: cancelByRow},
	{name: "cancelled by row afterwards", after: true, do: cancelByRow},
	{name: "cancelled by Temporal", do: cancelByTemporal},
	{name: "cancelled by Temporal afterwards", after: true, do: cancelByTemporal},
	{name: "superseded", do: supersede},
	{name: "superseded afterwards", after: true, do: supersede},
	{name: "the workflow is lost", do: lose},
	{name: "the workflow is lost afterwards", after: true, do: lose},
	{name: "knocks", do: func(w *world) error { w.env.SignalWorkflow(steps.Knock, nil); return nil }},
	{name: "continues as new", after: true, do: func(w *world) error { w.env.SetContinueAsNewSuggested(true); return nil }},
}

func cancelByRow(w *world) error { w.cancelled = true; return nil }

func cancelByTemporal(w *world) error {
	w.cancelled = true
	w.env.CancelWorkflow()
	return nil
}

func supersede(w *world) error {
	w.foreign = true
	w.frozen = w.String()
	return nil
}

func lose(w *world) error { w.lost = true; return errSuperseded }

// allowed says whether an operation that would have ended as plain may end so
// after an incident at a call of a step.
func allowed(i incident, step, plain, end string, forward bool) bool {
	switch {
	case end == plain:
		return true
	case strings.HasPrefix(i.name, "cancelled"):
		return !forward && strings.HasPrefix(end, "cancelled ") && strings.HasSuffix(end, "_FAILED") ||
			strings.HasPrefix(plain, "failed") && strings.HasPrefix(end, "cancelled")
	case strings.HasPrefix(i.name, "fails"):
		return step == "resources.Work" && i.times != 3 && strings.HasPrefix(end, "failed") ||
			i.name == "fails for good" && step != "records.Finish" && step != "records.Begin"
	}
	return false
}

// Each story is told undisturbed, and with each incident at each call.
func TestEvery(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			plain := s.world()
			plain.check(t, plain.tell(t))
			if plain.end() != s.ends {
				t.Fatalf("it ended as %q, want %q; calls %v", plain.end(), s.ends, plain.calls)
			}
			for at, step := range plain.calls {
				for _, i := range incidents {
					if i.name == "fails for good" && strings.HasPrefix(step, "records.") {
						continue // no step on our own rows ends so
					}
					i.at = at
					t.Run(fmt.Sprintf("%02d %s: %s", at, step, i.name), func(t *testing.T) { disturbed(t, s, i, step) })
				}
			}
		})
	}
}

func disturbed(t *testing.T, s scenario, i incident, step string) {
	w := s.world()
	w.incident = i
	err := w.tell(t)
	for runs := 0; runs < 20 && (w.lost || workflow.IsContinueAsNewError(err)); runs++ {
		w.lost, w.incident = false, incident{}
		err = w.tell(t)
	}
	if w.foreign && w.frozen != "" {
		if now := w.String(); now != w.frozen {
			t.Errorf("something was touched after another operation took over:\n%s\nwas\n%s", now, w.frozen)
		}
		if w.finished == 0 && err != nil {
			t.Errorf("the workflow ended with %v", err)
		}
		return
	}
	w.check(t, err)
	if !allowed(i, step, s.ends, w.end(), w.spec().Forward()) {
		t.Errorf("it ended as %q, undisturbed as %q; calls %v", w.end(), s.ends, w.calls)
	}
}

// A traversal that takes too long ends, and says so.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := diamond(func(w *world) { w.timeout, w.nodes[2].waits = time.Minute, 1000 })()
	w.check(t, w.tell(t))
	if w.end() != "failed CREATE_FAILED" || w.outcome.Reason != "Create timed out" {
		t.Errorf("%s: %q", w.end(), w.outcome.Reason)
	}
}

// A check asks all, whatever it finds, and tells of each that is broken.
func TestCheckTellsOfAll(t *testing.T) {
	t.Parallel()
	w := diamond(of(operations.StackCheck), made, failing(0), failing(1))()
	w.check(t, w.tell(t))
	if want := "Resource CHECK failed: why it failed; why it failed"; w.outcome.Reason != want {
		t.Errorf("%s: %q, want %q", w.end(), w.outcome.Reason, want)
	}
	for i, n := range w.nodes {
		if !n.begun {
			t.Errorf("node %d was not asked", i)
		}
	}
}

// A cancel ends one that waits, at once.
func TestCancelWhileItWaits(t *testing.T) {
	t.Parallel()
	w := diamond(func(w *world) { w.nodes[2].waits = 1000 })()
	w.incident = incident{at: 10, do: cancelByTemporal}
	err := w.tell(t)
	w.check(t, err)
	if !temporal.IsCanceledError(err) || w.outcome.Reason != "Stack CREATE cancelled" {
		t.Errorf("%v, %+v", err, w.outcome)
	}
}

// A thousand instant resources go in batches, a chain of them too, and what
// another made ready goes with it.
func TestBatches(t *testing.T) {
	t.Parallel()
	for name, needs := range map[string]func(i int) []int{
		"flat":  func(int) []int { return nil },
		"chain": func(i int) []int { return []int{i - 1}[:min(i, 1)] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{kind: operations.StackCreate, timeout: time.Hour}
			for i := range 1000 {
				w.nodes = append(w.nodes, &node{needs: needs(i)})
			}
			w.check(t, w.tell(t))
			if n := len(w.calls); n > 1000/batch+5 {
				t.Errorf("%d calls for 1000 resources", n)
			}
		})
	}
}

// Slow ones are worked on a few at a time.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	w := &world{kind: operations.StackCreate, timeout: time.Hour}
	for range 120 {
		w.nodes = append(w.nodes, &node{slow: true})
	}
	w.check(t, w.tell(t))
	if w.end() != "done CREATE_COMPLETE" {
		t.Error(w.end())
	}
}
