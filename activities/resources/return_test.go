package resources_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// giving is a type that is always replaced, and lets go of something for that.
type giving struct {
	outside
	calls []string
}

func (*giving) Replaces(_, _ *value.Map, _ []string) bool { return true }

func (g *giving) Create(ctx context.Context, c *resources.Call) (time.Duration, error) {
	if c.Name == "bad" {
		return 0, faults.New(faults.Invalid, "Bad", "it can't be made")
	}
	if c.Before != nil {
		g.calls = append(g.calls, "taken from "+c.Before.PhysicalID)
	}
	return g.outside.Create(ctx, c)
}

func (g *giving) Return(_ context.Context, c *resources.Call) (time.Duration, error) {
	g.calls = append(g.calls, "given to "+c.PhysicalID+" by "+c.Before.PhysicalID)
	return 0, nil
}

// What takes the place of another knows which one that is, and when that takes its
// place back it is given again what it has let go of; nothing else is asked to.
func TestPlaceIsTakenBack(t *testing.T) {
	t.Parallel()
	const template = `
heat_template_version: 2021-04-16
resources:
  kept: {type: OS::Heat::TestResource, properties: {value: same}}
  thing: {type: OS::Heat::TestResource, properties: {value: a}}
`
	w := newWorld(t, template)
	g := &giving{outside: outside{there: map[string]bool{}}}
	w.types["OS::Heat::TestResource"] = g
	w.follow(steps.Make)
	w.end("CREATE", "COMPLETE")
	first := w.rows()["thing"].PhysicalID
	w.ask(`
heat_template_version: 2021-04-16
resources:
  kept: {type: OS::Heat::TestResource, properties: {value: same}}
  thing: {type: OS::Heat::TestResource, properties: {value: b}}
  bad: {type: OS::Heat::TestResource, depends_on: thing}
`)
	if out := w.follow(steps.Make); out.Failed == nil {
		t.Fatal("nothing has failed")
	}
	second := w.rows()["thing"].PhysicalID
	if _, err := w.records().Advance(t.Context(), steps.AdvanceIn{Fence: w.fence, Step: operations.StepRollback, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	if out := w.follow(steps.Back); out.Failed != nil {
		t.Fatalf("%+v", out.Failed)
	}
	if want := []string{"taken from " + first, "given to " + first + " by " + second}; !slices.Equal(g.calls, want) {
		t.Errorf("it was %q, want %q", g.calls, want)
	}
	if r := w.rows()["thing"]; r.PhysicalID != first || r.Action != "UPDATE" || r.Status != "COMPLETE" || len(g.there) != 2 {
		t.Errorf("%+v, and there are %v", r, g.there)
	}
}
