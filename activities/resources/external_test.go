package resources_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
)

// seen is a type that can say what is there.
type seen struct{ *outside }

func (s *seen) Look(_ context.Context, c *resources.Call) error {
	if !s.there[c.PhysicalID] {
		return faults.New(faults.NotFound, "NotFound", "there is no %s", c.PhysicalID)
	}
	c.Attributes.Set("output", "of "+c.PhysicalID)
	return nil
}

const external = `
heat_template_version: 2021-04-16
resources:
  thing: {type: OS::Heat::TestResource, external_id: %s, properties: {value: %s}}
  said: {type: OS::Heat::Value, properties: {value: [{get_resource: thing}, {get_attr: [thing, output]}]}}
`

// What is there already is taken in and checked, read as any other resource, changed by
// nothing, and left when the stack goes.
func TestExternal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fmt.Sprintf(external, "one", "a"))
	o := &outside{there: map[string]bool{"one": true, "two": true}}
	w.types["OS::Heat::TestResource"] = &seen{o}
	if out := w.follow(steps.Make); out.Failed != nil {
		t.Fatalf("%+v", out.Failed)
	}
	w.end("CREATE", "COMPLETE")
	rows := w.rows()
	if r := rows["thing"]; r.Action != "CHECK" || r.Status != "COMPLETE" || r.PhysicalID != "one" || r.DeletionPolicy != "Retain" {
		t.Errorf("%+v", r)
	}
	said, err := stacks.OpenState(rows["said"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := said.Attributes.Get("value"); value.JSON(v, false) != `["one", "of one"]` {
		t.Errorf("it is read as %s", value.JSON(v, false))
	}
	var of []string
	for _, event := range w.events() {
		if strings.HasPrefix(event, "thing ") {
			of = append(of, event)
		}
	}
	if want := []string{"thing ADOPT_IN_PROGRESS", "thing ADOPT_COMPLETE", "thing CHECK_COMPLETE"}; !slices.Equal(of, want) {
		t.Errorf("events %v, want %v", of, want)
	}

	for _, step := range []struct{ template, reason string }{
		{fmt.Sprintf(external, "one", "b"), ""},
		{fmt.Sprintf(external, "two", "b"), "Resource UPDATE failed: NotSupported: resources.thing: Update to property external_id of thing (OS::Heat::TestResource) is not supported."},
	} {
		w.ask(step.template)
		out := w.follow(steps.Make)
		switch {
		case (out.Failed != nil) != (step.reason != ""), out.Failed != nil && out.Failed.Reason != step.reason:
			t.Errorf("%+v, want %q", out.Failed, step.reason)
		case w.rows()["thing"].ID != rows["thing"].ID || w.rows()["thing"].PhysicalID != "one":
			t.Errorf("it is replaced by %+v", w.rows()["thing"])
		}
		w.end("UPDATE", "COMPLETE")
	}

	w.fence = w.begin(operations.StackDelete)
	if out := w.follow(steps.Clear); out.Failed != nil || len(w.rows()) != 0 || len(o.there) != 2 {
		t.Errorf("%+v, rows %v, and there is %v", out.Failed, w.rows(), o.there)
	}
}

// What isn't there, or can't be, fails in the original's words, and is left alone.
func TestExternalThatIsNotThere(t *testing.T) {
	t.Parallel()
	for id, reason := range map[string]string{
		"three": "Resource ADOPT failed: StackValidationFailed: resources.thing: Invalid external resource: Resource three (OS::Heat::TestResource) can not be found.",
		"'..'":  "Resource ADOPT failed: StackValidationFailed: resources.thing: resources.thing.external_id: '..' is the id of nothing",
		"''":    "Resource ADOPT failed: StackValidationFailed: resources.thing: resources.thing.external_id: '' is the id of nothing",
	} {
		w := newWorld(t, fmt.Sprintf(external, id, "a"))
		w.types["OS::Heat::TestResource"] = &seen{&outside{there: map[string]bool{}, fail: faults.New(faults.Internal, "Touched", "it is nobody's to take away")}}
		out := w.follow(steps.Make)
		if out.Failed == nil || out.Failed.Reason != reason {
			t.Errorf("%s: %+v, want %q", id, out.Failed, reason)
		}
		w.end("CREATE", "FAILED")
		w.fence = w.begin(operations.StackDelete)
		if out := w.follow(steps.Clear); out.Failed != nil || len(w.rows()) != 0 {
			t.Errorf("%s: %+v, rows %v", id, out.Failed, w.rows())
		}
	}
}
