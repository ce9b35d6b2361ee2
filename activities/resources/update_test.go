package resources_test

// Updates, and how they are taken back.

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

// ask has the stack asked to be another, by an update that runs.
func (w *world) ask(template string) {
	w.Helper()
	w.askFor(value.NewMap("template", template))
}

func (w *world) askFor(body *value.Map) {
	w.Helper()
	w.fence = w.begin(operations.StackUpdate, w.asked(body))
}

// asked writes what a body asks for, and gives what an update is asked for then.
func (w *world) asked(body *value.Map) steps.TraversalInput {
	w.Helper()
	request, err := stacks.ParseRequest(body, nil)
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
	return steps.TraversalInput{Template: row.ID, Previous: before}
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
	if err != nil || s.State() != "ROLLBACK_IN_PROGRESS" || s.Reason != "Stack ROLLBACK started" || s.TemplateID == w.stack.TemplateID {
		t.Errorf("%+v, %v", s, err)
	}
	if events := w.events(); !slices.Contains(events, "s CREATE_FAILED") {
		t.Errorf("events %v", events)
	}
	brief, err := orchestration.Brief(t.Context(), w.db.Pool, w.stack.ID)
	if err != nil || brief.Reason != "why" {
		t.Errorf("it is told to take back %+v, %v", brief, err)
	}
}

// What is changed to use another resource uses both until that is done: an update that
// is taken back half-way takes neither away before.
func TestHalfwayUsesBoth(t *testing.T) {
	t.Parallel()
	const template = `
heat_template_version: 2021-04-16
resources:
  used: {type: OS::Heat::RandomString, properties: {length: 5}}
  uses: {type: OS::Heat::TestResource, properties: {value: {get_attr: [used, value]}, action_wait_secs: {update: 600}}}
`
	w := newWorld(t, template)
	w.made()
	was := w.rows()["used"].ID
	w.ask(strings.Replace(template, "5", "6", 1))
	w.follow(steps.Make)
	heir, uses := w.rows()["used"].ID, w.rows()["uses"]
	if want := []int64{was, heir}; uses.Status != "IN_PROGRESS" || !slices.Equal(uses.Requires, want) {
		t.Errorf("it is %s and uses %v, want %v", uses.Status, uses.Requires, want)
	}
	if _, err := w.records().Advance(t.Context(), steps.AdvanceIn{Fence: w.fence, Step: operations.StepRollback, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	plan := w.plan(steps.Back)
	waits := map[int64]bool{-heir: true} // what comes before the heir is taken away
	for range plan.IDs {
		for node, id := range plan.IDs {
			for _, need := range plan.Needs[node] {
				waits[plan.IDs[need]] = waits[plan.IDs[need]] || waits[id]
			}
		}
	}
	if !waits[uses.ID] {
		t.Errorf("%v: what has taken the place is taken away before it is used no more: %v", plan.IDs, plan.Needs)
	}
}

// What an update that is taken back has begun to change is cut short, and is then as it
// was.
func TestBackOfWhatIsBegun(t *testing.T) {
	t.Parallel()
	const template = `
heat_template_version: 2021-04-16
resources:
  slow: {type: OS::Heat::TestResource, properties: {value: one, action_wait_secs: {update: 1}}}
`
	w := newWorld(t, template)
	w.made()
	w.ask(strings.Replace(template, "one", "two", 1))
	w.follow(steps.Make)
	if r := w.rows()["slow"]; r.Status != "IN_PROGRESS" {
		t.Fatalf("it is %s", r.Status)
	}
	if _, err := w.records().Advance(t.Context(), steps.AdvanceIn{Fence: w.fence, Step: operations.StepRollback, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	plan := w.plan(steps.Back)
	w.later(steps.Back, plan.IDs...)
	r := w.rows()["slow"]
	s, err := stacks.OpenState(r, w.box)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Properties.Get("value"); v != "one" || r.Status != "COMPLETE" || r.DoneIn == "" {
		t.Errorf("it says %v and is %s: %+v", v, r.Status, r)
	}
}
