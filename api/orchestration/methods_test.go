package orchestration_test

import "testing"

// A method that a path lacks is refused, and OPTIONS says which it has.
func TestMethods(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	const text = "The server could not comply with the request since it is either malformed or otherwise incorrect."
	for _, row := range []struct{ method, path string }{
		{"PUT", "/stacks"}, {"DELETE", "/build_info"}, {"POST", "/stacks/one/" + id}, {"GET", "/stacks/one/" + id + "/actions"}, {"PATCH", "/software_configs/x"},
	} {
		status, answer, _ := c.ask("alice", row.method, row.path, "")
		fault, _ := answer["error"].(map[string]any)
		if status != 405 || answer["title"] != "Method Not Allowed" || fault["type"] != "HTTPMethodNotAllowed" || fault["message"] != text {
			t.Errorf("%s %s: %d %v", row.method, row.path, status, answer)
		}
	}
	for path, want := range map[string]string{"/stacks": "GET,POST", "/stacks/one/" + id: "GET,PUT,PATCH,DELETE", "/stacks/one": "GET,POST,PUT,PATCH,DELETE", "/validate": "POST",
		"/stacks/detail": "GET", "/stacks/preview": "POST"} {
		if status, answer, header := c.ask("alice", "OPTIONS", path, ""); status != 204 || header.Get("Allow") != want || answer != nil {
			t.Errorf("%s: %d %q %v", path, status, header.Get("Allow"), answer)
		}
	}
	if status, _, _ := c.ask("nobody", "OPTIONS", "/stacks", ""); status != 401 {
		t.Errorf("%d", status)
	}
	// A part of a stack is found by the stack's name alone, also by POST.
	for path, want := range map[string]int{"/stacks/one/actions": 302, "/stacks/detail": 404} {
		if status, answer, _ := c.ask("alice", "POST", path, "{}"); status != want {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
}
