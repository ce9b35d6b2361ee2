package resources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/records"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/graph"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// world is a database with a stack and the steps over it.
type world struct {
	*testing.T
	db     *store.DB
	box    *secrets.Box
	types  resources.Types
	stack  *orchestration.Stack
	fence  steps.Fence
	engine *engine.Engine
}

// outside is a type that has something outside, and does as it is told.
type outside struct {
	there map[string]bool
	fail  error
}

func (*outside) Instant() bool { return false }

func (o *outside) Create(_ context.Context, c *resources.Call) (time.Duration, error) {
	if o.fail != nil {
		return 0, o.fail
	}
	o.there[c.Mark] = true
	c.PhysicalID = "outside-" + c.Mark
	return 0, nil
}

func (o *outside) Update(ctx context.Context, c *resources.Call, _ []string) (time.Duration, error) {
	return o.Create(ctx, c)
}

func (o *outside) Delete(_ context.Context, c *resources.Call) (time.Duration, error) {
	delete(o.there, c.Mark)
	return 0, o.fail
}

// newWorld has a stack of a template, being created.
func newWorld(t *testing.T, template string) *world {
	t.Helper()
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, db: computetest.Open(t), box: box, types: resources.Builtin()}
	w.engine = engine.New(w.db, orchestration.Locks())
	w.stack = &orchestration.Stack{ID: uuid.NewString(), Name: "s", ProjectID: "p", UserID: "u", Action: orchestration.ActionCreate, Reason: "Stack CREATE started"}
	request, err := stacks.ParseRequest(value.NewMap("template", template))
	if err != nil {
		t.Fatal(err)
	}
	d, err := request.Define(hot.Identity{Project: "p", Name: "s", ID: w.stack.ID}, w.registry())
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	row, err := d.Row(w.stack.ID, box)
	if err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, w.db, func(tx store.Tx) error { return orchestration.InsertStack(t.Context(), tx, w.stack, row) })
	w.fence = w.begin(operations.StackCreate)
	return w
}

func (w *world) registry() *resourcetype.Registry {
	w.Helper()
	registry, err := resourcetype.Builtin()
	if err != nil {
		w.Fatal(err)
	}
	return registry
}

// begin has an operation on the stack begun.
func (w *world) begin(kind operations.Kind, input ...any) steps.Fence {
	w.Helper()
	var accepted engine.Accepted
	computetest.InTx(w.T, w.db, func(tx store.Tx) (err error) {
		request := engine.Request{Kind: kind, ResourceID: w.stack.ID, ProjectID: "p"}
		if len(input) > 0 {
			request.Input = input[0]
		}
		accepted, err = w.engine.Accept(w.Context(), tx, request)
		return err
	})
	begun, err := w.records().Begin(w.Context(), steps.BeginIn{OperationID: accepted.OperationID, RunID: "run"})
	if err != nil || begun.Verdict != steps.Run || begun.Stack == nil {
		w.Fatalf("%+v, %v", begun, err)
	}
	return steps.Fence{OperationID: accepted.OperationID, Generation: begun.Generation, RunID: "run"}
}

func (w *world) records() *records.Activities { return records.New(w.db, w.engine, func(string) {}) }

func (w *world) on(db *store.DB) *resources.Activities {
	return resources.New(db, engine.New(db, orchestration.Locks()),
		resources.Options{Box: w.box, Registry: w.registry(), Types: w.types, MaxResources: 1000, Heartbeat: func(context.Context) {}})
}

func (w *world) plan(phase steps.Phase) steps.PlanOut {
	w.Helper()
	out, err := w.on(w.db).Plan(w.Context(), steps.PlanIn{Fence: w.fence, Phase: phase})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) batch(phase steps.Phase, ids ...int64) steps.WorkOut {
	w.Helper()
	out, err := w.on(w.db).Batch(w.Context(), steps.WorkIn{Fence: w.fence, Phase: phase, IDs: ids})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) rows() map[string]*orchestration.Resource {
	w.Helper()
	rows, err := orchestration.Resources(w.Context(), w.db.Pool, w.stack.ID)
	if err != nil {
		w.Fatal(err)
	}
	named := map[string]*orchestration.Resource{}
	for _, r := range rows {
		named[r.Name] = r
	}
	return named
}

