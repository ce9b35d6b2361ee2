package compute_test

import (
	"testing"

	"holdfast.dev/internal/operations"
)

// A state is reset at once where nothing holds the server, whatever it is, and
// its task is over.
func TestResetState(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	act := func(token, body string, status int, want string) step {
		return step{token, "2.1", "POST", "/servers/" + id + "/action", body, status, want}
	}
	shown := func() string {
		return c.query(`SELECT vm_state || ' ' || COALESCE(task_state, '-') || ' ' || power_state FROM compute.servers WHERE id = $1`, id)
	}
	for _, vm := range vmStates {
		for _, state := range []string{"active", "error"} {
			c.settle(id, vm)
			c.query(`UPDATE compute.servers SET power_state = 7, task_state = 'suspending', locked = true WHERE id = $1 RETURNING id::text`, id)
			c.play(act("root", `{"os-resetState": {"state": "`+state+`"}}`, 202, ""))
			if got, want := shown(), state+" - 7"; got != want {
				t.Errorf("%s of %s: %q, want %q", state, vm, got, want)
			}
		}
	}
	c.play(
		act("alice", `{"os-resetState": {"state": "active"}}`, 403, forbidden("os_compute_api:os-admin-actions:reset_state")),
		act("root", `{"os-resetState": {"state": "stopped"}}`, 400,
			invalid("Invalid input for field/attribute state. Value: stopped. 'stopped' is not one of ['active', 'error']")),
	)
	if got := c.query(`SELECT count(*)::text FROM compute.server_actions WHERE server_id = $1 AND action = 'resetState'`, id); got != "22" {
		t.Errorf("%s actions are shown", got)
	}
}

// A reset takes over what runs: it comes next, and the one that runs is
// cancelled; of what is being deleted no other state is to come.
func TestResetStateTakesOver(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	act := func(token, method, path, body string, status int) {
		t.Helper()
		c.play(step{token, "2.1", method, path, body, status, ""})
	}
	path := "/servers/" + id
	act("alice", "POST", path+"/action", `{"os-stop": null}`, 202)
	running := c.query(`UPDATE engine.operations SET dispatched_at = now(), run_id = 'run' WHERE resource_id = $1 AND finished_at IS NULL RETURNING id`, id)
	act("root", "POST", path+"/action", `{"os-resetState": {"state": "error"}}`, 202)
	want := running + " server.reset-state {\"vm_state\": \"error\"} powering-off true"
	got := c.query(`SELECT s.operation_id || ' ' || n.kind || ' ' || n.input || ' ' || s.task_state || ' ' || (o.cancel_requested_at IS NOT NULL)
		FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id JOIN engine.operations n ON n.id = s.next_operation_id WHERE s.id = $1`, id)
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// The last word counts, and a delete after it.
	act("root", "POST", path+"/action", `{"os-resetState": {"state": "active"}}`, 202)
	act("alice", "DELETE", path, "", 204)
	act("root", "POST", path+"/action", `{"os-resetState": {"state": "active"}}`, 202)
	if got := c.query(`SELECT n.kind FROM compute.servers s JOIN engine.operations n ON n.id = s.next_operation_id WHERE s.id = $1`, id); got != "server.delete" {
		t.Errorf("%s comes next", got)
	}
}

// Who says what a server is whose move waits to be confirmed has an operation
// confirm the move: else what it has left elsewhere stays there, and no other can begin.
func TestResetStateConfirms(t *testing.T) {
	t.Parallel()
	c, id := withdrawable(t)
	for _, state := range []string{"error", "active"} {
		c.settledAs(id, operations.ServerConfirmResize)
		c.play(step{"root", "2.1", "POST", "/servers/" + id + "/action", `{"os-resetState": {"state": "` + state + `"}}`, 202, ""})
		got := c.query(`SELECT s.vm_state || ' ' || o.kind || ' ' || (o.input->>'vm_state') || ' ' || m.status
			FROM compute.servers s JOIN compute.migrations m ON m.server_id = s.id AND m.open JOIN engine.operations o ON o.id = s.operation_id WHERE s.id = $1`, id)
		if want := "resized server.reset-state " + state + " finished"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The addresses are read anew, as all that an injection still does.
func TestInjectNetworkInfo(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	(&world{cloud: c}).plug(id)
	c.settle(id, "active")
	act := func(token string, status int, want string) step {
		return step{token, "2.1", "POST", "/servers/" + id + "/action", `{"injectNetworkInfo": null}`, status, want}
	}
	c.play(
		act("alice", 403, forbidden("os_compute_api:os-admin-actions:inject_network_info")),
		act("root", 202, ""),
		act("root+", 202, ""),
	)
	if got := c.query(`SELECT fixed_ips->0->>'ip_address' FROM compute.server_ports WHERE server_id = $1`, id); got != "192.0.2.8" {
		t.Errorf("the address is %s", got)
	}
	c.play(step{"root", "2.1", "POST", "/servers/" + id + "/action", `{"resetNetwork": null}`, 410, ""})
}
