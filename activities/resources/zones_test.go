package resources_test

// Zones that templates ask for.

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

const zoned = `
HeatTemplateFormatVersion: '2012-12-12'
Resources: {all: {Type: "OS::Heat::Value", Properties: {value: {"Fn::GetAZs": ""}}}}
Outputs: {first: {Value: {"Fn::Select": [0, {"Fn::GetAZs": ""}]}}}
`

// zoneService is a compute service that has one answer about zones.
type zoneService struct {
	status int
	answer string
	asked  atomic.Int32
}

// ServeHTTP implements http.Handler.
func (c *zoneService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.asked.Add(1); r.Method != http.MethodGet || r.URL.Path != "/os-availability-zone" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(c.status)
	_, _ = w.Write([]byte(c.answer)) // a client that is gone needs none
}

// zonesCalled are zones as the compute service tells of them; each but the first has no
// host that is up.
func zonesCalled(names ...string) string {
	var all []string
	for i, name := range names {
		all = append(all, fmt.Sprintf(`{"zoneName": %s, "zoneState": {"available": %t}, "hosts": null}`, value.JSON(name, false), i == 0))
	}
	return `{"availabilityZoneInfo": [` + strings.Join(all, ", ") + `]}`
}

// zoning has a stack that asks for zones, which a compute service has an answer about.
func zoning(t *testing.T, c *zoneService) *world {
	t.Helper()
	w := newWorld(t, zoned)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	w.cloud = faked{&cut{left: -1}, server.URL}
	return w
}

// readZones has the zones be read that a phase asks for.
func (w *world) readZones(phase steps.Phase) error {
	_, err := w.on(w.db).Zones(w.Context(), steps.ZonesIn{Fence: w.fence, Phase: phase})
	return err
}

// zones are those that the template is kept with by which the stack is asked for, and
// what its output gives of them.
func (w *world) zones() (kept string, first any) {
	w.Helper()
	s, err := orchestration.GetStack(w.Context(), w.db.Pool, "", w.stack.ID)
	if err != nil {
		w.Fatal(err)
	}
	row, err := orchestration.GetTemplate(w.Context(), w.db.Pool, s.TemplateID)
	if err != nil {
		w.Fatal(err)
	}
	d, err := stacks.Load(s, row, w.box, w.registry())
	if err == nil {
		first, err = d.Output("first").Value(hot.Nothing)
	}
	if err != nil {
		w.Fatal(err)
	}
	return row.Zones, first
}

