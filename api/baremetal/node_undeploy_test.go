package baremetal_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// What ends the instance of a node is refused in the original's words, and has changed
// nothing then.
func TestUndeployIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	at := func(state, body string) string {
		id := c.enroll("root", body)
		c.set(id, "provision_state", state)
		return id
	}
	kept := at("active", `{"driver": "fake-hardware", "name": "kept"}`)
	c.set(kept, "protected", true)
	bare := at("active", `{"driver": "redfish", "name": "bare"}`)
	busy := at("active", `{"driver": "fake-hardware", "name": "busy"}`)
	powered := at("active", `{"driver": "fake-hardware", "name": "powered"}`)
	free := at("available", `{"driver": "fake-hardware", "name": "free"}`)
	c.set(busy, "reservation", "conductor-9")
	if got := c.ask("root", "1.115", "PUT", "/v1/nodes/powered/states/power", `{"target": "power off"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	protected := fmt.Sprintf("Node %s is protected and cannot be undeployed, rebuilt or deleted", kept)
	locked := "Node %s is locked by host %s, please retry after the current operation is completed."
	c.refuses("provision",
		refusal{"kept", "1.115", "root", `{"target": "deleted"}`, 403, protected},
		refusal{"kept", "1.115", "root", `{"target": "undeploy"}`, 403, protected},
		refusal{"kept", "1.115", "root", `{"target": "rebuild"}`, 403, protected},
		refusal{"bare", "1.115", "root", `{"target": "deleted"}`, 400, fmt.Sprintf("Failed to validate power driver interface. Can not delete instance. Error: "+
			"Missing the following Redfish properties in node %s driver_info: ['redfish_address']", bare)},
		refusal{"busy", "1.115", "root", `{"target": "deleted"}`, 409, fmt.Sprintf(locked, busy, "conductor-9")},
		refusal{"powered", "1.115", "root", `{"target": "deleted"}`, 409, fmt.Sprintf(locked, powered, "conductor-1")},
		refusal{"free", "1.115", "root", `{"target": "deleted"}`, 400,
			fmt.Sprintf(`The requested action "deleted" can not be performed on node "%s" while it is in state "available".`, free)},
		refusal{"free", "1.115", "root", `{"target": "deleted", "configdrive": "x"}`, 400, ""},
		refusal{"free", "1.115", "bob", `{"target": "deleted"}`, 404, "Node free could not be found."},
		refusal{"free", "1.115", "viewer", `{"target": "deleted"}`, 403, "Access was denied to the following resource: baremetal:node:set_provision_state"},
	)
	for id, state := range map[string]string{kept: "active", bare: "active", busy: "active", powered: "active", free: "available"} {
		if n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; n["provision_state"] != state || n["target_provision_state"] != nil {
			t.Errorf("a refusal has changed %v", n)
		}
	}
}

// A node whose instance is taken away is shown to be, from wherever that may be asked
// for, and its operation knows what it is to be cleaned by.
func TestUndeploy(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	for _, from := range []string{"active", "wait call-back", "deploy failed", "error", "rescue", "rescue wait", "rescue failed", "unrescue failed", "service wait", "service failed"} {
		id := c.enroll("root", `{"driver": "fake-hardware", "deploy_interface": "fake", "vendor_interface": "fake", "automated_clean": true}`)
		c.set(id, "provision_state", from)
		c.set(id, "maintenance", true)
		if got := c.verb(id, `{"target": "deleted"}`); got.status != 202 || got.header.Get("Location") != "http://localhost/v1/nodes/"+id+"/states" {
			t.Errorf("%s: %d %s", from, got.status, got.fault)
			continue
		}
		n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if n["provision_state"] != "deleting" || n["target_provision_state"] != "available" || n["reservation"] != "conductor-1" || n["last_error"] != nil {
			t.Errorf("%s: %v", from, n)
		}
		if b := c.brief(id); len(b.Steps) != 1 || c.input(id) != `{}` {
			t.Errorf("%s: %+v, %s", from, b, c.input(id))
		}
		if got := c.verb(id, `{"target": "deleted"}`); got.status != 409 {
			t.Errorf("%s: asked for again it is %d %s", from, got.status, got.fault)
		}
	}
}

// An instance is taken away while its ramdisk is waited for: what was at work gives
// way, and what becomes of that shows in nothing.
func TestUndeployOfOneThatWaits(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "fake-hardware", "deploy_interface": "fake", "vendor_interface": "fake", "automated_clean": true}`)
	c.set(id, "provision_state", "available")
	if got := c.verb(id, `{"target": "active"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	computetest.InTx(t, c.db, func(tx store.Tx) error {
		if _, err := c.operations().Begin(t.Context(), tx, steps.BeginIn{OperationID: c.holder(id), RunID: "run"}); err != nil {
			return err
		}
		return baremetal.Move(t.Context(), tx, id, steps.NodeMove{State: "wait call-back"})
	})
	deploy := c.holder(id)
	if got := c.verb(id, `{"target": "undeploy"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	shows := func() {
		t.Helper()
		n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if n["provision_state"] != "deleting" || n["target_provision_state"] != "available" || n["reservation"] != "conductor-1" || n["last_error"] != nil {
			t.Errorf("%v", n)
		}
	}
	shows()
	if op, err := c.operations().Get(t.Context(), c.db.Pool, deploy); err != nil || op.CancelRequestedAt == nil {
		t.Errorf("%+v, %v", op, err)
	}
	c.finish(id, operations.ResultCancelled, steps.NodeOutcome{Failed: true}, &steps.Fault{Code: "Cancelled", Message: "Deploy operation aborted"}, steps.NodeMove{State: "deploying"})
	shows()
	if holder := c.holder(id); holder == deploy || len(c.brief(id).Steps) != 1 {
		t.Errorf("%s has the node, to be cleaned by %+v", holder, c.brief(id).Steps)
	}
	c.finish(id, operations.ResultDone, steps.NodeOutcome{State: "available"}, nil, steps.NodeMove{State: "deleting"}, steps.NodeMove{State: "cleaning"})
	if n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; n["provision_state"] != "available" || n["reservation"] != nil {
		t.Errorf("%v", n)
	}
	c.audit()
}

// A node is rebuilt with the config drive that it has, or with another.
func TestRebuild(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	for _, r := range []struct{ from, version, body, drive string }{
		{"active", "1.1", `{"target": "rebuild"}`, "old"},
		{"deploy failed", "1.35", `{"target": "rebuild", "configdrive": "bmV3"}`, "bmV3"},
		{"error", "1.115", `{"target": "rebuild", "configdrive": {}}`, "old"},
	} {
		id := c.enroll("root", `{"driver": "fake-hardware", "deploy_interface": "fake"}`)
		if got := c.ask("root", "1.115", "PATCH", "/v1/nodes/"+id, `[{"op": "add", "path": "/instance_info/configdrive", "value": "old"}]`); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.fault)
		}
		c.set(id, "provision_state", r.from)
		if got := c.ask("root", r.version, "PUT", "/v1/nodes/"+id+"/states/provision", r.body); got.status != 202 {
			t.Errorf("%s: %d %s", r.body, got.status, got.fault)
			continue
		}
		n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if n["provision_state"] != "deploying" || n["target_provision_state"] != "active" || n["instance_info"].(map[string]any)["configdrive"] != "******" {
			t.Errorf("%s: %v", r.from, n)
		}
		if op, err := c.operations().Get(t.Context(), c.db.Pool, c.holder(id)); err != nil || op.Kind != operations.NodeRebuild {
			t.Errorf("%+v, %v", op, err)
		}
		if drive := c.drive(id); drive != r.drive {
			t.Errorf("%s: the config drive is %q", r.body, drive)
		}
	}
	id := c.enroll("root", `{"driver": "fake-hardware", "deploy_interface": "fake"}`)
	c.set(id, "provision_state", "active")
	c.refuses("provision", refusal{id, "1.34", "root", `{"target": "rebuild", "configdrive": "bmV3"}`, 400, "Adding a config drive is only supported when setting provision state to active"})
}
