package compute_test

import (
	"fmt"
	"slices"
	"testing"
)

// In every state: accepted without a task, or refused in the contract's words.
func TestTriggerCrashDump(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	row := preconditions(t)["trigger_crash_dump"]
	allowed, _ := of[[]string](t, row.VMStates, "")
	act := func(token, version string, status int, want string) step {
		return step{token, version, "POST", "/servers/" + id + "/action", `{"trigger_crash_dump": null}`, status, want}
	}
	for _, vm := range vmStates {
		c.settle(id, vm)
		if !slices.Contains(allowed, vm) {
			c.play(act("alice", "2.17", 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", row.Name, id, vm))))
			continue
		}
		c.play(act("alice", "2.17", 202, ""))
		if got := c.holder(id); got != "server.crash-dump -" {
			t.Errorf("of %s: %s", vm, got)
		}
	}
	c.settle(id, "active")
	c.play(
		act("alice", "2.16", 404, ""),
		act("reader", "2.17", 403, forbidden("os_compute_api:servers:trigger_crash_dump")),
		act("bob", "2.17", 404, notFound("Instance "+id+" could not be found.")),
	)
	c.query(`UPDATE compute.servers SET host_id = NULL WHERE id = $1 RETURNING id::text`, id)
	c.play(act("alice", "2.17", 409, conflict("Instance "+id+" is not ready")))
	c.settle(id, "active")
	c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
	c.play(act("alice", "2.17", 409, conflict("Instance "+id+" is locked")))
}
