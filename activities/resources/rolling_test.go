package resources_test

// Groups that are changed in batches.

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

const inBatches = `
heat_template_version: 2021-04-16
resources:
  g:
    type: OS::Heat::ResourceGroup
    update_policy:
      batch_create: {max_batch_size: 2, pause_time: 0.3}
      rolling_update: {min_in_service: 3, max_batch_size: 2}
    properties:
      count: 3
      resource_def: {type: OS::Heat::Value, properties: {value: first}}
`

// members are what the resources of a group's stack are.
func (w *world) members(name string) string {
	w.Helper()
	rows, err := orchestration.Resources(w.Context(), w.db.Pool, w.rows()[name].PhysicalID)
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, r := range rows {
		state, err := stacks.OpenState(r, w.box)
		if err != nil {
			w.Fatal(err)
		}
		v, _ := state.Attributes.Get("value")
		all = append(all, r.Name+" "+value.Str(v))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// batches has a group's stack made or changed, a batch after the other, and gives what
// it was after each, and for how long nothing was done in between.
func (w *world) batches(id int64) (told []string, failed string) {
	w.Helper()
	return w.batchesIn(steps.Make, id)
}

// batchesIn does so in a phase.
func (w *world) batchesIn(phase steps.Phase, id int64) (told []string, failed string) {
	w.Helper()
	for range 100 {
		out := w.batch(phase, id)
		switch {
		case out.Failed != nil:
			return told, out.Failed.Reason
		case len(out.Done) == 1:
			return told, ""
		}
		if op := w.part("g"); !op.Finished() {
			w.carryOut("g", steps.Make, steps.StackOutcome{Action: "UPDATE", Status: "COMPLETE"}, operations.ResultDone)
			told = append(told, string(op.Kind)+": "+w.members("g"))
		}
		time.Sleep(out.Waiting[0].After)
	}
	w.Fatalf("it comes to no end: %q", told)
	return nil, ""
}

// A group whose update policy says so is made and changed in batches, as the original
// has them.
func TestRolling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inBatches)
	began := time.Now()
	told, _ := w.batches(w.plan(steps.Make).IDs[0])
	if want := []string{"stack.create: 0 first, 1 first", "stack.update: 0 first, 1 first, 2 first"}; !reflect.DeepEqual(told, want) {
		t.Errorf("made: %q", told)
	}
	if pause := 300 * time.Millisecond; time.Since(began) < pause {
		t.Error("it did not pause")
	}
	w.end("CREATE", "COMPLETE")

	w.ask(strings.ReplaceAll(inBatches, "value: first", "value: second"))
	told, _ = w.batches(w.plan(steps.Make).IDs[0])
	if want := []string{
		"stack.update: 0 first, 1 first, 2 first, 3 second, 4 second",
		"stack.update: 0 first, 1 second, 2 second, 3 second, 4 second",
		"stack.update: 0 second, 1 second, 2 second, 3 second",
		"stack.update: 0 second, 1 second, 2 second",
	}; !reflect.DeepEqual(told, want) {
		t.Errorf("changed: %q", told)
	}
	w.end("UPDATE", "COMPLETE")

	// A size alone is changed at once.
	w.ask(strings.ReplaceAll(strings.ReplaceAll(inBatches, "value: first", "value: second"), "count: 3", "count: 1"))
	told, _ = w.batches(w.plan(steps.Make).IDs[0])
	if want := []string{"stack.update: 0 second"}; !reflect.DeepEqual(told, want) {
		t.Errorf("resized: %q", told)
	}
	w.end("UPDATE", "COMPLETE")
}

