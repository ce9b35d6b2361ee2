package orchestration_test

// Software configs: made, read and deleted by their project.

import (
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
)

func TestSoftwareConfigs(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	var sample map[string]any
	contracttest.Read(t, "orchestration/samples/config-create-response.json", &sample)
	var ids []string
	for _, body := range []string{
		`{"name": "a", "group": "script", "config": "hush hush", "inputs": [{"name": "foo", "type": "Number", "default": "5", "replace_on_change": true, "value": 1}], "outputs": [{"name": "o"}], "options": {"x": 1}}`,
		`{}`,
	} {
		status, answer, _ := c.ask("alice", "POST", "/software_configs", body)
		config, _ := answer["software_config"].(map[string]any)
		if status != 200 || config == nil {
			t.Fatalf("%d %v", status, answer)
		}
		for key := range sample["software_config"].(map[string]any) {
			if _, ok := config[key]; !ok {
				t.Errorf("it has no %s: %v", key, config)
			}
		}
		ids = append(ids, config["id"].(string))
	}
	_, answer, _ := c.ask("reader", "GET", "/software_configs/"+ids[0], "")
	got := answer["software_config"].(map[string]any)
	input := got["inputs"].([]any)[0].(map[string]any)
	if got["config"] != "hush hush" || input["default"] != 5.0 || input["value"] != 1.0 || input["replace_on_change"] != true || got["options"].(map[string]any)["x"] != 1.0 {
		t.Errorf("%v", got)
	}
	list := func(token, query string) []any {
		path := "/software_configs"
		if token == "bob" || token == "root" {
			path = "/v1/" + map[string]string{"bob": "p2", "root": "admin"}[token] + path
		}
		status, answer, _ := c.ask(token, "GET", path+query, "")
		if status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		return answer["software_configs"].([]any)
	}
	if all := list("alice", ""); len(all) != 2 || all[0].(map[string]any)["id"] != ids[1] || all[0].(map[string]any)["config"] != nil || all[0].(map[string]any)["project"] != nil {
		t.Errorf("%v", all)
	}
	if page := list("alice", "?limit=1&marker="+ids[1]); len(page) != 1 || page[0].(map[string]any)["id"] != ids[0] {
		t.Errorf("%v", page)
	}
	if all := list("bob", ""); len(all) != 0 {
		t.Errorf("a stranger sees %v", all)
	}
	if all := list("root", ""); len(all) != 2 || all[0].(map[string]any)["project"] != "p1" {
		t.Errorf("%v", all)
	}
	const malformed = "The server could not comply with the request since it is either malformed or otherwise incorrect."
	long := strings.Repeat("x", 256)
	for _, row := range []struct {
		token, method, path, body string
		status                    int
		class, text               string
	}{
		{"alice", "POST", "/software_configs", "", 400, "HTTPBadRequest", malformed},
		{"alice", "POST", "/software_configs", `{"inputs": {"a": 1}}`, 400, "TypeError", "Software Config I/O Schema must be in a list"},
		{"alice", "POST", "/software_configs", `{"outputs": ["a"]}`, 400, "TypeError", "Software Config I/O Schema must be a dict"},
		{"alice", "POST", "/software_configs", `{"inputs": [{"type": "Number"}]}`, 400, "ValueError", "Property name not assigned"},
		{"alice", "POST", "/software_configs", `{"inputs": [{"name": "n", "type": "Number", "default": "x"}]}`, 400, "ValueError", "Value 'x' is not a number"},
		{"alice", "POST", "/software_configs", `{"inputs": [{"name": "n", "type": "Bogus"}]}`, 400, "ValueError",
			`"Bogus" is not an allowed value ["String", "Number", "CommaDelimitedList", "Json", "Boolean"]`},
		{"alice", "POST", "/software_configs", `{"name": "` + long + `"}`, 400, "HTTPBadRequest", "name is longer than 255 characters"},
		{"reader", "POST", "/software_configs", `{}`, 403, "Forbidden", "You are not authorized to use software_configs:create."},
		{"alice", "GET", "/software_configs?limit=x", "", 400, "HTTPBadRequest", "Only integer is acceptable by 'limit'."},
		{"alice", "GET", "/software_configs?global_tenant=true", "", 403, "Forbidden", "You are not authorized to use software_configs:global_index."},
		{"alice", "GET", "/software_configs/x", "", 404, "NotFound", "Software config with id x not found"},
		{"bob", "GET", "/v1/p2/software_configs/" + ids[0], "", 404, "NotFound", "Software config with id " + ids[0] + " not found"},
		{"bob", "DELETE", "/v1/p2/software_configs/" + ids[0], "", 404, "NotFound", "Software config with id " + ids[0] + " not found"},
		{"reader", "DELETE", "/software_configs/" + ids[0], "", 403, "Forbidden", "You are not authorized to use software_configs:delete."},
	} {
		status, answer, _ := c.ask(row.token, row.method, row.path, row.body)
		fault, _ := answer["error"].(map[string]any)
		text, _ := fault["message"].(string)
		if status != row.status || fault["type"] != row.class || text != row.text {
			t.Errorf("%s %s %s: %d %v, want %d %s %q", row.method, row.path, row.body, status, answer, row.status, row.class, row.text)
		}
	}
	c.ask("alice", "POST", "/software_configs", `{}`)
	if status, answer, _ := c.ask("alice", "POST", "/software_configs", `{}`); status != 400 || answer["error"].(map[string]any)["message"] !=
		"Request limit exceeded: You have reached the maximum software configs per tenant, 3. Please delete some configs." {
		t.Errorf("%d %v", status, answer)
	}
	if status, _, _ := c.ask("alice", "DELETE", "/software_configs/"+ids[0], ""); status != 204 {
		t.Errorf("%d", status)
	}
	if status, _, _ := c.ask("alice", "DELETE", "/software_configs/"+ids[0], ""); status != 404 {
		t.Errorf("%d", status)
	}
	var sealed string
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT string_agg(encode(content, 'escape'), ' ') FROM orchestration.software_configs`).Scan(&sealed); err != nil || strings.Contains(sealed, "hush") {
		t.Errorf("the config can be read (%v)", err)
	}
}
