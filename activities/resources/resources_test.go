package resources_test

// Plan, Batch, Work and Fail: stacks made and taken away, and what is done twice.

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const chain = `
heat_template_version: 2021-04-16
resources:
  word: {type: OS::Heat::RandomString, properties: {length: 7}}
  said: {type: OS::Heat::Value, properties: {value: {str_replace: {template: "the word is W", params: {W: {get_attr: [word, value]}}}}}}
  none: {type: OS::Heat::None, depends_on: said, properties: {whatever: {get_resource: word}}}
outputs:
  said: {value: {get_attr: [said, value]}}
`

// A stack is made and taken away again: each resource sees what those it needs
// have become.
func TestMakeAndClear(t *testing.T) {
	t.Parallel()
	w := newWorld(t, chain)
	plan := w.plan(steps.Make)
	if len(plan.IDs) != 3 || !reflect.DeepEqual(plan.Needs, [][]int{nil, {0}, {0, 1}}) || len(plan.Instant) != 3 || plan.Done != nil {
		t.Fatalf("the plan is %+v", plan)
	}
	if out := w.batch(steps.Make, plan.IDs...); !slices.Equal(out.Done, plan.IDs) || out.Failed != nil || out.Waiting != nil {
		t.Fatalf("%+v", out)
	}
	rows := w.rows()
	state, err := stacks.OpenState(rows["said"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	word, err := stacks.OpenState(rows["word"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := word.Attributes.Get("value")
	if said, _ := state.Attributes.Get("value"); said != "the word is "+text.(string) || len(text.(string)) != 7 {
		t.Errorf("of %q was said %q", text, said)
	}
	if strings.Contains(string(rows["word"].State), text.(string)) {
		t.Error("the word can be read in the row")
	}
	want := []string{"s CREATE_IN_PROGRESS"}
	for _, name := range []string{"word", "said", "none"} {
		want = append(want, name+" CREATE_IN_PROGRESS", name+" CREATE_COMPLETE")
	}
	if got := w.events(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if again := w.plan(steps.Make); len(again.Done) != 3 {
		t.Errorf("taken up, the plan is %+v", again)
	}

	finish := steps.FinishIn{Fence: w.fence, Result: operations.ResultDone, Stack: &steps.StackOutcome{Action: "CREATE", Status: "COMPLETE", Reason: "Stack CREATE completed successfully"}}
	if _, err := w.records().Finish(t.Context(), finish); err != nil {
		t.Fatal(err)
	}
	w.fence = w.begin(operations.StackDelete)
	plan = w.plan(steps.Clear)
	if !reflect.DeepEqual(plan.Needs, [][]int{{1, 2}, {2}, nil}) || plan.IDs[0] >= 0 {
		t.Fatalf("the plan is %+v", plan)
	}
	if out := w.batch(steps.Clear, plan.IDs[2], plan.IDs[1], plan.IDs[0]); len(out.Done) != 3 || out.Failed != nil {
		t.Errorf("%+v", out)
	}
	if left := w.rows(); len(left) > 0 {
		t.Errorf("%d resources are left", len(left))
	}
	gone := steps.FinishIn{Fence: w.fence, Result: operations.ResultDone, Stack: &steps.StackOutcome{Action: "DELETE", Status: "COMPLETE", Deleted: true}}
	for range 2 {
		if _, err := w.records().Finish(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	s, err := orchestration.GetStack(t.Context(), w.db.Pool, "p", w.stack.ID)
	if err != nil || s.State() != "DELETE_COMPLETE" || s.DeletedAt == nil {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := orchestration.FindStack(t.Context(), w.db.Pool, "p", "s"); !faults.Is(err, faults.NotFound) {
		t.Errorf("a deleted stack is found by its name: %v", err)
	}
}

// One that fails says so in its row, its event and the stack's reason, and the
// rest of its batch is not begun.
func TestFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
heat_template_version: 2021-04-16
resources:
  bad: {type: OS::Heat::TestResource, properties: {fail: true}}
  then: {type: OS::Heat::Value, depends_on: bad, properties: {value: 1}}
`)
	plan := w.plan(steps.Make)
	for range 2 {
		out := w.batch(steps.Make, plan.IDs...)
		if out.Failed == nil || out.Failed.Reason != "Resource CREATE failed: ValueError: resources.bad: Test Resource failed bad" || out.Done != nil {
			t.Fatalf("%+v", out)
		}
	}
	rows := w.rows()
	if rows["bad"].Status != "FAILED" || rows["then"].Action != "INIT" {
		t.Errorf("%+v, %+v", rows["bad"], rows["then"])
	}
	if got := w.events(); len(got) != 3 {
		t.Errorf("events %v", got)
	}
}

// One that takes its time is asked again when that has come.
func TestWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
heat_template_version: 2021-04-16
resources:
  slow: {type: OS::Heat::Delay, properties: {min_wait: 1}}
  then: {type: OS::Heat::None, depends_on: slow}
`)
	plan := w.plan(steps.Make)
	first := w.batch(steps.Make, plan.IDs...)
	if then := w.rows()["then"]; len(first.Waiting) != 1 || then.Action != "INIT" {
		t.Fatalf("%+v, and what needs it is %+v", first, then)
	}
	if again := w.batch(steps.Make, plan.IDs...); len(again.Waiting) > 0 && again.Waiting[0].After >= first.Waiting[0].After {
		t.Errorf("%+v, then %+v", first, again)
	}
	if out := w.later(steps.Make, plan.IDs...); len(out.Done) != 2 {
		t.Errorf("%+v", out)
	}
}

// Something outside is begun in the row before it is begun outside, is tried
// again if its service is down, and given up by Fail.
func TestOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "heat_template_version: 2021-04-16\nresources: {thing: {type: OS::Heat::TestResource}}")
	o := &outside{there: map[string]bool{}, fail: faults.New(faults.Unavailable, "Down", "the service is down")}
	w.types["OS::Heat::TestResource"] = o
	plan := w.plan(steps.Make)
	if plan.Instant != nil {
		t.Errorf("the plan is %+v", plan)
	}
	in := steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: plan.IDs}
	if _, err := w.on(w.db).Work(t.Context(), in); !faults.Is(err, faults.Unavailable) || w.rows()["thing"].Status != "IN_PROGRESS" {
		t.Errorf("%v, and the row is %+v", err, w.rows()["thing"])
	}
	o.fail = nil
	for range 2 {
		out, err := w.on(w.db).Work(t.Context(), in)
		if err != nil || len(out.Done) != 1 || len(o.there) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	stale := in
	stale.Fence.Generation++
	if _, err := w.on(w.db).Work(t.Context(), stale); !faults.Is(err, faults.Superseded) {
		t.Errorf("without the fence: %v", err)
	}
}

// acts are the steps on a database, done twice and killed half-way.
var acts = map[string]func(*world, steps.PlanOut) func(context.Context, *resources.Activities) (any, error){
	"resources.Plan": func(w *world, _ steps.PlanOut) func(context.Context, *resources.Activities) (any, error) {
		return func(ctx context.Context, a *resources.Activities) (any, error) {
			return a.Plan(ctx, steps.PlanIn{Fence: w.fence, Phase: steps.Make})
		}
	},
	"resources.Zones": func(w *world, _ steps.PlanOut) func(context.Context, *resources.Activities) (any, error) {
		return func(ctx context.Context, a *resources.Activities) (any, error) {
			return a.Zones(ctx, steps.ZonesIn{Fence: w.fence, Phase: steps.Make})
		}
	},
	"resources.Batch": func(w *world, p steps.PlanOut) func(context.Context, *resources.Activities) (any, error) {
		return func(ctx context.Context, a *resources.Activities) (any, error) {
			return a.Batch(ctx, steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: p.IDs})
		}
	},
	"resources.Work": func(w *world, p steps.PlanOut) func(context.Context, *resources.Activities) (any, error) {
		return func(ctx context.Context, a *resources.Activities) (any, error) {
			return a.Work(ctx, steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: p.IDs[:1]})
		}
	},
	"resources.Fail": func(w *world, p steps.PlanOut) func(context.Context, *resources.Activities) (any, error) {
		return func(ctx context.Context, a *resources.Activities) (any, error) {
			return a.Fail(ctx, steps.FailIn{Fence: w.fence, Phase: steps.Make, ID: p.IDs[0], Reason: "given up"})
		}
	},
	"resources.Scale": func(w *world, _ steps.PlanOut) func(context.Context, *resources.Activities) (any, error) {
		return func(ctx context.Context, a *resources.Activities) (any, error) {
			return a.Scale(ctx, steps.ScaleIn{Fence: w.fence})
		}
	},
	"resources.Scaled": func(w *world, _ steps.PlanOut) func(context.Context, *resources.Activities) (any, error) {
		return func(ctx context.Context, a *resources.Activities) (any, error) {
			return a.Scaled(ctx, steps.ScaledIn{Fence: w.fence, Done: true})
		}
	},
}

// worlds are those of acts on other stacks.
var worlds = map[string]func(*testing.T) *world{"resources.Scale": scaling, "resources.Scaled": scaling,
	"resources.Zones": func(t *testing.T) *world {
		return zoning(t, &zoneService{status: http.StatusOK, answer: zonesCalled("west", "east")})
	}}

// scaling is a world with a group that is being scaled.
func scaling(t *testing.T) *world {
	t.Helper()
	w := scalableMade(t)
	w.fence = w.scale(3)
	return w
}

// Every step, done twice and killed at each of its round trips.
func TestAgain(t *testing.T) {
	t.Parallel()
	var proven []string
	for name, in := range acts {
		proven = append(proven, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			activitytest.InDatabase(t, func(t *testing.T) activitytest.Act {
				var w *world
				var plan steps.PlanOut
				if other := worlds[name]; other != nil {
					w = other(t)
				} else if w = newWorld(t, chain); name != "resources.Plan" {
					plan = w.plan(steps.Make)
				}
				do := in(w, plan)
				return activitytest.Act{DB: w.db, Parts: name == "resources.Work" || name == "resources.Zones",
					Do: func(ctx context.Context, db *store.DB) (any, error) { return do(ctx, w.on(db)) }}
			})
		})
	}
	activitytest.Covers(t, "resources", proven...)
}

// A stack that was cancelled before its create began says so, and a delete
// pre-empts what runs: the state shown is the delete's from then on.
func TestMeetings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, chain)
	plan := w.plan(steps.Make)
	w.batch(steps.Make, plan.IDs[0])
	var accepted engine.Accepted
	computetest.InTx(t, w.db, func(tx store.Tx) (err error) {
		accepted, err = w.engine.Accept(t.Context(), tx, engine.Request{Kind: operations.StackDelete, ResourceID: w.stack.ID})
		if err != nil {
			return err
		}
		return orchestration.StartAction(t.Context(), tx, w.stack.ID, "DELETE")
	})
	if accepted.Meeting != operations.Preempt || accepted.Startable {
		t.Errorf("%+v", accepted)
	}
	if out := w.batch(steps.Make, plan.IDs[1]); !out.CancelRequested {
		t.Errorf("%+v", out)
	}
	out, err := w.records().Finish(t.Context(), steps.FinishIn{Fence: w.fence, Result: operations.ResultCancelled, Fault: &steps.Fault{Message: "cancelled"},
		Stack: &steps.StackOutcome{Action: "CREATE", Status: "FAILED", Reason: "Stack CREATE cancelled"}})
	if err != nil || out.Next != accepted.OperationID {
		t.Fatalf("%+v, %v", out, err)
	}
	s, err := orchestration.GetStack(t.Context(), w.db.Pool, "p", w.stack.ID)
	if err != nil || s.State() != "DELETE_IN_PROGRESS" {
		t.Errorf("the stack shows %s (%v)", s.State(), err)
	}
	if events := w.events(); !slices.Contains(events, "s CREATE_FAILED") {
		t.Errorf("events %v", events)
	}
}

// What goes through a workflow names resources, and tells nothing of them.
func TestNothingSecretInAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, chain)
	plan := w.plan(steps.Make)
	text, err := json.Marshal(plan)
	if err != nil || strings.Contains(string(text), "word") {
		t.Errorf("%s, %v", text, err)
	}
}

// What a resource is waited for begins anew with each attempt, however the one before
// it ended.
func TestPatienceBeginsAnew(t *testing.T) {
	t.Parallel()
	const patience = 200 * time.Millisecond
	w := newWorld(t, "heat_template_version: 2021-04-16\nresources: {slow: {type: OS::Heat::TestResource, properties: {action_wait_secs: {delete: 0.2}}}}")
	w.made()
	id := -w.rows()["slow"].ID
	for range 2 {
		w.fence = w.begin(operations.StackDelete)
		if out := w.batch(steps.Clear, id); len(out.Waiting) != 1 {
			t.Fatalf("%+v", out)
		}
		w.end("DELETE", "FAILED")
		time.Sleep(2 * patience)
	}
}