// A group that an update had begun to change when it is taken back is changed back: what
// is done of its stack is cut short, and what that has made or changed is as it was.
func TestBackOfGroupThatIsBegun(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		strings.ReplaceAll(inBatches, "count: 3", "count: 4"):          "0 first, 1 first, 2 first, 3 first",
		strings.ReplaceAll(inBatches, "value: first", "value: second"): "0 first, 1 first, 2 first, 3 second, 4 second",
	} {
		w := newWorld(t, inBatches)
		w.batches(w.plan(steps.Make).IDs[0])
		w.end("CREATE", "COMPLETE")
		w.ask(asked)
		group := w.plan(steps.Make).IDs[0]
		w.batch(steps.Make, group)
		part := *w
		part.fence = w.take(w.part("g").ID)
		part.follow(steps.Make)
		if got := w.members("g"); got != want {
			t.Fatalf("begun: %s, want %s", got, want)
		}
		if _, err := w.records().Advance(t.Context(), steps.AdvanceIn{Fence: w.fence, Step: operations.StepRollback, Attempt: 1}); err != nil {
			t.Fatal(err)
		}
		back := w.plan(steps.Back).IDs[0]
		for range 2 {
			if out := w.batch(steps.Back, back); len(out.Waiting) != 1 || out.Failed != nil {
				t.Fatalf("%+v", out)
			}
		}
		if next := part.cancelled("UPDATE"); next != w.part("g").ID {
			t.Fatalf("%q is next", next)
		}
		told, failed := w.batchesIn(steps.Back, back)
		if r := w.rows()["g"]; failed != "" || w.members("g") != "0 first, 1 first, 2 first" || r.Status != orchestration.Complete {
			t.Errorf("%q, %q, and it is %s", told, failed, r.Status)
		}
	}
}

// A change that is taken over in the middle is gone on with by the next one; of one that
// fails it isn't kept how far it came, and one that would pause for longer than its stack
// may take is none.
func TestRollingIsGoneOnWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inBatches)
	w.batches(w.plan(steps.Make).IDs[0])
	w.end("CREATE", "COMPLETE")
	second := strings.ReplaceAll(inBatches, "value: first", "value: second")
	w.ask(second)
	id := w.plan(steps.Make).IDs[0]
	w.batch(steps.Make, id)
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "UPDATE", Status: "COMPLETE"}, operations.ResultDone)
	w.cancelled("UPDATE")
	group := w.rows()["g"]
	if got, want := w.members("g"), "0 first, 1 first, 2 first, 3 second, 4 second"; got != want || group.Status != orchestration.Failed {
		t.Fatalf("%s %s: %s", group.Action, group.Status, got)
	}
	w.ask(second)
	told, _ := w.batches(w.plan(steps.Make).IDs[0])
	if len(told) < 2 || !strings.HasSuffix(told[len(told)-1], ": 0 second, 1 second, 2 second") || w.rows()["g"].ID != group.ID {
		t.Errorf("gone on with: %q", told)
	}
	w.end("UPDATE", "COMPLETE")

	w.ask(inBatches)
	id = w.plan(steps.Make).IDs[0]
	w.batch(steps.Make, id)
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "UPDATE", Status: "FAILED", Reason: "told so"}, operations.ResultFailed)
	out := w.later(steps.Make, id)
	state, err := stacks.OpenState(w.rows()["g"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	if out.Failed == nil || state.Data.Has("rolling") {
		t.Errorf("%+v, and it keeps %v", out, state.Data.Keys())
	}
	w.end("UPDATE", "FAILED")

	w.ask(strings.ReplaceAll(second, "max_batch_size: 2}", "max_batch_size: 2, pause_time: 1800}"))
	_, failed := w.batches(w.plan(steps.Make).IDs[0])
	if want := "Resource UPDATE failed: ValueError: resources.g: The current update policy will result in stack update timeout."; failed != want {
		t.Errorf("%q, want %q", failed, want)
	}
}

// What an update policy says is held against its type.
func TestUpdatePolicyIsChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, chain)
	for policy, want := range map[string]string{
		"{rolling_update: {max_batch_size: 0}}": "Property error: resources.g.update_policy.rolling_update.max_batch_size: 0 is out of range (min: 1, max: None)",
		"{rolling_update: {max_batch: 1}}":      "Property error: resources.g.update_policy.rolling_update: Unknown Property max_batch",
		"{rolling: {}}":                         "Property error: resources.g.update_policy: Unknown Property rolling",
		"{batch_create: {pause_time: soon}}":    "Property error: resources.g.update_policy.batch_create.pause_time: Value 'soon' is not a number",
	} {
		template := fmt.Sprintf("heat_template_version: 2021-04-16\nresources: {g: {type: OS::Heat::ResourceGroup, update_policy: %s, properties: {resource_def: {type: OS::Heat::None}}}}", policy)
		request, err := stacks.ParseRequest(value.NewMap("template", template), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := request.Define(hot.Identity{}, w.registry())
		if err == nil {
			err = d.Validate()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", policy, err, want)
		}
	}
}
