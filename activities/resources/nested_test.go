package resources_test

// Groups: stacks that are resources of others.

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

const group = `
heat_template_version: 2021-04-16
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: OS::Heat::Value, properties: {value: "number %index%"}}
  said: {type: OS::Heat::Value, properties: {value: [{get_attr: [g, value]}, {get_attr: [g, attributes, value]}, {get_attr: [g, resource.1.value]}, {get_attr: [g, resource.1]}, {get_attr: [g, refs, 1]}]}}
`

// part is the unfinished operation on the stack of a group, by its resource's row.
func (w *world) part(name string) engine.Operation {
	w.Helper()
	open, err := w.engine.Operations(w.Context(), w.db.Pool, engine.Filter{ResourceID: w.rows()[name].PhysicalID})
	if err != nil || len(open) == 0 {
		w.Fatalf("%d operations, %v", len(open), err)
	}
	return open[0]
}

// carryOut has what was asked of a group's stack done, and ends it.
func (w *world) carryOut(name string, phase steps.Phase, outcome steps.StackOutcome, result operations.Result) {
	w.Helper()
	w.carry(w.part(name), phase, outcome, result)
}

// carry has an operation on a group's stack done, and ends it.
func (w *world) carry(op engine.Operation, phase steps.Phase, outcome steps.StackOutcome, result operations.Result) {
	w.Helper()
	begun, err := w.records().Begin(w.Context(), steps.BeginIn{OperationID: op.ID, RunID: "run"})
	if err != nil || begun.Verdict != steps.Run {
		w.Fatalf("%+v, %v", begun, err)
	}
	inner := *w
	inner.fence = steps.Fence{OperationID: op.ID, Generation: begun.Generation, RunID: "run"}
	inner.follow(phase)
	finish := steps.FinishIn{Fence: inner.fence, Result: result, Stack: &outcome}
	if result != operations.ResultDone {
		finish.Fault = &steps.Fault{Code: "ResourceFailure", Message: outcome.Reason}
	}
	for range 2 { // the answer of the first was lost
		w.knocks = nil
		if _, err := w.records().Finish(w.Context(), finish); err != nil {
			w.Fatal(err)
		}
	}
}

