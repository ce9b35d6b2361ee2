package resources_test

// Stacks that adopt what is there already.

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/hot/graph"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

const adopted = `
heat_template_version: 2021-04-16
resources:
  word: {type: OS::Heat::RandomString}
  said: {type: OS::Heat::Value, properties: {value: [{get_attr: [word, value]}, {get_resource: word}, {get_attr: [test, output]}, {get_attr: [config, config]}, {get_attr: [g, value]}, {get_attr: [s, refs]}]}}
  test: {type: OS::Heat::TestResource, properties: {value: new, fail: true, wait_secs: 1000}}
  config: {type: OS::Heat::SoftwareConfig, properties: {config: new}}
  other: {type: OS::Heat::SoftwareConfig}
  handle: {type: OS::Heat::WaitConditionHandle}
  g: {type: OS::Heat::ResourceGroup, properties: {count: 1, removal_policies: [{resource_list: ["0"]}], resource_def: {type: OS::Heat::Value, properties: {value: "number %index%"}}}}
  s: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 0, max_size: 9, desired_capacity: 1, resource: {type: OS::Heat::TestResource}}}
`

const left = `{
  "word": {"resource_id": "w", "type": "OS::Heat::RandomString", "resource_data": {"value": "hush"}, "metadata": {"m": 1}},
  "said": {"resource_id": "v", "resource_data": null, "metadata": null},
  "test": {"resource_id": "t", "resource_data": {"value": "old"}},
  "config": {"resource_id": "CONFIG"}, "other": {"resource_id": "OTHER"},
  "handle": {"resource_id": "h", "resource_data": {"token": "one that was"}, "metadata": {"1": {"status": "SUCCESS", "data": "d"}}},
  "g": {"id": "gone", "resources": {"0": {"resource_id": "no"}, "1": {"resource_id": "m1"}}},
  "s": {"resources": {"abc": {"resource_id": "a"}, "xyz": {"resource_id": "x"}}},
  "more": {"resource_id": "is nobody's"}}`

// newAdopting is a world with a stack that is to adopt what is left of another.
func newAdopting(t *testing.T, template, left string, types ...func(*world)) *world {
	t.Helper()
	return newWorldWith(t, value.NewMap("template", template), func(w *world, d *stacks.Definition) {
		for _, f := range types {
			f(w)
		}
		var configs []string
		for i, project := range []string{"p", "q"} {
			row := &orchestration.Config{ID: "00000000-0000-4000-8000-00000000000" + string(rune('0'+i)), ProjectID: project}
			content, err := stacks.NewConfig("old", nil, nil, nil, w.registry())
			if err == nil {
				err = content.Seal(row, w.box)
			}
			if err != nil {
				t.Fatal(err)
			}
			computetest.InTx(t, w.db, func(tx store.Tx) error { return orchestration.InsertConfig(t.Context(), tx, row) })
			configs = append(configs, row.ID)
		}
		v, err := value.ParseJSON(strings.NewReplacer("CONFIG", configs[0], "OTHER", configs[1]).Replace(left))
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Adopt(v.(*value.Map))
		if err != nil {
			t.Fatal(err)
		}
		computetest.InTx(t, w.db, func(tx store.Tx) error {
			return orchestration.InsertSealed(t.Context(), tx, w.stack.ID, w.stack.TemplateID, a.Rows, func() error { return a.Seal(w.box) })
		})
		w.fence = w.begin(operations.StackAdopt, steps.TraversalInput{Template: w.stack.TemplateID, Abandon: true})
	})
}

// What is there is the stack's, is read as before, and nothing of it is made again.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := newAdopting(t, adopted, left)
	plan := w.plan(steps.Adopt)
	if again := w.plan(steps.Adopt); !slices.Equal(plan.IDs, again.IDs) {
		t.Errorf("%v, and then %v", plan, again)
	}
	order, err := graph.Graph{Needs: plan.Needs}.Order()
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, node := range order {
		ids = append(ids, plan.IDs[node])
	}
	out := w.batch(steps.Adopt, ids...)
	if out.Failed != nil || len(out.Waiting) != 2 {
		t.Fatalf("%+v", out)
	}
	for _, name := range []string{"g", "s"} {
		if op := w.part(name); op.Kind != operations.StackAdopt {
			t.Errorf("%+v", op)
		}
		w.carryOut(name, steps.Adopt, steps.StackOutcome{Action: "ADOPT", Status: "COMPLETE"}, operations.ResultDone)
	}
	if out := w.later(steps.Adopt, ids...); len(out.Done) != len(ids) {
		t.Fatalf("%+v", out)
	}
	rows := w.rows()
	for name, id := range map[string]string{"word": "w", "said": "v", "test": "t", "handle": "h"} {
		if r := rows[name]; r.PhysicalID != id || r.Action != "ADOPT" || r.Status != "COMPLETE" {
			t.Errorf("%+v", r)
		}
	}
	if rows["word"].Metadata != `{"m": 1}` || !strings.Contains(rows["handle"].Metadata, "SUCCESS") {
		t.Errorf("%s, %s", rows["word"].Metadata, rows["handle"].Metadata)
	}
	state := func(name string) *stacks.State {
		s, err := stacks.OpenState(rows[name], w.box)
		if err != nil || s.Adopts != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		return s
	}
	said, _ := state("said").Attributes.Get("value")
	if got, want := value.JSON(said, false), `["hush", "hush", "old", "old", ["number 1"], ["a", "x"]]`; got != want {
		t.Errorf("it says %s, want %s", got, want)
	}
	if v, _ := state("other").Attributes.Get("config"); v != nil {
		t.Errorf("another project's config says %v", v)
	}
	if token, _ := state("handle").Data.Get(stacks.TokenKey); token == "one that was" || token == nil {
		t.Errorf("the handle's token is %v", token)
	}
	if events := w.events(); !slices.Contains(events, "word ADOPT_IN_PROGRESS") || !slices.Contains(events, "word ADOPT_COMPLETE") {
		t.Errorf("%v", events)
	}
	if len(rows["said"].Requires) != 5 {
		t.Errorf("it needs %v", rows["said"].Requires)
	}
}

