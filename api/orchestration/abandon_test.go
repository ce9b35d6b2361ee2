package orchestration_test

import (
	"testing"

	"holdfast.dev/internal/contracttest"
)

// A stack is exported with all that it was asked for, and abandoned with that; unless
// the operator hasn't allowed it.
func TestAbandon(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "/stacks/one/" + id
	for method, path := range map[string]string{"GET": at + "/export", "DELETE": at + "/abandon"} {
		if status, answer, _ := c.ask("alice", method, path, ""); status != 400 || answer["error"].(map[string]any)["type"] != "NotSupported" ||
			answer["error"].(map[string]any)["message"] != "Stack Abandon is not supported." {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
	c.api.Abandon = true
	var sample map[string]any
	contracttest.Read(t, "orchestration/samples/stack-abandon-response.json", &sample)
	status, answer, _ := c.ask("alice", "GET", at+"/export", "")
	if status != 200 || answer["name"] != "one" || answer["status"] != "IN_PROGRESS" || answer["environment"].(map[string]any)["parameters"].(map[string]any)["secret"] != "hush" {
		t.Errorf("%d %v", status, answer)
	}
	for key := range sample {
		if _, ok := answer[key]; !ok {
			t.Errorf("it has no %s", key)
		}
	}
	for _, row := range []struct {
		token, method, path string
		want                int
	}{{"reader", "DELETE", at + "/abandon", 403}, {"bob", "GET", "/v1/p2" + at + "/export", 404}, {"alice", "GET", "/stacks/two/" + id + "/export", 404},
		{"alice", "DELETE", at + "/abandon", 200}, {"alice", "DELETE", at + "/abandon", 409}} {
		if status, answer, _ := c.ask(row.token, row.method, row.path, ""); status != row.want {
			t.Errorf("%s %s: %d %v", row.method, row.path, status, answer)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", at, ""); answer["stack"].(map[string]any)["stack_status"] != "DELETE_IN_PROGRESS" {
		t.Errorf("%v", answer)
	}
}