// A group is a stack of its own: made, read, changed, put to sleep and taken away
// by operations that are parts of its parent's.
func TestGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, group)
	plan := w.plan(steps.Make)
	for range 2 {
		if out := w.batch(steps.Make, plan.IDs...); len(out.Waiting) != 1 || out.Failed != nil || out.Done != nil {
			t.Fatalf("%+v", out)
		}
	}
	op := w.part("g")
	if op.Kind != operations.StackCreate || op.ParentID != w.fence.OperationID {
		t.Errorf("%+v", op)
	}
	child, err := orchestration.GetStack(t.Context(), w.db.Pool, "p", op.ResourceID)
	if err != nil || child.ParentID != w.stack.ID || child.ParentResource != "g" || child.Depth != 1 || child.Size != 2 || !strings.HasPrefix(child.Name, "s-g-") {
		t.Errorf("%+v, %v", child, err)
	}
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "CREATE", Status: "COMPLETE"}, operations.ResultDone)
	if want := []string{fmt.Sprint(w.fence.OperationID, " ", plan.IDs[0])}; !slices.Equal(w.knocks, want) {
		t.Errorf("knocks %v, want %v", w.knocks, want)
	}
	// It is looked at before its time has come, because of that.
	if out := w.batch(steps.Make, plan.IDs...); len(out.Done) != 2 {
		t.Fatalf("%+v", out)
	}
	said, err := stacks.OpenState(w.rows()["said"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	members, err := orchestration.Resources(t.Context(), w.db.Pool, child.ID)
	if err != nil || len(members) != 2 {
		t.Fatalf("%v, %v", members, err)
	}
	one := members[slices.IndexFunc(members, func(r *orchestration.Resource) bool { return r.Name == "1" })].PhysicalID
	got, _ := said.Attributes.Get("value")
	want := []any{[]any{"number 0", "number 1"}, value.NewMap("0", "number 0", "1", "number 1"), "number 1", one, one}
	if value.JSON(got, true) != value.JSON(want, true) {
		t.Errorf("read through the group: %s, want %s", value.JSON(got, true), value.JSON(want, true))
	}
	w.end("CREATE", "COMPLETE")

	// One more, without the first.
	w.ask(strings.ReplaceAll(group, "count: 2", "count: 2\n      removal_policies: [{resource_list: ['0']}]"))
	update := w.plan(steps.Make)
	if out := w.batch(steps.Make, update.IDs[0]); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "UPDATE", Status: "COMPLETE"}, operations.ResultDone)
	if out := w.later(steps.Make, update.IDs[0]); len(out.Done) != 1 {
		t.Fatalf("%+v", out)
	}
	state, err := stacks.OpenState(w.rows()["g"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	named, _ := state.Attributes.Get("refs_map")
	removed, _ := state.Attributes.Get("removed_rsrc_list")
	if m, _ := named.(*value.Map); !reflect.DeepEqual(m.Keys(), []any{"1", "2"}) || !reflect.DeepEqual(removed, []any{"0"}) {
		t.Errorf("members %v, removed %v", named, removed)
	}
	w.end("UPDATE", "COMPLETE")

	for _, visit := range []struct {
		kind   operations.Kind
		phase  steps.Phase
		action string
	}{{operations.StackSuspend, steps.Suspend, "SUSPEND"}, {operations.StackResume, steps.Resume, "RESUME"}, {operations.StackCheck, steps.Check, "CHECK"}} {
		w.fence = w.begin(visit.kind)
		id := w.rows()["g"].ID
		if out := w.batch(visit.phase, id); len(out.Waiting) != 1 {
			t.Fatalf("%+v", out)
		}
		w.carryOut("g", visit.phase, steps.StackOutcome{Action: visit.action, Status: "COMPLETE"}, operations.ResultDone)
		if out := w.later(visit.phase, id); len(out.Done) != 1 {
			t.Fatalf("%+v", out)
		}
		w.end(visit.action, "COMPLETE")
	}

	w.fence = w.begin(operations.StackDelete)
	id := w.rows()["g"].ID
	if out := w.batch(steps.Clear, -id); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	w.carryOut("g", steps.Clear, steps.StackOutcome{Action: "DELETE", Status: "COMPLETE", Deleted: true}, operations.ResultDone)
	if want := []string{fmt.Sprint(w.fence.OperationID, " ", -id)}; !slices.Equal(w.knocks, want) {
		t.Errorf("knocks %v, want %v", w.knocks, want)
	}
	if out := w.batch(steps.Clear, -id); len(out.Done) != 1 || w.rows()["g"] != nil {
		t.Fatalf("%+v", out)
	}
}

// What fails in a group is told as the original tells it; what is still done in one
// ends with its parent.
func TestGroupFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, group)
	plan := w.plan(steps.Make)
	w.batch(steps.Make, plan.IDs[0])
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "CREATE", Status: "FAILED", Reason: "Resource CREATE failed: ValueError: resources[1].x: no"}, operations.ResultFailed)
	out := w.later(steps.Make, plan.IDs[0])
	if want := "Resource CREATE failed: resources.g: Resource CREATE failed: ValueError: resources[1].x: no"; out.Failed == nil || out.Failed.Reason != want {
		t.Errorf("%+v, want %q", out.Failed, want)
	}

	w = newWorld(t, group)
	plan = w.plan(steps.Make)
	w.batch(steps.Make, plan.IDs[0])
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "CREATE", Status: "FAILED", Reason: "Resource CREATE failed: ValueError: resources.1: no"}, operations.ResultFailed)
	out = w.later(steps.Make, plan.IDs[0])
	if want := "Resource CREATE failed: ValueError: resources.g.resources.1: no"; out.Failed == nil || out.Failed.Reason != want {
		t.Errorf("%+v, want %q", out.Failed, want)
	}

	w = newWorld(t, group)
	w.batch(steps.Make, w.plan(steps.Make).IDs[0])
	_, err := w.records().Finish(t.Context(), steps.FinishIn{Fence: w.fence, Result: operations.ResultCancelled, Fault: &steps.Fault{Message: "cancelled"},
		Stack: &steps.StackOutcome{Action: "CREATE", Status: "FAILED", Reason: "Stack CREATE cancelled"}})
	if err != nil {
		t.Fatal(err)
	}
	if op := w.part("g"); op.CancelRequestedAt == nil {
		t.Errorf("the part goes on: %+v", op)
	}
}

