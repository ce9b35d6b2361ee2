package orchestration_test

// Actions, and what is said of resources by hand.

import (
	"encoding/json"
	"strings"
	"testing"
)

// state is what a stack shows.
func (c *cloud) state(at string) string {
	c.Helper()
	_, answer, _ := c.ask("alice", "GET", at, "")
	return answer["stack"].(map[string]any)["stack_status"].(string)
}

// exec changes rows by hand.
func (c *cloud) exec(sql string, args ...any) {
	c.Helper()
	if _, err := c.db.Pool.Exec(c.Context(), sql, args...); err != nil {
		c.Fatal(err)
	}
}

// idle has the operations on a stack over, and the stack in a state.
func (c *cloud) idle(id, action, status string) {
	c.Helper()
	c.exec(`UPDATE engine.operations SET finished_at = now(), result = 'done' WHERE resource_id = $1 AND finished_at IS NULL`, id)
	c.exec(`UPDATE orchestration.stacks SET operation_id = NULL, next_operation_id = NULL, action = $2, status = $3 WHERE id = $1`, id, action, status)
}

// An action is shown at once, over whatever runs but a delete, and does nothing
// where there is nothing to do.
func TestActions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "/stacks/one/" + id
	for _, row := range []struct{ from, body, want string }{
		{"CREATE_IN_PROGRESS", `{"check": null}`, "CHECK_IN_PROGRESS"},
		{"CREATE_COMPLETE", `{"suspend": null}`, "SUSPEND_IN_PROGRESS"},
		{"SUSPEND_COMPLETE", `{"suspend": null}`, "SUSPEND_COMPLETE"},
		{"SUSPEND_COMPLETE", `{"resume": {"a": 1}}`, "RESUME_IN_PROGRESS"},
		{"RESUME_COMPLETE", `{"resume": null}`, "RESUME_COMPLETE"},
		{"CHECK_FAILED", `{"check": null}`, "CHECK_IN_PROGRESS"},
	} {
		if from := strings.SplitN(row.from, "_", 2); row.from != "CREATE_IN_PROGRESS" {
			c.idle(id, from[0], from[1])
		}
		status, answer, _ := c.ask("alice", "POST", at+"/actions", row.body)
		if got := c.state(at); status != 200 || answer != nil || got != row.want {
			t.Errorf("%s of one that is %s: %d %v, and it is %s, want %s", row.body, row.from, status, answer, got, row.want)
		}
	}
	if last := c.offers.ids[len(c.offers.ids)-1]; !strings.HasPrefix(last, "stack/"+id+"/check/") {
		t.Errorf("offered %v", c.offers.ids)
	}
}