// What nothing is known of isn't adopted: the stack goes, and all that was there stays;
// nor is anything made or taken away by who deletes the stack.
func TestAdoptLacks(t *testing.T) {
	t.Parallel()
	const template = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}, b: {type: OS::Heat::None, depends_on: a}}"
	o := &outside{there: map[string]bool{"x": true}}
	for name, row := range map[string]struct{ left, first string }{
		"nothing":      {`{}`, "a"},
		"no id":        {`{"a": {"resource_id": null, "resource_data": {"k": 1}}}`, "a"},
		"an empty one": {`{"a": {"resource_id": ""}}`, "a"},
		"a stack":      {`{"a": {"resources": {}}}`, "a"},
		"the second":   {`{"a": {"resource_id": "x"}}`, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAdopting(t, template, row.left, func(w *world) { w.types["OS::Heat::None"] = o })
			plan := w.plan(steps.Adopt)
			var failed *steps.FailedResource
			for _, id := range plan.IDs {
				out, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Adopt, IDs: []int64{id}})
				if err != nil {
					t.Fatal(err)
				}
				if failed = out.Failed; failed != nil {
					break
				}
			}
			if want := "Resource ADOPT failed: Exception: resources." + row.first + ": Resource ID was not provided."; failed == nil || failed.Reason != want {
				t.Fatalf("%+v, want %s", failed, want)
			}
			for _, id := range w.plan(steps.Clear).IDs {
				if out, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Clear, IDs: []int64{id}}); err != nil || out.Failed != nil {
					t.Fatalf("%+v, %v", out, err)
				}
			}
			if rows := w.rows(); len(rows) != 0 || len(o.there) != 1 {
				t.Errorf("%v, %v", rows, o.there)
			}
		})
	}
}

// A nested stack without its part of what is left fails, and says where.
func TestAdoptNestedLacks(t *testing.T) {
	t.Parallel()
	w := newAdopting(t, group, `{"g": {"resources": {"0": {"resource_id": "x"}}}, "said": {"resource_id": "v"}}`)
	plan := w.plan(steps.Adopt)
	if out := w.batch(steps.Adopt, plan.IDs...); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	w.carryOut("g", steps.Adopt, steps.StackOutcome{Action: "ADOPT", Status: "FAILED", Reason: "Resource ADOPT failed: Exception: resources[1]: Resource ID was not provided."}, operations.ResultFailed)
	out := w.later(steps.Adopt, w.rows()["g"].ID)
	if out.Failed == nil || !strings.HasPrefix(out.Failed.Reason, "Resource ADOPT failed: ") || !strings.HasSuffix(out.Failed.Reason, "Resource ID was not provided.") {
		t.Errorf("%+v", out.Failed)
	}
}

// What was not adopted is made by the next update, and what was stays.
func TestUpdateAfterAdopt(t *testing.T) {
	t.Parallel()
	w := newAdopting(t, "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::RandomString}, b: {type: OS::Heat::RandomString, depends_on: a}, c: {type: OS::Heat::RandomString, depends_on: b}}",
		`{"a": {"resource_id": "x", "resource_data": {"value": "hush"}}, "c": {"resource_id": "y", "resource_data": {"value": "unheard"}}}`)
	if out := w.follow(steps.Adopt); out.Failed == nil {
		t.Fatalf("%+v", out)
	}
	w.end("ADOPT", "FAILED")
	w.fence = w.begin(operations.StackUpdate, steps.TraversalInput{Template: w.stack.TemplateID, Previous: w.stack.TemplateID})
	if out := w.follow(steps.Make); out.Failed != nil {
		t.Fatalf("%+v", out)
	}
	rows := w.rows()
	if rows["a"].PhysicalID != "x" || rows["b"].Action != "CREATE" || rows["b"].Status != "COMPLETE" || rows["c"].Action != "CREATE" || rows["c"].PhysicalID == "y" {
		t.Errorf("%+v\n%+v\n%+v", rows["a"], rows["b"], rows["c"])
	}
	if s, err := stacks.OpenState(rows["c"], w.box); err != nil || s.Adopts != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// What is left is adopted once, however often it is killed and begun again, and nothing
// of it goes through a workflow.
func TestAdoptAgain(t *testing.T) {
	t.Parallel()
	activitytest.InDatabase(t, func(t *testing.T) activitytest.Act {
		w := newAdopting(t, chain, `{"word": {"resource_id": "w", "resource_data": {"value": "hush"}}, "said": {"resource_id": "v"}, "none": {"resource_id": "n"}}`)
		plan := w.plan(steps.Adopt)
		if text, err := json.Marshal(plan); err != nil || strings.Contains(string(text), "hush") {
			t.Errorf("%s, %v", text, err)
		}
		return activitytest.Act{DB: w.db, Do: func(ctx context.Context, db *store.DB) (any, error) {
			return w.on(db).Batch(ctx, steps.WorkIn{Fence: w.fence, Phase: steps.Adopt, IDs: plan.IDs})
		}}
	})
}

var _ = []resources.Adopter{resources.REST{}, resources.Server{}, resources.KeyPair{}, resources.Volume{}, resources.SecurityGroup{}, resources.VolumeAttachment{},
	resources.Value{}, resources.RandomString{}, resources.Test{}}