// A group whose stack is on its way out when an update comes that has the group again
// is replaced: what is half gone can't be changed. The end of the old one is waited for.
func TestGroupOnItsWayOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, group)
	w.batch(steps.Make, w.plan(steps.Make).IDs...)
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "CREATE", Status: "COMPLETE"}, operations.ResultDone)
	w.made()
	old := w.rows()["g"]
	w.ask("heat_template_version: 2021-04-16")
	if out := w.batch(steps.Clear, -old.ID); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	gone := w.part("g")
	w.cancelled("UPDATE")
	if state := w.rows()["g"].Action + "_" + w.rows()["g"].Status; state != "DELETE_FAILED" {
		t.Fatal(state)
	}

	w.ask(group)
	plan := w.plan(steps.Make)
	if out := w.batch(steps.Make, plan.IDs...); out.Failed != nil || len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	if made := w.part("g"); made.Kind != operations.StackCreate || made.ResourceID == old.PhysicalID {
		t.Errorf("%+v", made)
	}
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "CREATE", Status: "COMPLETE"}, operations.ResultDone)
	// All but the old one, whose end is yet to come, is done.
	if out := w.batch(steps.Make, plan.IDs...); out.Failed != nil || len(out.Waiting) != 1 || out.Waiting[0].ID != -old.ID || len(out.Done) != len(plan.IDs)-1 {
		t.Fatalf("%+v", out)
	}
	w.carry(gone, steps.Clear, steps.StackOutcome{Action: "DELETE", Status: "COMPLETE", Deleted: true}, operations.ResultDone)
	if want := []string{fmt.Sprint(w.fence.OperationID, " ", -old.ID)}; !slices.Equal(w.knocks, want) {
		t.Errorf("knocks %v, want %v", w.knocks, want)
	}
	if out := w.batch(steps.Make, plan.IDs...); len(out.Done) != len(plan.IDs) {
		t.Errorf("%+v", out)
	}
}

// The delete of a group's stack that a user asked for is joined by that of its parent,
// which is told of its end.
func TestGroupDeletedByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, group)
	w.batch(steps.Make, w.plan(steps.Make).IDs...)
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "CREATE", Status: "COMPLETE"}, operations.ResultDone)
	w.made()
	g := w.rows()["g"]
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		if _, err := w.engine.Accept(t.Context(), tx, engine.Request{Kind: operations.StackDelete, ResourceID: g.PhysicalID, ProjectID: "p", Input: steps.TraversalInput{}}); err != nil {
			return err
		}
		return orchestration.StartAction(t.Context(), tx, g.PhysicalID, orchestration.ActionDelete)
	})
	w.fence = w.begin(operations.StackDelete)
	w.batch(steps.Clear, -w.rows()["said"].ID)
	if out := w.batch(steps.Clear, -g.ID); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	w.carryOut("g", steps.Clear, steps.StackOutcome{Action: "DELETE", Status: "COMPLETE", Deleted: true}, operations.ResultDone)
	if want := []string{w.fence.OperationID + " 0"}; !slices.Equal(w.knocks, want) {
		t.Errorf("knocks %v, want %v", w.knocks, want)
	}
	if out := w.batch(steps.Clear, -g.ID); len(out.Done) != 1 || w.rows()["g"] != nil {
		t.Errorf("%+v", out)
	}
}

