package stack

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/workflowtest"
)

// creating is a stack that is to come, with these resources.
func creating(nodes ...*node) *world {
	w := &world{timeout: time.Hour, nodes: nodes}
	w.Kind = operations.StackCreate
	return w
}

// diamond is four nodes: one that three need, one of them slow, one that waits,
// and one that needs those.
func diamond(change ...func(*world)) func() *world {
	return func() *world {
		w := creating(&node{}, &node{needs: []int{0}, slow: true}, &node{needs: []int{0}, waits: 2}, &node{needs: []int{1, 2}})
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

func copied(w *world) {
	for _, n := range w.nodes {
		n.kept = true
	}
}

func of(kind operations.Kind) func(*world) { return func(w *world) { w.Kind = kind } }

func failing(i int) func(*world) { return func(w *world) { w.nodes[i].fails = true } }

func rolledBack(w *world) { w.rollback = true }

func asking(w *world) { w.asks = true }

func recovering(kind operations.Kind) func(*world) {
	return func(w *world) {
		w.Kind, _ = operations.RecoverKind(kind)
		w.Recovers = &steps.Recovered{OperationID: "lost", Kind: kind, Step: operations.StepResources}
	}
}

var scenes = []workflowtest.Scene[*world]{
	{Name: "create", World: diamond(), Ends: "done CREATE_COMPLETE"},
	{Name: "create, the first fails", World: diamond(failing(0)), Ends: "failed CREATE_FAILED"},
	{Name: "create, a slow one fails", World: diamond(failing(1)), Ends: "failed CREATE_FAILED"},
	{Name: "create, one that waits fails", World: diamond(failing(2), rolledBack), Ends: "failed ROLLBACK_COMPLETE"},
	{Name: "create, the last fails", World: diamond(failing(3), rolledBack), Ends: "failed ROLLBACK_COMPLETE"},
	{Name: "create nothing", World: func() *world { return creating() }, Ends: "done CREATE_COMPLETE"},
	{Name: "create, zones asked for", World: diamond(asking), Ends: "done CREATE_COMPLETE"},
	{Name: "create, zones asked for, the last fails", World: diamond(asking, failing(3), rolledBack), Ends: "failed ROLLBACK_COMPLETE"},
	{Name: "adopt, zones asked for", World: diamond(of(operations.StackAdopt), asking), Ends: "done ADOPT_COMPLETE"},
	{Name: "update, zones asked for, the last fails", World: diamond(of(operations.StackUpdate), asking, failing(3), rolledBack), Ends: "failed ROLLBACK_COMPLETE"},
	{Name: "rollback, zones asked for", World: diamond(of(operations.StackRollback), made, asking), Ends: "done ROLLBACK_COMPLETE"},
	{Name: "check, zones asked for", World: diamond(of(operations.StackCheck), made, asking), Ends: "done CHECK_COMPLETE"},
	{Name: "adopt", World: diamond(of(operations.StackAdopt)), Ends: "done ADOPT_COMPLETE"},
	{Name: "adopt, a slow one fails", World: diamond(of(operations.StackAdopt), failing(1)), Ends: "failed ADOPT_FAILED"},
	{Name: "adopt, the last fails", World: diamond(of(operations.StackAdopt), failing(3), rolledBack), Ends: "failed ROLLBACK_COMPLETE"},
	{Name: "update", World: diamond(of(operations.StackUpdate)), Ends: "done UPDATE_COMPLETE"},
	{Name: "update, a slow one fails", World: diamond(of(operations.StackUpdate), failing(1)), Ends: "failed UPDATE_FAILED"},
	{Name: "update, the last fails", World: diamond(of(operations.StackUpdate), failing(3), rolledBack), Ends: "failed ROLLBACK_COMPLETE"},
	{Name: "delete", World: diamond(of(operations.StackDelete), made), Ends: "done DELETE_COMPLETE"},
	{Name: "rollback", World: diamond(of(operations.StackRollback), made), Ends: "done ROLLBACK_COMPLETE"},
	{Name: "check", World: diamond(of(operations.StackCheck), made), Ends: "done CHECK_COMPLETE"},
	{Name: "check, two are broken", World: diamond(of(operations.StackCheck), made, failing(1), failing(2)), Ends: "failed CHECK_FAILED"},
	{Name: "suspend", World: diamond(of(operations.StackSuspend), made), Ends: "done SUSPEND_COMPLETE"},
	{Name: "suspend, a slow one fails", World: diamond(of(operations.StackSuspend), made, failing(1)), Ends: "failed SUSPEND_FAILED"},
	{Name: "resume", World: diamond(of(operations.StackResume), made), Ends: "done RESUME_COMPLETE"},
	{Name: "resume, the first fails", World: diamond(of(operations.StackResume), made, failing(0)), Ends: "failed RESUME_FAILED"},
	{Name: "snapshot", World: diamond(of(operations.StackSnapshot), made), Ends: "done SNAPSHOT_COMPLETE"},
	{Name: "snapshot, a slow one fails", World: diamond(of(operations.StackSnapshot), made, failing(1)), Ends: "failed SNAPSHOT_FAILED"},
	{Name: "restore", World: diamond(of(operations.StackRestore)), Ends: "done RESTORE_COMPLETE"},
	{Name: "restore, the last fails", World: diamond(of(operations.StackRestore), failing(3), rolledBack), Ends: "failed ROLLBACK_COMPLETE"},
	{Name: "delete, with snapshots", World: diamond(of(operations.StackDelete), made, copied), Ends: "done DELETE_COMPLETE"},
	{Name: "delete, a copy stays", World: diamond(of(operations.StackDelete), made, copied, failing(1)), Ends: "failed DELETE_FAILED"},
	{Name: "delete a snapshot", World: diamond(of(operations.SnapshotDelete), copied), Ends: "done"},
	{Name: "delete a snapshot, a copy stays", World: diamond(of(operations.SnapshotDelete), copied, failing(1)), Ends: "failed"},
	{Name: "recover a snapshot's delete", World: diamond(recovering(operations.SnapshotDelete), copied), Ends: "done"},
	{Name: "scale", World: diamond(of(operations.StackScale)), Ends: "done UPDATE_COMPLETE"},
	{Name: "scale, a slow one fails", World: diamond(of(operations.StackScale), failing(1)), Ends: "failed UPDATE_FAILED"},
	{Name: "recover a scale", World: diamond(recovering(operations.StackScale)), Ends: "done CREATE_FAILED"},
	{Name: "recover a create", World: diamond(recovering(operations.StackCreate)), Ends: "done CREATE_FAILED"},
	{Name: "recover an adopt", World: diamond(recovering(operations.StackAdopt)), Ends: "done CREATE_FAILED"},
	{Name: "recover a delete", World: diamond(recovering(operations.StackDelete), made), Ends: "done DELETE_COMPLETE"},
}

var play = workflowtest.Play[*world]{Workflows: Workflows, Scenes: scenes, Allowed: allowed}

// allowed: it may be cancelled unless it is forward, and a resource that can't be worked
// on fails it, as do zones that can't be read.
func allowed(w *world, s workflowtest.Strike, step, plain, end string) bool {
	if strings.HasPrefix(s.Name, "cancelled") {
		return !w.Spec().Forward() && strings.HasPrefix(end, "cancelled ") && strings.HasSuffix(end, "_FAILED") ||
			strings.HasPrefix(plain, "failed") && strings.HasPrefix(end, "cancelled")
	}
	return slices.Contains([]string{"resources.Work", "resources.Zones"}, step) && s.Times != 3 && strings.HasPrefix(end, "failed") || strings.HasPrefix(s.Name, "fails for good")
}

func TestEvery(t *testing.T) {
	t.Parallel()
	play.Every(t)
}

// A traversal that takes too long ends, and says so.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := diamond(func(w *world) { w.timeout, w.nodes[2].waits = time.Minute, 1000 })()
	play.Told(t, w)
	if w.End() != "failed CREATE_FAILED" || w.outcome.Reason != "Create timed out" {
		t.Errorf("%s: %q", w.End(), w.outcome.Reason)
	}
}

// Zones that are read and not kept end the operation: nothing is made without them, and
// nobody asks for ever.
func TestZonesThatArentKept(t *testing.T) {
	t.Parallel()
	w := diamond(asking, func(w *world) { w.forgets = true })()
	play.Told(t, w)
	if w.End() != "failed CREATE_FAILED" || w.Fault == nil || w.Fault.Code != "NoZones" {
		t.Errorf("%s: %+v; calls %v", w.End(), w.Fault, w.Calls)
	}
}

// A check asks all, whatever it finds, and tells of each that is broken.
func TestCheckTellsOfAll(t *testing.T) {
	t.Parallel()
	w := diamond(of(operations.StackCheck), made, failing(0), failing(1))()
	play.Told(t, w)
	if want := "Resource CHECK failed: why it failed; why it failed"; w.outcome.Reason != want {
		t.Errorf("%s: %q, want %q", w.End(), w.outcome.Reason, want)
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
	w.Strike = workflowtest.Strike{At: 10, Do: workflowtest.CancelledByTemporal}
	play.Told(t, w)
	if w.Result != operations.ResultCancelled || w.outcome.Reason != "Stack CREATE cancelled" {
		t.Errorf("%s: %+v", w.Result, w.outcome)
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
			w := creating()
			for i := range 1000 {
				w.nodes = append(w.nodes, &node{needs: needs(i)})
			}
			play.Told(t, w)
			if n := len(w.Calls); n > 1000/batch+5 {
				t.Errorf("%d calls for 1000 resources", n)
			}
		})
	}
}