// A cancel with rollback has the stack be what it was, one without ends what runs.
func TestCancels(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "/stacks/one/" + id
	n := func() string {
		_, answer, _ := c.ask("alice", "GET", at, "")
		n, _ := answer["stack"].(map[string]any)["parameters"].(map[string]any)["n"].(string)
		return n
	}
	update := func() {
		t.Helper()
		c.idle(id, "CREATE", "COMPLETE")
		if status, answer, _ := c.ask("alice", "PATCH", at, `{"parameters": {"n": 7}}`); status != 202 || n() != "7" {
			t.Fatalf("%d %v", status, answer)
		}
	}
	update()
	if status, answer, _ := c.ask("alice", "POST", at+"/actions", `{"cancel_update": null}`); status != 200 || c.state(at) != "ROLLBACK_IN_PROGRESS" || n() != "3" {
		t.Errorf("%d %v: %s with %s", status, answer, c.state(at), n())
	}
	var input string
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT input::text FROM engine.operations WHERE finished_at IS NULL`).Scan(&input); err != nil {
		t.Fatal(err)
	}
	var asked struct{ Template, Previous int64 }
	if err := json.Unmarshal([]byte(input), &asked); err != nil || asked.Previous == 0 {
		t.Errorf("%s, %v", input, err)
	}
	update()
	if status, answer, _ := c.ask("alice", "POST", at+"/actions", `{"cancel_without_rollback": null}`); status != 200 || c.state(at) != "UPDATE_FAILED" || n() != "7" {
		t.Errorf("%d %v: %s with %s", status, answer, c.state(at), n())
	}
}

// Refusals of actions, by status, class and text (contracts: lifecycle.json).
func TestActionsAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "/stacks/one/" + id
	c.exec(`INSERT INTO orchestration.resources (stack_id, name, type, action, status, physical_id, template_id) VALUES
		($1, 'v', 'OS::Heat::Value', 'CREATE', 'COMPLETE', 'phys', 0), ($1, 'w', 'OS::Heat::Value', 'CREATE', 'IN_PROGRESS', 'twice', 0),
		($1, 'x', 'OS::Heat::Value', 'CREATE', 'COMPLETE', 'twice', 0)`, id)
	refused := func(token, method, path, body string, status float64, class, text string) {
		t.Helper()
		_, answer, _ := c.ask(token, method, at+path, body)
		fault, _ := answer["error"].(map[string]any)
		if said, _ := fault["message"].(string); answer["code"] != status || fault["type"] != class || said != text {
			t.Errorf("%s %s %s: %v, want %v %s %q", method, path, body, answer, status, class, text)
		}
	}
	refused("alice", "POST", "/actions", ``, 400, "HTTPBadRequest", "No action specified")
	refused("alice", "POST", "/actions", `{}`, 400, "HTTPBadRequest", "No action specified")
	refused("alice", "POST", "/actions", `{"check": 1, "suspend": 2}`, 400, "HTTPBadRequest", "Multiple actions specified")
	refused("alice", "POST", "/actions", `{"juggle": 1}`, 400, "HTTPBadRequest", "Invalid action juggle specified")
	refused("reader", "POST", "/actions", `{"suspend": null}`, 403, "Forbidden", "You are not authorized to use actions:suspend.")
	refused("alice", "POST", "/actions", `{"cancel_update": null}`, 400, "NotSupported", "Cancelling update when stack is CREATE_IN_PROGRESS is not supported.")
	refused("reader", "PATCH", "/resources/v", `{"mark_unhealthy": true}`, 403, "Forbidden", "You are not authorized to use resource:mark_unhealthy.")
	refused("alice", "PATCH", "/resources/v", `{"mark_unhealthy": true, "x": 1}`, 400, "HTTPBadRequest", "Invalid keys in resource mark unhealthy {'x'}")
	refused("alice", "PATCH", "/resources/v", `{}`, 400, "HTTPBadRequest", "Missing mandatory (mark_unhealthy) key from mark unhealthy request")
	refused("alice", "PATCH", "/resources/v", `{"mark_unhealthy": 7}`, 400, "HTTPBadRequest", `Unrecognized value "7" for "mark_unhealthy", acceptable values are: true, false.`)
	refused("alice", "PATCH", "/resources/z", `{"mark_unhealthy": true}`, 404, "ResourceNotFound", "The Resource (z) could not be found in Stack one.")
	refused("alice", "PATCH", "/resources/w", `{"mark_unhealthy": true}`, 409, "ActionInProgress", "Stack one already has an action (CREATE) in progress.")
	refused("alice", "PATCH", "/resources/twice", `{"mark_unhealthy": true}`, 400, "PhysicalResourceIDAmbiguity", "Multiple resources were found with the physical ID (twice).")
	c.ask("alice", "DELETE", at, "")
	refused("alice", "POST", "/actions", `{"check": null}`, 409, "ActionInProgress", "Stack one already has an action (DELETE) in progress.")
	refused("alice", "POST", "/actions", `{"cancel_without_rollback": null}`, 400, "NotSupported", "Cancelling update when stack is DELETE_IN_PROGRESS is not supported.")
}

// Who says that a resource is broken is believed, and when it is mended too.
func TestMarkUnhealthy(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "/stacks/one/" + id + "/resources/"
	c.exec(`INSERT INTO orchestration.resources (stack_id, name, type, action, status, physical_id, template_id)
		VALUES ($1, 'v', 'OS::Heat::Value', 'CREATE', 'COMPLETE', 'phys', 0)`, id)
	for _, row := range []struct{ name, body, state, reason string }{
		{"v", `{"mark_unhealthy": false}`, "CREATE_COMPLETE", ""},
		{"phys", `{"mark_unhealthy": "True", "resource_status_reason": "it smokes"}`, "CHECK_FAILED", "it smokes"},
		{"v", `{"mark_unhealthy": false}`, "CHECK_COMPLETE", "state changed by resource_mark_unhealthy api"},
	} {
		status, answer, _ := c.ask("alice", "PATCH", at+row.name, row.body)
		if status != 200 || answer != nil {
			t.Errorf("%d %v", status, answer)
		}
		_, answer, _ = c.ask("alice", "GET", at+"v", "")
		if v := answer["resource"].(map[string]any); v["resource_status"] != row.state || v["resource_status_reason"] != row.reason {
			t.Errorf("%s: %v", row.body, v)
		}
	}
}
