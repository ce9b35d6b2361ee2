package resources_test

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

// A stack that is abandoned goes, with those nested in it; what they have made stays.
func TestAbandon(t *testing.T) {
	t.Parallel()
	abandoned(t, func(w *world) {})
}

// It stays too where the workflow is lost, and another operation recovers it.
func TestAbandonIsRecovered(t *testing.T) {
	t.Parallel()
	abandoned(t, (*world).lost)
}

// abandoned abandons a stack, to which something happens meanwhile.
func abandoned(t *testing.T, happens func(*world)) {
	t.Helper()
	w := newWorld(t, `
heat_template_version: 2021-04-16
resources:
  kept: {type: OS::Heat::SoftwareConfig, properties: {config: x}}
  g: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: OS::Heat::SoftwareConfig}}}
`)
	plan := w.plan(steps.Make)
	w.batch(steps.Make, plan.IDs...)
	w.carryOut("g", steps.Make, steps.StackOutcome{Action: "CREATE", Status: "COMPLETE"}, operations.ResultDone)
	if out := w.later(steps.Make, plan.IDs...); len(out.Done) != 2 {
		t.Fatalf("%+v", out)
	}
	w.end("CREATE", "COMPLETE")
	w.fence = w.begin(operations.StackDelete, steps.TraversalInput{Abandon: true})
	happens(w)
	group := w.rows()["g"].ID
	if out := w.batch(steps.Clear, -w.rows()["kept"].ID, -group); len(out.Done) != 1 || len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	w.carryOut("g", steps.Clear, steps.StackOutcome{Action: "DELETE", Status: "COMPLETE", Deleted: true}, operations.ResultDone)
	if out := w.later(steps.Clear, -group); len(out.Done) != 1 || len(w.rows()) != 0 {
		t.Fatalf("%+v", out)
	}
	if configs, err := orchestration.ListConfigs(t.Context(), w.db.Pool, "p", "", 10); err != nil || len(configs) != 2 {
		t.Errorf("%d configs are left, %v", len(configs), err)
	}
}