// Groups in groups go so deep and no deeper, and a tree of stacks has so many
// resources and no more.
func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	deep := value.NewMap("type", "OS::Heat::None")
	for range stacks.MaxDepth + 1 {
		deep = value.NewMap("type", "OS::Heat::ResourceGroup", "properties", value.NewMap("resource_def", deep))
	}
	template := value.NewMap("heat_template_version", "2021-04-16", "resources", value.NewMap("g", deep))
	request, err := stacks.ParseRequest(value.NewMap("template", template), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, fmt.Sprintf(`
heat_template_version: 2021-04-16
resources:
  many: {type: OS::Heat::ResourceGroup, properties: {count: 1000, resource_def: {type: OS::Heat::None}}}
  endless: {type: OS::Heat::ResourceGroup, properties: {count: 100000000000000000000, resource_def: {type: OS::Heat::None}}}
  long: {type: OS::Heat::ResourceGroup, properties: {count: 900, resource_def: {type: OS::Heat::Value, properties: {value: %q}}}}
`, strings.Repeat("long", 10_000)))
	d, err := request.Define(hot.Identity{}, w.registry())
	if err == nil {
		err = d.Validate()
	}
	if hot.Class(err) != hot.LimitExceeded || !strings.HasSuffix(err.Error(), "Recursion depth exceeds 5.") {
		t.Errorf("%v", err)
	}

	computetest.InTx(t, w.db, func(tx store.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE orchestration.stacks SET size = 2 WHERE id = $1`, w.stack.ID)
		return err
	})
	w.plan(steps.Make)
	for name, want := range map[string]string{"many": "Maximum resources per stack exceeded.", "endless": "Maximum resources per stack exceeded.",
		"long": "exceeds maximum allowed size (33554432 bytes)."} {
		if out := w.batch(steps.Make, w.rows()[name].ID); out.Failed == nil || !strings.HasSuffix(out.Failed.Reason, want) {
			t.Errorf("%s: %+v, want %q", name, out, want)
		}
	}
}

// A group whose members can't be is refused with its parent.
func TestGroupIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, chain)
	for body, want := range map[string]string{
		`{"type": "OS::Heat::RandomString", "properties": {"length": 0}}`: "Property error: resources.g<nested_stack>.resources.0.properties.length: 0 is out of range (min: 1, max: 512)",
		`{"type": "OS::No::Such"}`:                                        "The Resource Type (OS::No::Such) could not be found.",
	} {
		var parsed any
		if err := json.Unmarshal([]byte(body), &parsed); err != nil {
			t.Fatal(err)
		}
		g := value.NewMap("type", "OS::Heat::ResourceGroup", "properties", value.NewMap("resource_def", value.Of(parsed)))
		request, err := stacks.ParseRequest(value.NewMap("template", value.NewMap("heat_template_version", "2021-04-16", "resources", value.NewMap("g", g))), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := request.Define(hot.Identity{}, w.registry())
		if err == nil {
			err = d.Validate()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// What a member is must be known when the stack is asked for: its type is held
// against what the caller may use then, and not once more.
func TestGroupOfTheUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
heat_template_version: 2021-04-16
resources:
  v: {type: OS::Heat::Value, properties: {value: OS::Heat::TestResource}}
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: {yaql: {expression: "coalesce($.data, 'OS::Heat::None')", data: {get_attr: [v, value]}}}}}
`)
	out := w.batch(steps.Make, w.plan(steps.Make).IDs...)
	if want := "Resource CREATE failed: StackValidationFailed: resources.g: OS::Heat::TestResource was not known to be a member's type when the stack was asked for"; out.Failed == nil || out.Failed.Reason != want {
		t.Errorf("%+v", out.Failed)
	}
}