// Slow ones are worked on a few at a time, those too that have waited until all of them
// may be looked at.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	w := creating()
	for range 120 {
		w.nodes = append(w.nodes, &node{slow: true, waits: 1})
	}
	play.Told(t, w)
	if w.End() != "done CREATE_COMPLETE" {
		t.Error(w.End())
	}
}

// A knock has the nodes that it names be looked at, at once, and all others be left until
// their time has come; one that names none is for all.
func TestKnocks(t *testing.T) {
	t.Parallel()
	const firstBatch = 2
	all := []int64{1, 2, 3}
	for name, test := range map[string]struct {
		knocks []steps.Knocked
		want   [][]int64
	}{
		"none":                   {nil, [][]int64{all, all}},
		"of all":                 {[]steps.Knocked{{}}, [][]int64{all, all}},
		"of one":                 {[]steps.Knocked{{Nodes: []int64{2}}}, [][]int64{all, {2}, {1, 3}}},
		"of two":                 {[]steps.Knocked{{Nodes: []int64{3}}, {Nodes: []int64{1}}}, [][]int64{all, {1, 3}, {2}}},
		"of one, and of all":     {[]steps.Knocked{{Nodes: []int64{3}}, {}}, [][]int64{all, all}},
		"of one that is no node": {[]steps.Knocked{{Nodes: []int64{-4}}}, [][]int64{all, all}},
		"of one that is done":    {[]steps.Knocked{{Nodes: []int64{2}}, {Nodes: []int64{2, 2}}}, [][]int64{all, {2}, {1, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := creating(&node{waits: 1}, &node{waits: 1}, &node{waits: 1})
			w.Strike = workflowtest.Strike{At: firstBatch, After: true, Do: func(m workflowtest.Modelled) error {
				for _, k := range test.knocks {
					workflowtest.Knock(m, k)
				}
				return nil
			}}
			play.Told(t, w)
			if !reflect.DeepEqual(w.batches, test.want) || w.End() != "done CREATE_COMPLETE" {
				t.Errorf("batches %v, want %v; %s", w.batches, test.want, w.End())
			}
		})
	}
}

// A run that continues another looks at all that waits, whatever the knocks were for that
// the other has not heard.
func TestTheNextRunLooksAtAll(t *testing.T) {
	t.Parallel()
	w := creating(&node{waits: 2}, &node{waits: 2}, &node{waits: 2})
	w.Strike = workflowtest.Strike{At: 2, After: true, Do: workflowtest.ContinuesAsNew}
	if err := workflowtest.Tell(t, Workflows, w); !workflow.IsContinueAsNewError(err) {
		t.Fatalf("the first run ended with %v", err)
	}
	w.Strike = workflowtest.Strike{}
	play.Told(t, w)
	all := []int64{1, 2, 3}
	if want := [][]int64{all, all, all}; !reflect.DeepEqual(w.batches, want) || w.End() != "done CREATE_COMPLETE" {
		t.Errorf("batches %v, want %v; %s", w.batches, want, w.End())
	}
}

// A cancel is seen between batches, of which there may be many.
func TestCancelBetweenBatches(t *testing.T) {
	t.Parallel()
	const secondBatch = 3
	w := creating()
	for range 40 * batch {
		w.nodes = append(w.nodes, &node{waits: 1000})
	}
	w.Strike = workflowtest.Strike{At: secondBatch, Do: workflowtest.CancelledByRow}
	play.Told(t, w)
	if w.End() != "cancelled CREATE_FAILED" || len(w.batches) != 2 {
		t.Errorf("%s after %d batches, want 2", w.End(), len(w.batches))
	}
}
