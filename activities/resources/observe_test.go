package resources_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

// watched is a type that can say what has become of what it made.
type watched struct {
	*outside
	strayed []string
	changed [][]string
}

func (o *watched) Observe(_ context.Context, c *resources.Call) ([]string, error) {
	if !o.there[c.Mark] {
		return nil, faults.New(faults.NotFound, "NotFound", "there is no %s", c.Mark)
	}
	return o.strayed, nil
}

func (o *watched) Update(_ context.Context, _ *resources.Call, changed []string) (time.Duration, error) {
	o.changed, o.strayed = append(o.changed, changed), nil
	return 0, nil
}

// An update that converges looks at what is there: what others have changed is changed
// back, once, and what they have taken away is made again. Any other update looks at
// nothing.
func TestConverge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "heat_template_version: 2021-04-16\nresources: {thing: {type: OS::Heat::TestResource, properties: {value: a}}}")
	o := &watched{outside: &outside{there: map[string]bool{}}}
	w.types["OS::Heat::TestResource"] = o
	w.made()
	first := w.rows()["thing"]
	update := func(converge bool) *orchestration.Resource {
		t.Helper()
		input := steps.TraversalInput{Template: w.stack.TemplateID, Previous: w.stack.TemplateID, Converge: converge}
		w.fence = w.begin(operations.StackUpdate, input)
		plan := w.plan(steps.Make)
		for range 2 { // the first answer was lost
			out, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: plan.IDs[:1]})
			if err != nil || out.Failed != nil || len(out.Done) != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
		}
		r := w.rows()["thing"]
		w.end("UPDATE", "COMPLETE")
		return r
	}
	if r := update(true); r.ID != first.ID || r.Action != "CREATE" || len(o.changed) != 0 {
		t.Errorf("nothing has become of it, and it is %+v after %v", r, o.changed)
	}
	o.strayed = []string{"value"}
	if r := update(false); r.Action != "CREATE" || len(o.changed) != 0 {
		t.Errorf("nobody looks at it, and it is %+v after %v", r, o.changed)
	}
	if r := update(true); r.ID != first.ID || r.Action != "UPDATE" || r.Status != "COMPLETE" || len(o.changed) != 1 || !slices.Equal(o.changed[0], []string{"value"}) {
		t.Errorf("it was changed, and is %+v after %v", r, o.changed)
	}
	clear(o.there)
	if r := update(true); r.ID == first.ID || r.Status != "COMPLETE" || len(o.there) != 1 {
		t.Errorf("it was taken away, and is %+v; there is %v", r, o.there)
	}
}

// What a service says otherwise than a resource was given it is found, as far as that are
// plain values.
func TestObserve(t *testing.T) {
	t.Parallel()
	service := &collections{at: map[string]map[string]map[string]any{}}
	b := benchOf(t, service)
	pool := thing{name: "pool", typ: "OS::Neutron::SubnetPool", made: `{"name": "p", "prefixes": ["10.0.0.0/8"], "default_prefixlen": 24}`}
	made := b.killed("create", b.call(pool, pool.made), b.types[pool.typ].Create)
	seen := func() ([]string, error) {
		c := b.call(pool, pool.made)
		c.PhysicalID, c.Data = made.PhysicalID, made.Data.Copy()
		return b.types[pool.typ].(resources.Observer).Observe(t.Context(), c)
	}
	if strayed, err := seen(); len(strayed) != 0 || err != nil {
		t.Errorf("nothing was changed: %v, %v", strayed, err)
	}
	in := service.at["subnetpools"]
	in[made.PhysicalID]["name"], in[made.PhysicalID]["default_prefixlen"], in[made.PhysicalID]["description"] = "q", 25, "somebody's"
	if strayed, err := seen(); !slices.Equal(strayed, []string{"name", "default_prefixlen"}) || err != nil {
		t.Errorf("two were changed: %v, %v", strayed, err)
	}
	delete(in, made.PhysicalID)
	if strayed, err := seen(); !faults.Is(err, faults.NotFound) {
		t.Errorf("it is gone: %v, %v", strayed, err)
	}
}
