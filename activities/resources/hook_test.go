package resources_test

// Hooks and restricted actions of an environment.

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

const hooked = `
resource_registry:
  resources:
    first: {hooks: [pre-create, post-create, pre-update, post-update, pre-delete, post-delete]}
`

// cleared clears a hook of the first resource, as the API does; false if it doesn't wait.
func (w *world) cleared(hook string) (is bool) {
	w.Helper()
	computetest.InTx(w.T, w.db, func(tx store.Tx) error {
		rows, err := orchestration.ResourcesNamed(w.Context(), tx, w.stack.ID, "first")
		if err != nil {
			return err
		}
		row := rows[len(rows)-1]
		state, err := stacks.OpenState(row, w.box)
		if err != nil {
			return err
		}
		waits := ""
		if w.fence.OperationID != "" {
			running, err := w.engine.Get(w.Context(), tx, w.fence.OperationID)
			if err != nil {
				return err
			}
			asked, err := w.engine.Asked(w.Context(), tx, running)
			if err != nil {
				return err
			}
			waits = asked.ID
		}
		if is = state.ClearHook(hook, waits); !is {
			return nil
		}
		if err := state.Seal(row, w.box); err != nil {
			return err
		}
		row.WakeAt = nil
		return orchestration.PutResources(w.Context(), tx, []*orchestration.Resource{row})
	})
	return is
}

// holds works on all nodes until they wait at hooks and nothing else can be done, twice
// at each, and clears them one after the other.
func (w *world) holds(phase steps.Phase, hooks ...string) {
	w.Helper()
	ids := w.plan(phase).IDs
	for _, hook := range hooks {
		for range 2 {
			if out := w.batch(phase, ids...); len(out.Waiting) != 1 || out.Failed != nil {
				w.Fatalf("before %s was cleared: %+v", hook, out)
			}
		}
		for _, other := range []string{"pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete"} {
			if other != hook && w.cleared(other) {
				w.Errorf("at %s it waits for %s", hook, other)
			}
		}
		if !w.cleared(hook) || w.cleared(hook) {
			w.Errorf("it doesn't wait once at %s", hook)
		}
	}
	if out := w.batch(phase, ids...); len(out.Done) != len(ids) {
		w.Errorf("after %v: %+v", hooks, out)
	}
}

// A resource waits before and after each thing that is done with it, and what needs it
// waits for it.
func TestHooks(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, value.NewMap("template", sleepers, "environment", hooked))
	w.holds(steps.Make, "pre-create", "post-create")
	var reasons []string
	events, err := orchestration.ListEvents(t.Context(), w.db.Pool, orchestration.EventFilter{StackIDs: []string{w.stack.ID}, Resource: "first"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		reasons = append(reasons, e.Action+"_"+e.Status+" "+e.Reason)
	}
	if want := []string{"INIT_COMPLETE CREATE paused until Hook pre-create is cleared", "CREATE_IN_PROGRESS state changed", "CREATE_COMPLETE state changed",
		"CREATE_COMPLETE CREATE paused until Hook post-create is cleared"}; !slices.Equal(reasons, want) {
		t.Errorf("%q", reasons)
	}
	w.end("CREATE", "COMPLETE")
	if w.cleared("post-create") {
		t.Error("it waits still")
	}
	other := value.NewMap("environment", hooked, "template",
		strings.Replace(sleepers, "first: {type: OS::Heat::TestResource}", "first: {type: OS::Heat::TestResource, properties: {value: other}}", 1))
	w.askFor(other)
	w.holds(steps.Make, "pre-update", "post-update")
	w.end("UPDATE", "COMPLETE")
	// One that is cut short at a hook waits for nothing; the next comes to it anew.
	w.askFor(other)
	w.batch(steps.Make, w.plan(steps.Make).IDs...)
	w.cancelled("UPDATE")
	w.fence = steps.Fence{} // nobody has the stack
	if r := w.rows()["first"]; r.WakeAt != nil || w.cleared("pre-update") {
		t.Errorf("%+v", r)
	}
	w.fence = w.begin(operations.StackDelete)
	w.holds(steps.Clear, "pre-delete", "post-delete")
	if rows := w.rows(); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}

// A delete whose workflow is lost waits where it did in the operation that recovers it,
// and so does one that recovers that.
func TestHooksOfALostDelete(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, value.NewMap("template", sleepers, "environment", strings.Replace(hooked, "pre-create, post-create, ", "", 1)))
	w.made()
	w.fence = w.begin(operations.StackDelete)
	ids := w.plan(steps.Clear).IDs
	w.batch(steps.Clear, ids...)
	w.lost()
	if out := w.batch(steps.Clear, ids...); len(out.Waiting) != 1 || !w.cleared("pre-delete") {
		t.Fatalf("it doesn't wait before it is deleted: %+v", out)
	}
	w.batch(steps.Clear, ids...)
	w.lost()
	w.holds(steps.Clear, "post-delete")
	if rows := w.rows(); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}

// What is restricted is refused, which is told once, and the resource is what it was.
func TestRestrictedActions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ restricted, properties, reason string }{
		{"update", "{value: other}", "Resource UPDATE failed: ResourceActionRestricted: resources.first: update is restricted for resource."},
		{"replace", "{value: other, update_replace: true}", "Resource UPDATE failed: ResourceActionRestricted: resources.first: replace is restricted for resource."},
		{"replace", "{value: other}", ""},
		{"update", "{}", ""},
	} {
		w := newWorld(t, sleepers)
		w.made()
		before := w.rows()["first"]
		w.askFor(value.NewMap("environment", "resource_registry: {resources: {'f*': {restricted_actions: "+row.restricted+"}}}", "template",
			strings.Replace(sleepers, "first: {type: OS::Heat::TestResource}", "first: {type: OS::Heat::TestResource, properties: "+row.properties+"}", 1)))
		reason := ""
		for range 2 {
			if out := w.batch(steps.Make, w.plan(steps.Make).IDs[0]); out.Failed != nil {
				reason = out.Failed.Reason
			}
		}
		told := slices.DeleteFunc(w.events(), func(event string) bool { return event != "first UPDATE_FAILED" })
		if len(told) > 1 || (len(told) == 1) != (row.reason != "") {
			t.Errorf("%+v: it is told %d times", row, len(told))
		}
		after := w.rows()["first"]
		if reason != row.reason || row.reason != "" && (after.ID != before.ID || after.Action != "CREATE" || after.Status != "COMPLETE") {
			t.Errorf("%+v: %q, and it is %s_%s", row, reason, after.Action, after.Status)
		}
	}
}
