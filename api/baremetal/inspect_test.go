package baremetal_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// finds has the operation that has a node find something.
func (c *cloud) finds(node string, f inspection.Found) {
	c.t.Helper()
	computetest.InTx(c.t, c.db, func(tx store.Tx) error { return baremetal.KeepFindings(c.t.Context(), tx, node, f) })
}

// redfishNode is the body of a node whose BMC could be asked.
const redfishNode = `{"driver": "redfish", "driver_info": {"redfish_address": "https://bmc.example", "redfish_system_id": "/redfish/v1/Systems/1"}}`

func TestInspectIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	bare := c.manageable(`{"driver": "redfish"}`)
	without := c.manageable(`{"driver": "ipmi", "driver_info": {"ipmi_address": "192.0.2.1"}}`)
	blind := c.manageable(`{"driver": "redfish", "inspect_interface": "no-inspect", "driver_info": {"redfish_address": "https://bmc.example", "redfish_system_id": "/redfish/v1/Systems/1"}}`)
	ready := c.enroll("root", redfishNode)
	c.refuses("provision",
		refusal{bare, "1.115", "root", `{"target": "inspect"}`, 400, fmt.Sprintf("Missing the following Redfish properties in node %s driver_info: ['redfish_address']", bare)},
		refusal{without, "1.115", "root", `{"target": "inspect"}`, 400, "Driver ipmi does not support inspect (disabled or not implemented)."},
		refusal{blind, "1.115", "root", `{"target": "inspect"}`, 400, "Driver redfish does not support inspect (disabled or not implemented)."},
		refusal{bare, "1.5", "root", `{"target": "inspect"}`, 406, ""},
		refusal{ready, "1.115", "root", `{"target": "inspect"}`, 400, fmt.Sprintf(`The requested action "inspect" can not be performed on node "%s" while it is in state "enroll".`, ready)},
	)
	for _, id := range []string{bare, without, blind} {
		if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; node["provision_state"] != "manageable" || node["inspection_started_at"] != nil {
			t.Errorf("%v", node)
		}
	}
}

// What was found becomes the node's with the end of the operation, and not before; of
// what fails nothing is kept.
func TestInspect(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.manageable(redfishNode)
	c.set(id, "properties", `{"memory_mb": 1, "mine": true}`)
	other := c.enroll("root", `{"driver": "fake-hardware"}`)
	for node, address := range map[string]string{other: "aa:00:00:00:00:01", id: "aa:00:00:00:00:02"} {
		if got := c.ask("root", "1.115", "POST", "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": %q}`, node, address)); got.status != 201 {
			t.Fatal(got)
		}
	}
	found := inspection.Found{Properties: map[string]any{"memory_mb": 2048, "local_gb": 9}, Plugin: map[string]any{"logs": "long"}, Inventory: map[string]any{
		"cpu": map[string]any{"architecture": "x86_64"}, "interfaces": []any{map[string]any{"name": "a", "mac_address": "aa:00:00:00:00:01"},
			map[string]any{"name": "b", "mac_address": "aa:00:00:00:00:02"}, map[string]any{"name": "c", "mac_address": "aa:00:00:00:00:03"}}}}
	ports := func() int {
		list, _ := c.ask("root", "1.115", "GET", "/v1/ports?node="+id, "").body["ports"].([]any)
		return len(list)
	}
	begin := func() {
		t.Helper()
		if got := c.verb(id, `{"target": "inspect"}`); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.fault)
		}
	}
	begin()
	node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if node["provision_state"] != "inspecting" || node["target_provision_state"] != "manageable" || node["inspection_started_at"] == nil || node["reservation"] != "conductor-1" {
		t.Errorf("%v", node)
	}
	if b := c.brief(id); b.Found || b.InspectInterface != "redfish" {
		t.Errorf("%+v", b)
	}
	c.finds(id, found)
	if !c.brief(id).Found {
		t.Error("what was found isn't known")
	}
	c.finish(id, operations.ResultFailed, steps.NodeOutcome{Failed: true}, &steps.Fault{Code: "Bad", Message: "it burns"})
	node = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if node["provision_state"] != "inspect failed" || node["target_provision_state"] != "manageable" || node["last_error"] != "it burns" || node["inspection_started_at"] != nil ||
		node["inspection_finished_at"] != nil || node["properties"].(map[string]any)["memory_mb"] != 1.0 || ports() != 1 {
		t.Errorf("%v, %d ports", node, ports())
	}
	if got := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/inventory", ""); got.status != 404 {
		t.Errorf("%d %v", got.status, got.body)
	}
	history, _ := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/history?detail=true", "").body["history"].([]any)
	if len(history) != 1 || history[0].(map[string]any)["event_type"] != "introspection" {
		t.Errorf("%v", history)
	}
	begin()
	c.finds(id, found)
	c.finish(id, operations.ResultDone, steps.NodeOutcome{State: "manageable", Found: true}, nil)
	node = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	properties := node["properties"].(map[string]any)
	if node["provision_state"] != "manageable" || node["target_provision_state"] != nil || node["last_error"] != nil || node["inspection_finished_at"] == nil ||
		node["inspection_started_at"] != nil || properties["memory_mb"] != 2048.0 || properties["cpu_arch"] != "x86_64" || properties["mine"] != true || ports() != 2 {
		t.Errorf("%v, %d ports", node, ports())
	}
	kept := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/inventory", "").body
	if kept["inventory"].(map[string]any)["cpu"] == nil || len(kept["plugin_data"].(map[string]any)) != 0 {
		t.Errorf("%v", kept)
	}
	c.audit()
}
