package baremetal_test

// Failures of the original that must not happen here, by their rows in the table of
// known failures.

import (
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Row 38: a conductor that died has a node reserved, and nobody can move it. Here the
// reservation is that of the operation, which ends by another conductor's work, and no
// longer.
func TestAnchor38ADeadConductorHoldsNothing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.manageable(redfishNode)
	if got := c.verb(id, `{"target": "inspect"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	reserved := func() any { return c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body["reservation"] }
	if by := reserved(); by != "conductor-1" {
		t.Errorf("it is reserved by %v", by)
	}
	c.exec(`UPDATE baremetal.conductors SET updated_at = now() - interval '1 hour'`)
	c.conductor("conductor-2", "")
	c.finish(id, operations.ResultFailed, steps.NodeOutcome{Failed: true}, &steps.Fault{Code: "Bad", Message: "it burns"})
	if by := reserved(); by != nil {
		t.Errorf("its operation is over, and it is reserved by %v", by)
	}
	c.play(step{"root", "1.115", "PATCH", "/v1/nodes/" + id, `[{"op": "replace", "path": "/extra", "value": {"rack": 2}}]`, 200, ""})
	if got := c.verb(id, `{"target": "inspect"}`); got.status != 202 || reserved() != "conductor-2" {
		t.Errorf("%d %s, reserved by %v", got.status, got.fault, reserved())
	}
	c.finish(id, operations.ResultFailed, steps.NodeOutcome{Failed: true}, nil)
	c.audit()
}

// Row 39: a heartbeat, or whoever asks, takes the lock of a node that is handed on, and
// the deployment never goes on. Here a heartbeat takes none, and nobody comes between an
// operation and its node.
func TestAnchor39NobodyComesBetweenAnOperationAndItsNode(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.awaiting("n", "enroll", "aa:bb:cc:dd:ee:01")
	c.play(step{"root", "1.115", "PUT", "/v1/nodes/n/states/provision", `{"target": "manage"}`, 202, ""})
	holder := c.holder(id)
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'deploying', target_provision_state = 'active' WHERE uuid = $1`, id)
	token := c.ask("", "1.62", "GET", "/v1/lookup?addresses=aa:bb:cc:dd:ee:01", "").body["config"].(map[string]any)["agent_token"].(string)
	beat := step{"", "1.68", "POST", "/v1/heartbeat/" + id, `{"callback_url": "https://192.0.2.7:9999", "agent_token": "` + token + `", "agent_version": "13.0.0"}`, 202, ""}
	for _, state := range []string{"deploying", "wait call-back", "deploying"} {
		c.exec(`UPDATE baremetal.nodes SET provision_state = $2, reservation = CASE WHEN $2 = 'deploying' THEN 'conductor-1' END WHERE uuid = $1`, id, state)
		c.play(beat, beat, step{"root", "1.115", "PUT", "/v1/nodes/n/states/power", `{"target": "power off"}`, 409, ""})
		if now := c.holder(id); now != holder {
			t.Errorf("in %s it is %s's", state, now)
		}
	}
	if knocks := c.door.knocks(); len(knocks) != 6 || slices.ContainsFunc(knocks, func(k string) bool { return k != holder }) {
		t.Errorf("heartbeats knock at %v", knocks)
	}
}