// Nothing is planned before zones are read. They are read once, are what functions give
// from then on, and are read anew for another template.
func TestZones(t *testing.T) {
	t.Parallel()
	service := &zoneService{status: http.StatusOK, answer: zonesCalled("west", "east")}
	w := zoning(t, service)
	a := w.on(w.db) // one that remembers definitions
	plan := func() steps.PlanOut {
		t.Helper()
		out, err := a.Plan(t.Context(), steps.PlanIn{Fence: w.fence, Phase: steps.Make})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := plan(); !reflect.DeepEqual(out, steps.PlanOut{Zones: true}) || len(w.rows()) != 0 {
		t.Fatalf("%+v, and there are %v", out, w.rows())
	}
	if kept, first := w.zones(); kept != "" || first != "nova" {
		t.Errorf("before, %q is kept and the first is %v", kept, first)
	}
	for range 2 {
		if _, err := a.Zones(t.Context(), steps.ZonesIn{Fence: w.fence, Phase: steps.Make}); err != nil {
			t.Fatal(err)
		}
	}
	if kept, first := w.zones(); kept != `["west","east"]` || first != "west" || service.asked.Load() != 1 {
		t.Errorf("%q is kept, the first is %v, and it was asked %d times", kept, first, service.asked.Load())
	}
	out := plan()
	if out.Zones || len(out.IDs) != 1 {
		t.Fatalf("%+v", out)
	}
	if out, err := a.Batch(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: out.IDs}); err != nil || len(out.Done) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	state, err := stacks.OpenState(w.rows()["all"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := state.Attributes.Get("value"); value.JSON(v, false) != `["west", "east"]` {
		t.Errorf("the resource has %s", value.JSON(v, false))
	}
	w.end("CREATE", "COMPLETE")

	service.answer = zonesCalled("north")
	before := w.stack.TemplateID
	w.askFor(value.NewMap("template", zoned))
	if out := plan(); !out.Zones {
		t.Fatalf("%+v", out)
	}
	if err := w.readZones(steps.Make); err != nil {
		t.Fatal(err)
	}
	if kept, first := w.zones(); kept != `["north"]` || first != "north" {
		t.Errorf("%q is kept and the first is %v", kept, first)
	}
	old, err := orchestration.GetTemplate(t.Context(), w.db.Pool, before)
	if err != nil || old.Zones != `["west","east"]` {
		t.Errorf("the template of before has %q, %v", old.Zones, err)
	}
}

// nobodys is a cloud without the service.
type nobodys struct{}

func (nobodys) Client(context.Context, string, string, string) (*gophercloud.ServiceClient, error) {
	return nil, unlisted
}

// Zones that can't be read aren't kept, and what it is worth to ask again for is told
// from what it is not.
func TestZonesThatCantBeRead(t *testing.T) {
	t.Parallel()
	many := make([]string, 1001)
	for name, c := range map[string]struct {
		status int
		answer string
		kind   faults.Kind
		says   string
	}{
		"refused":      {http.StatusForbidden, `{"forbidden": {"message": "Policy says no."}}`, faults.Forbidden, "Policy says no. (HTTP 403)"},
		"down":         {http.StatusServiceUnavailable, ``, faults.Unavailable, "Service Unavailable (HTTP 503)"},
		"torn":         {http.StatusOK, `{"availabilityZoneInfo": [`, faults.Unavailable, "the answer of GET os-availability-zone can't be read"},
		"another list": {http.StatusOK, `{"zones": []}`, faults.Invalid, "it has no list of them"},
		"nameless":     {http.StatusOK, `{"availabilityZoneInfo": [{}]}`, faults.Invalid, "one has no name"},
		"no zone":      {http.StatusOK, `{"availabilityZoneInfo": [7]}`, faults.Invalid, "one has no name"},
		"too many":     {http.StatusOK, zonesCalled(many...), faults.Invalid, "there are more than 1000"},
		"too long":     {http.StatusOK, zonesCalled(strings.Repeat("ü", 256)), faults.Invalid, "the name of one is longer than 255 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &zoneService{status: c.status, answer: c.answer}
			w := zoning(t, service)
			err := w.readZones(steps.Make)
			if !faults.Is(err, c.kind) || !strings.HasSuffix(faults.As(err).Message, c.says) {
				t.Errorf("%v, want %s: %s", err, c.kind, c.says)
			}
			if kept, _ := w.zones(); kept != "" {
				t.Errorf("%q is kept", kept)
			}
			longest := strings.Repeat("ü", 255)
			service.status, service.answer = http.StatusOK, zonesCalled(append(many[:999:999], longest)...)
			if err := w.readZones(steps.Make); err != nil {
				t.Errorf("asked again: %v", err)
			}
			if kept, _ := w.zones(); !strings.HasSuffix(kept, `,"`+longest+`"]`) {
				t.Errorf("%q is kept", kept)
			}
		})
	}
	for name, c := range map[string]struct {
		cloud resources.Cloud
		kind  faults.Kind
	}{"no compute service": {nobodys{}, faults.Invalid}, "no cloud": {nil, faults.Unavailable}} {
		w := newWorld(t, zoned)
		w.cloud = c.cloud
		if err := w.readZones(steps.Make); !faults.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := zoning(t, &zoneService{status: http.StatusOK, answer: zonesCalled()})
	w.fence.Generation++
	if err := w.readZones(steps.Make); !faults.Is(err, faults.Superseded) {
		t.Errorf("without the fence: %v", err)
	}
}

// A nested stack has its parent's zones, and reads its own where that has none. Either
// way its output gives them to its parent.
func TestZonesOfNestedStacks(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"the parent asks too": true, "the parent doesn't": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := "HeatTemplateFormatVersion: '2012-12-12'\nResources: {inner: {Type: inner.yaml}}\nOutputs: {first: {Value: {'Fn::GetAtt': [inner, first]}}}\n"
			if asks {
				parent = strings.Replace(parent, "Outputs: {", "Outputs: {own: {Value: {'Fn::GetAZs': ''}}, ", 1)
			}
			service := &zoneService{status: http.StatusOK, answer: zonesCalled("west", "east")}
			w := newWorldOf(t, value.NewMap("template", parent, "files", value.NewMap("inner.yaml", zoned)))
			server := httptest.NewServer(service)
			t.Cleanup(server.Close)
			w.cloud = faked{&cut{left: -1}, server.URL}
			plan := w.plan(steps.Make)
			if plan.Zones != asks {
				t.Fatalf("%+v", plan)
			}
			if asks {
				if err := w.readZones(steps.Make); err != nil {
					t.Fatal(err)
				}
				plan = w.plan(steps.Make)
			}
			if out := w.batch(steps.Make, plan.IDs...); len(out.Waiting) != 1 {
				t.Fatalf("%+v %+v", out, out.Failed)
			}
			op := w.part("inner")
			inner := *w
			inner.stack = w.nestedOf("inner")
			inner.fence = w.take(op.ID)
			if out := inner.plan(steps.Make); out.Zones == asks {
				t.Errorf("nested: %+v", out)
			}
			if err := inner.readZones(steps.Make); err != nil {
				t.Fatal(err)
			}
			if kept, first := inner.zones(); kept != `["west","east"]` || first != "west" || service.asked.Load() != 1 {
				t.Errorf("nested, %q is kept, the first is %v, and it was asked %d times", kept, first, service.asked.Load())
			}
			inner.follow(steps.Make)
			inner.end("CREATE", "COMPLETE")
			if out := w.later(steps.Make, plan.IDs...); out.Failed != nil || len(out.Done) != 1 {
				t.Fatalf("%+v %+v", out, out.Failed)
			}
			state, err := stacks.OpenState(w.rows()["inner"], w.box)
			if err != nil {
				t.Fatal(err)
			}
			if first, _ := state.Attributes.Get("first"); first != "west" {
				t.Errorf("the parent reads %v", first)
			}
		})
	}
}

// The template of before has the zones that were read for it when an update is taken
// back, or they are read then.
func TestZonesOfARollback(t *testing.T) {
	t.Parallel()
	service := &zoneService{status: http.StatusOK, answer: zonesCalled("west")}
	w := zoning(t, service)
	before := w.stack.TemplateID
	w.end("CREATE", "FAILED") // before it read any
	input := steps.TraversalInput{Template: before, Previous: before}
	w.fence = w.begin(operations.StackUpdate, input)
	if out := w.plan(steps.Back); !out.Zones {
		t.Fatalf("%+v", out)
	}
	if err := w.readZones(steps.Back); err != nil {
		t.Fatal(err)
	}
	if out := w.plan(steps.Back); out.Zones || len(out.IDs) != 1 {
		t.Errorf("%+v", out)
	}
	if out := w.plan(steps.Check); out.Zones {
		t.Errorf("a check: %+v", out)
	}
}
