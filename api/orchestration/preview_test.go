package orchestration_test

// Previews: what would be made or changed, and nothing is.

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	store_ "holdfast.dev/internal/store/orchestration"
)

func TestPreview(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const template = `"template": {"heat_template_version": "2021-04-16", "parameters": {"n": {"type": "number", "default": 3}}, "resources": {
		"v": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "n"}}, "metadata": {"a": 1}},
		"g": {"type": "OS::Heat::ResourceGroup", "depends_on": "v", "properties": {"count": 1, "resource_def": {"type": "OS::Heat::None"}}}},
		"outputs": {"o": {"value": {"get_attr": ["v", "value"]}}}}`
	status, answer, _ := c.ask("alice", "POST", "/stacks/preview", `{"stack_name": "one", "parameters": {"n": 5}, `+template+`}`)
	s, _ := answer["stack"].(map[string]any)
	if status != 200 || s["id"] != "None" || s["stack_name"] != "one" || s["parameters"].(map[string]any)["n"] != "5" || s["stack_status"] != nil || s["creation_time"] != nil || len(s["outputs"].([]any)) != 1 {
		t.Fatalf("%d %v", status, answer)
	}
	resources := s["resources"].([]any)
	v := resources[0].(map[string]any)
	if v["resource_name"] != "v" || v["resource_action"] != "INIT" || v["properties"].(map[string]any)["value"] != 5.0 || v["metadata"].(map[string]any)["a"] != 1.0 ||
		!slices.Equal(v["required_by"].([]any), []any{"g"}) || v["resource_identity"].(map[string]any)["path"] != "/resources/v" {
		t.Errorf("%v", v)
	}
	if members := resources[1].([]any); len(members) != 1 || members[0].(map[string]any)["parent_resource"] != "g" {
		t.Errorf("%v", resources[1])
	}
	for body, class := range map[string]string{`{` + template + `}`: "HTTPBadRequest",
		`{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::No"}}}}`: "StackValidationFailed"} {
		if status, answer, _ := c.ask("alice", "POST", "/stacks/preview", body); status != 400 || answer["error"].(map[string]any)["type"] != class {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
	var stacks_ int
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM orchestration.stacks`).Scan(&stacks_); err != nil || stacks_ != 0 || len(c.trusts.of) != 0 {
		t.Errorf("%d stacks, %v", stacks_, err)
	}
	c.create("one")
	if status, _, _ := c.ask("alice", "POST", "/stacks/preview", `{"stack_name": "one", `+template+`}`); status != 409 {
		t.Errorf("%d", status)
	}
}

// A preview of more than is ever looked into ends in bounded time, though nothing of it
// would be made.
func TestPreviewIsBounded(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	empty := func(n int) string {
		all := map[string]any{}
		for i := range n {
			all[fmt.Sprint("r", i)] = map[string]any{"type": "OS::Heat::ResourceGroup", "properties": map[string]any{"count": 0, "resource_def": map[string]any{"type": "t.yaml"}}}
		}
		text, err := json.Marshal(map[string]any{"heat_template_version": "2021-04-16", "resources": all})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for n, want := range map[int]int{2: 200, 20: 400} {
		body, err := json.Marshal(map[string]any{"stack_name": "one", "template": empty(2), "files": map[string]string{"t.yaml": empty(n * n)}})
		if err != nil {
			t.Fatal(err)
		}
		if status, answer, _ := c.ask("alice", "POST", "/stacks/preview", string(body)); status != want ||
			want == 400 && answer["error"].(map[string]any)["message"] != "Request limit exceeded: Maximum resources per stack exceeded." {
			t.Errorf("%d: %d %v, want %d", n, status, answer["error"], want)
		}
	}
}

func TestPreviewOfUpdate(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	template := func(kept, changed, length int, more string) string {
		return fmt.Sprintf(`{"template": {"heat_template_version": "2021-04-16", "resources": {"kept": {"type": "OS::Heat::Value", "properties": {"value": %d}},
			"changed": {"type": "OS::Heat::Value", "properties": {"value": %d}}, "replaced": {"type": "OS::Heat::RandomString", "properties": {"length": %d}}, "%s": {"type": "OS::Heat::None"}}}}`,
			kept, changed, length, more)
	}
	status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", `+template(1, 1, 5, "dropped")[1:])
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	rows := []*store_.Resource{{Name: "kept", Type: "OS::Heat::Value"}, {Name: "changed", Type: "OS::Heat::Value"},
		{Name: "replaced", Type: "OS::Heat::RandomString"}, {Name: "dropped", Type: "OS::Heat::None"}}
	var states []*stacks.State
	for _, properties := range []*value.Map{value.NewMap("value", value.Int(1), "type", nil), value.NewMap("value", value.Int(1), "type", nil), value.NewMap("length", value.Int(5)), {}} {
		states = append(states, &stacks.State{Properties: properties, Attributes: &value.Map{}, Data: &value.Map{}})
	}
	c.made(id, rows, states...)
	at := "/stacks/one/" + id + "/preview"
	for _, method := range []string{"PUT", "PATCH"} {
		status, answer, _ := c.ask("alice", method, at, template(1, 2, 6, "added"))
		changes, _ := answer["resource_changes"].(map[string]any)
		if status != 200 || len(changes) != 5 {
			t.Fatalf("%d %v", status, answer)
		}
		for change, want := range map[string]string{"unchanged": "kept", "updated": "changed", "replaced": "replaced", "added": "added", "deleted": "dropped"} {
			if list := changes[change].([]any); len(list) != 1 || list[0].(map[string]any)["resource_name"] != want {
				t.Errorf("%s: %v, want %s", change, list, want)
			}
		}
	}
	if status, answer, _ := c.ask("alice", "PATCH", at, `{}`); status != 200 || len(answer["resource_changes"].(map[string]any)["added"].([]any)) != 0 {
		t.Errorf("%d %v", status, answer)
	}
	for _, row := range []struct {
		token, method, path, body string
		status                    int
	}{
		{"alice", "PUT", at, `{}`, 400}, {"alice", "PUT", at + "?show_nested=x", template(1, 1, 5, "x"), 400},
		{"alice", "PUT", at + "?show_nested=true", template(1, 1, 5, "x"), 400}, {"alice", "PUT", at + "?show_nested=false", template(1, 1, 5, "x"), 200}, {"reader", "PUT", at, template(1, 1, 5, "x"), 403},
		{"reader", "PATCH", at, `{}`, 403}, {"bob", "PATCH", "/v1/p2" + at, `{}`, 404},
	} {
		if status, answer, _ := c.ask(row.token, row.method, row.path, row.body); status != row.status {
			t.Errorf("%s %s: %d %v", row.method, row.path, status, answer)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", "/stacks/one/"+id, ""); answer["stack"].(map[string]any)["stack_status"] != "CREATE_IN_PROGRESS" {
		t.Errorf("%v", answer)
	}
}
