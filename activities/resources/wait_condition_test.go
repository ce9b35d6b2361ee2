package resources_test

// Wait conditions: signals that come before, while and after somebody waits.

import (
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

const waits = `
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 600, count: 2}}
  said: {type: OS::Heat::Value, properties: {value: {get_attr: [wait, data]}}}
`

// signal has a resource be signalled, as the API does.
func (w *world) signal(name string, details any) {
	w.Helper()
	row := w.rows()[name]
	told, err := stacks.Signal(w.registry().Find(row.Carrier()), row, value.Of(details))
	if err != nil {
		w.Fatal(err)
	}
	event := orchestration.EventOf(w.stack, row)
	event.Action, event.Reason = "SIGNAL", told
	computetest.InTx(w.T, w.db, func(tx store.Tx) error {
		return orchestration.PutSignal(w.Context(), tx, row, []string{"OS::Heat::WaitCondition"}, event)
	})
}

// One signal comes before anybody waits and is kept; the next has what waits be
// looked at again at once. An update keeps them, and so does whoever comes later.
func TestWaitCondition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, waits)
	plan := w.plan(steps.Make)
	ids := map[string]int64{}
	for name, r := range w.rows() {
		ids[name] = r.ID
	}
	w.batch(steps.Make, ids["handle"])
	state, err := stacks.OpenState(w.rows()["handle"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	token, _ := state.Attributes.Get("token")
	endpoint, _ := state.Attributes.Get("endpoint")
	curl, _ := state.Attributes.Get("curl_cli")
	if of, name, is := stacks.OfSignalToken(token.(string)); !is || of != w.stack.ID || name != "handle" ||
		endpoint != "http://guests/orchestration/v1/p/stacks/s/"+w.stack.ID+"/resources/handle/signal" ||
		curl != "curl -i -X POST -H 'X-Auth-Token: "+token.(string)+"' -H 'Content-Type: application/json' -H 'Accept: application/json' "+endpoint.(string) {
		t.Errorf("%v %v %v", token, endpoint, curl)
	}
	w.signal("handle", map[string]any{"data": "first"})
	for range 2 {
		if out := w.batch(steps.Make, plan.IDs...); len(out.Waiting) != 1 || out.Waiting[0].After <= 0 || out.Waiting[0].After > 30*time.Second {
			t.Fatalf("%+v", out)
		}
	}
	w.signal("handle", map[string]any{"id": "mine", "status": "SUCCESS"})
	if out := w.batch(steps.Make, plan.IDs...); len(out.Waiting) != 0 || out.Failed != nil {
		t.Fatalf("%+v", out)
	}
	said, err := stacks.OpenState(w.rows()["said"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := said.Attributes.Get("value"); got != `{"1": "first", "mine": null}` {
		t.Errorf("%v", got)
	}
	w.end("CREATE", "COMPLETE")

	// A greater count waits anew, and what was signalled counts.
	w.ask(strings.ReplaceAll(waits, "count: 2", "count: 3"))
	update := w.plan(steps.Make)
	if out := w.batch(steps.Make, update.IDs[:3]...); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	w.signal("handle", map[string]any{"status": "FAILURE", "reason": "it broke"})
	if out := w.batch(steps.Make, update.IDs[:3]...); out.Failed == nil || out.Failed.Reason != "Resource UPDATE failed: WaitConditionFailure: resources.wait: it broke" {
		t.Errorf("%+v", out.Failed)
	}
	w.end("UPDATE", "FAILED")

	w.fence = w.begin(operations.StackDelete)
	w.batch(steps.Clear, -ids["said"], -ids["wait"])
	if got := w.rows()["handle"].Metadata; got != "{}" {
		t.Errorf("the handle keeps %s", got)
	}
	w.follow(steps.Clear)
	if len(w.rows()) != 0 {
		t.Errorf("%v is left", w.rows())
	}
}

// What can't be waited for fails, in the original's words; what needs no signal
// doesn't wait.
func TestWaitConditionsThatDoNotWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
heat_template_version: 2021-04-16
resources:
  none: {type: OS::Heat::None}
  silent: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: NO_SIGNAL}}
  handle: {type: OS::Heat::WaitConditionHandle}
  keystone: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: HEAT_SIGNAL}}
  swift: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: TEMP_URL_SIGNAL}}
  at_once: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: silent}, timeout: 1, count: 3}}
  many: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: silent}, timeout: 600, count: 1000000000}}
  wrong: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: none}, timeout: 1}}
  late: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 1}}
`)
	w.plan(steps.Make)
	id := func(name string) int64 { return w.rows()[name].ID }
	if out := w.batch(steps.Make, id("none"), id("silent"), id("handle"), id("at_once")); len(out.Done) != 4 {
		t.Errorf("%+v", out)
	}
	w.batch(steps.Make, id("late"))
	time.Sleep(1100 * time.Millisecond)
	for name, want := range map[string]string{
		"wrong":    "ValueError: resources.wrong: " + w.rows()["none"].PhysicalID + " is not a valid wait condition handle.",
		"late":     "WaitConditionTimeout: resources.late: 0 of 1 received",
		"many":     "RequestLimitExceeded: resources.many: Request limit exceeded: The signals of a handle are too long.",
		"swift":    "NotSupported: resources.swift: Signal transport TEMP_URL_SIGNAL is not supported.",
		"keystone": "NotSupported: resources.keystone: Signals by a user of the stack are not supported, since orchestration.stack_domain_admin is not set.",
	} {
		if out := w.batch(steps.Make, id(name)); out.Failed == nil || out.Failed.Reason != "Resource CREATE failed: "+want {
			t.Errorf("%+v, want %s", out.Failed, want)
		}
	}
}
