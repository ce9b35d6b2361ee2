package orchestration_test

// Signals: kept by those that they are for, and refused from strangers.

import (
	"strings"
	"testing"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	store_ "holdfast.dev/internal/store/orchestration"
)

func TestSignals(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", "template": {"heat_template_version": "2021-04-16", "resources": {
		"handle": {"type": "OS::Heat::WaitConditionHandle"}, "asleep": {"type": "OS::Heat::WaitConditionHandle"},
		"wait": {"type": "OS::Heat::WaitCondition", "properties": {"handle": {"get_resource": "handle"}, "timeout": 60}},
		"none": {"type": "OS::Heat::None"}, "unborn": {"type": "OS::Heat::None"}}}}`)
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	at := "/stacks/one/" + id + "/resources/"

	token := stacks.NewSignalToken(id, "handle")
	c.made(id, []*store_.Resource{{Name: "handle", Type: "OS::Heat::WaitConditionHandle", PhysicalID: "h"},
		{Name: "asleep", Type: "OS::Heat::WaitConditionHandle"}, {Name: "wait", Type: "OS::Heat::WaitCondition"}, {Name: "none", Type: "OS::Heat::None"}},
		&stacks.State{Properties: &value.Map{}, Attributes: &value.Map{}, Data: value.NewMap(stacks.TokenKey, token)})
	c.exec(`UPDATE orchestration.resources SET action = 'SUSPEND' WHERE name = 'asleep'`)
	for _, row := range []struct {
		token, path, body string
		status            int
		class, text       string
	}{
		{"reader", at + "handle/signal", `{"data": "x"}`, 200, "", ""},
		{token, at + "handle/signal", "", 200, "", ""},
		{token, at + "handle/signal", `{"id": 7, "status": "FAILURE", "reason": "no"}`, 200, "", ""},
		{"alice", at + "handle/signal", `{"status": "GREAT"}`, 400, "HTTPBadRequest", "Metadata format invalid"},
		{"alice", at + "handle/signal", `{"more": 1}`, 400, "HTTPBadRequest", "Metadata format invalid"},
		{"alice", at + "handle/signal", `{"data": "` + strings.Repeat("x", 600_000) + `"}`, 200, "", ""},
		{"alice", at + "handle/signal", `{"data": "` + strings.Repeat("x", 600_000) + `"}`, 400, "RequestLimitExceeded", "Request limit exceeded: The signals of a handle are too long."},
		{"alice", at + "handle/signal", `{"unset_hook": "pre-nothing"}`, 400, "InvalidBreakPointHook", `Invalid hook type "pre-nothing" for HeatWaitConditionHandle "handle" [h] Stack "one" [` + id + `]`},
		{"alice", at + "none/signal", `{"unset_hook": "pre-create"}`, 400, "InvalidBreakPointHook", `The "pre-create" hook is not defined on NoneResource "none" Stack "one" [` + id + `]`},
		{"alice", at + "none/signal", "", 400, "ResourceActionNotSupported", "signal is not supported for resource."},
		{"alice", at + "asleep/signal", "", 400, "NotSupported", "Signal resource during SUSPEND is not supported."},
		{"alice", at + "unborn/signal", "", 404, "ResourceNotAvailable", "The Resource (unborn) is not available."},
		{"alice", at + "x/signal", "", 404, "ResourceNotFound", "The Resource (x) could not be found in Stack one."},
		{token, at + "asleep/signal", "", 403, "HTTPForbidden", "Access was denied to this resource."},
		{token, at + "asleep/metadata", "GET", 403, "HTTPForbidden", "Access was denied to this resource."},
		{token, "/stacks", "GET", 403, "Forbidden", "You are not authorized to use stacks:index."},
		{"bob", "/v1/p2" + at + "handle/signal", "", 404, "EntityNotFound", "The Stack (one) could not be found."},
	} {
		method, body := "POST", row.body
		if body == "GET" {
			method, body = "GET", ""
		}
		status, answer, _ := c.ask(row.token, method, row.path, body)
		fault, _ := answer["error"].(map[string]any)
		class, _ := fault["type"].(string)
		text, _ := fault["message"].(string)
		if status != row.status || class != row.class || text != row.text {
			t.Errorf("%.20s %s %.50s: %d %v, want %d %s %q", row.token, row.path, row.body, status, answer, row.status, row.class, row.text)
		}
	}
	for _, wrong := range []string{stacks.NewSignalToken(id, "handle"), stacks.NewSignalToken(id, "none"), "signal." + id + ".x", stacks.NewSignalToken("00000000-0000-4000-8000-000000000000", "handle")} {
		if status, answer, _ := c.ask(wrong, "POST", at+"handle/signal", ""); status != 401 {
			t.Errorf("%s: %d %v", wrong, status, answer)
		}
	}
	_, answer, _ = c.ask("reader", "GET", at+"handle/metadata", "")
	signals := answer["metadata"].(map[string]any)
	if len(signals) != 4 || signals["1"].(map[string]any)["data"] != "x" || signals["2"].(map[string]any)["reason"] != "Signal 2 received" || signals["7"].(map[string]any)["status"] != "FAILURE" {
		t.Errorf("%.300v", signals)
	}
	_, answer, _ = c.ask("alice", "GET", at+"handle/events?resource_action=SIGNAL", "")
	if events := answer["events"].([]any); len(events) != 4 || events[2].(map[string]any)["resource_status_reason"] != "Signal: status:SUCCESS reason:Signal 2 received" {
		t.Errorf("%v", events)
	}
	if len(c.offers.knocked) != 4 || !strings.HasPrefix(c.offers.knocked[0], "stack/"+id) {
		t.Errorf("knocked at %v", c.offers.knocked)
	}
	// The token ends with what it was made for.
	if _, err := c.db.Pool.Exec(t.Context(), `DELETE FROM orchestration.resources WHERE name = 'handle'`); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := c.ask(token, "POST", at+"handle/signal", ""); status != 401 {
		t.Errorf("%d", status)
	}
}

// A resource that waits at a hook is let go on once, and its operation is knocked at.
func TestHooksAreCleared(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	s, err := store_.GetStack(t.Context(), c.db.Pool, "p1", id)
	if err != nil {
		t.Fatal(err)
	}
	for name, operation := range map[string]string{"waits": s.OperationID, "waited": "stack/" + id + "/create/another"} {
		state := &stacks.State{Data: &value.Map{}}
		state.ReachHook("pre-create", operation+" make")
		c.made(id, []*store_.Resource{{Name: name, Type: "OS::Heat::None"}}, state)
	}
	at := "/stacks/one/" + id + "/resources/"
	for _, row := range []struct {
		token, path, hook string
		want              int
	}{
		{"bob", "/v1/p2" + at + "waits/signal", "pre-create", 404},
		{"alice", at + "waits/signal", "post-create", 400}, {"alice", at + "waited/signal", "pre-create", 400},
		{"alice", at + "waits/signal", "pre-create", 200}, {"alice", at + "waits/signal", "pre-create", 400},
	} {
		if status, answer, _ := c.ask(row.token, "POST", row.path, `{"unset_hook": "`+row.hook+`"}`); status != row.want {
			t.Errorf("%+v: %d %v", row, status, answer)
		}
	}
	events, err := store_.ListEvents(t.Context(), c.db.Pool, store_.EventFilter{StackIDs: []string{id}, Resource: "waits"})
	if err != nil || len(events) != 1 || events[0].Reason != "Hook pre-create is cleared" {
		t.Errorf("%v %+v", err, events)
	}
	c.offers.Lock()
	defer c.offers.Unlock()
	if len(c.offers.knocked) != 1 || c.offers.knocked[0] != s.OperationID {
		t.Errorf("knocked at %v", c.offers.knocked)
	}
}