func (w *world) events() []string {
	w.Helper()
	events, err := orchestration.ListEvents(w.Context(), w.db.Pool, orchestration.EventFilter{StackIDs: []string{w.stack.ID}})
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s %s_%s", e.ResourceName, e.Action, e.Status))
	}
	return all
}

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
	again := w.batch(steps.Make, plan.IDs...)
	if len(first.Waiting) != 1 || len(again.Waiting) != 1 || again.Waiting[0].After >= first.Waiting[0].After {
		t.Fatalf("%+v, then %+v", first, again)
	}
	time.Sleep(again.Waiting[0].After)
	if then := w.rows()["then"]; then.Action != "INIT" {
		t.Errorf("begun before what it needs: %+v", then)
	}
	if out := w.batch(steps.Make, plan.IDs...); len(out.Done) != 2 {
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
				w := newWorld(t, chain)
				var plan steps.PlanOut
				if name != "resources.Plan" {
					plan = w.plan(steps.Make)
				}
				do := in(w, plan)
				return activitytest.Act{DB: w.db, Parts: name == "resources.Work",
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

// ask has the stack asked to be another, by an update that runs.
func (w *world) ask(template string) {
	w.Helper()
	request, err := stacks.ParseRequest(value.NewMap("template", template))
	if err != nil {
		w.Fatal(err)
	}
	d, err := request.Define(hot.Identity{Project: "p", Name: "s", ID: w.stack.ID}, w.registry())
	if err != nil {
		w.Fatal(err)
	}
	row, err := d.Row(w.stack.ID, w.box)
	if err != nil {
		w.Fatal(err)
	}
	before := w.stack.TemplateID
	computetest.InTx(w.T, w.db, func(tx store.Tx) error { return orchestration.PutUpdate(w.Context(), tx, w.stack, row) })
	w.fence = w.begin(operations.StackUpdate, steps.TraversalInput{Template: row.ID, Previous: before})
}

// made has the stack made, and the create over.
func (w *world) made() {
	w.Helper()
	if out := w.batch(steps.Make, w.plan(steps.Make).IDs...); out.Failed != nil {
		w.Fatalf("%+v", out)
	}
	w.end("CREATE", "COMPLETE")
}

func (w *world) end(action, status string) {
	w.Helper()
	_, err := w.records().Finish(w.Context(), steps.FinishIn{Fence: w.fence, Result: operations.ResultDone, Stack: &steps.StackOutcome{Action: action, Status: status}})
	if err != nil {
		w.Fatal(err)
	}
}

// follow does all that a plan says, one after the other.
func (w *world) follow(phase steps.Phase) (last steps.WorkOut) {
	w.Helper()
	plan := w.plan(phase)
	order, err := graph.Graph{Needs: plan.Needs}.Order()
	if err != nil {
		w.Fatal(err)
	}
	for _, node := range order {
		if slices.Contains(plan.Done, node) {
			continue
		}
		if last = w.batch(phase, plan.IDs[node]); last.Failed != nil {
			return last
		}
	}
	return last
}

const before = `
heat_template_version: 2021-04-16
resources:
  kept: {type: OS::Heat::RandomString}
  changed: {type: OS::Heat::Value, properties: {value: 1}}
  replaced: {type: OS::Heat::RandomString, properties: {length: 5}}
  uses: {type: OS::Heat::Value, properties: {value: {get_attr: [replaced, value]}}}
  dropped: {type: OS::Heat::None, depends_on: kept}
`

const after = `
heat_template_version: 2021-04-16
resources:
  kept: {type: OS::Heat::RandomString}
  changed: {type: OS::Heat::Value, properties: {value: 2}}
  replaced: {type: OS::Heat::RandomString, properties: {length: 6}}
  uses: {type: OS::Heat::Value, properties: {value: {get_attr: [replaced, value]}}}
  added: {type: OS::Heat::None, depends_on: changed}
`

// An update keeps, changes, replaces, adds and drops; what is replaced goes once
// nothing uses it; twice asked, nothing more is done.
func TestUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, before)
	w.made()
	was := w.rows()
	w.ask(after)
	for range 2 {
		if out := w.follow(steps.Make); out.Failed != nil {
			t.Fatalf("%+v", out.Failed)
		}
	}
	now := w.rows()
	if len(now) != 5 || now["dropped"] != nil || now["added"].Action != "CREATE" {
		t.Errorf("resources %v", now)
	}
	for name, action := range map[string]string{"kept": "CREATE", "changed": "UPDATE", "uses": "UPDATE"} {
		if now[name].ID != was[name].ID || now[name].Action != action || now[name].Status != "COMPLETE" {
			t.Errorf("%s is %+v", name, now[name])
		}
	}
	if now["replaced"].ID == was["replaced"].ID || now["replaced"].Replaces != 0 {
		t.Errorf("the replacement is %+v", now["replaced"])
	}
	used, err := stacks.OpenState(now["uses"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := used.Attributes.Get("value"); len(v.(string)) != 6 || !slices.Equal(now["uses"].Requires, []int64{now["replaced"].ID}) {
		t.Errorf("what uses it says %v and needs %v", v, now["uses"].Requires)
	}
	w.end("UPDATE", "COMPLETE")
	var templates int
	if err := w.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM orchestration.templates`).Scan(&templates); err != nil || templates != 1 {
		t.Errorf("%d templates are kept (%v)", templates, err)
	}
}

// An update that fails is taken back: what was replaced has its place again, what
// was added is gone.
func TestBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, before)
	w.made()
	was := w.rows()
	w.ask(after + "  bad: {type: OS::Heat::TestResource, depends_on: [added, uses], properties: {fail: true}}\n")
	if out := w.follow(steps.Make); out.Failed == nil {
		t.Fatal("nothing has failed")
	}
	if _, err := w.records().Advance(t.Context(), steps.AdvanceIn{Fence: w.fence, Step: operations.StepRollback, Attempt: 1, Message: "why"}); err != nil {
		t.Fatal(err)
	}
	if out := w.follow(steps.Back); out.Failed != nil {
		t.Fatalf("%+v", out.Failed)
	}
	now := w.rows()
	if len(now) != 5 || now["added"] != nil || now["bad"] != nil {
		t.Errorf("resources %v", now)
	}
	for _, name := range []string{"kept", "changed", "replaced", "uses", "dropped"} {
		if now[name] == nil || now[name].ID != was[name].ID || now[name].ReplacedBy != 0 || now[name].Status != "COMPLETE" {
			t.Errorf("%s is %+v, was %+v", name, now[name], was[name])
		}
	}
	s, err := orchestration.GetStack(t.Context(), w.db.Pool, "p", w.stack.ID)
	if err != nil || s.State() != "ROLLBACK_IN_PROGRESS" || s.Reason != "why" || s.TemplateID == w.stack.TemplateID {
		t.Errorf("%+v, %v", s, err)
	}
}

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
