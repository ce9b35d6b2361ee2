package baremetal_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

func TestVerbsAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n1"}`)
	far := c.enroll("root", `{"driver": "fake-hardware", "name": "far", "conductor_group": "elsewhere"}`)
	busy := c.enroll("root", `{"driver": "fake-hardware", "name": "busy"}`)
	c.set(busy, "reservation", "conductor-9")
	working := c.enroll("root", `{"driver": "fake-hardware", "name": "working"}`)
	c.set(working, "reservation", "conductor-9")
	c.set(working, "provision_state", "verifying")
	waiting := c.enroll("root", `{"driver": "fake-hardware", "name": "waiting"}`)
	c.set(waiting, "provision_state", "inspect wait")
	mended := c.enroll("root", `{"driver": "fake-hardware", "name": "mended"}`)
	c.set(mended, "provision_state", "active")
	c.set(mended, "maintenance", true)
	locked := func(node string) string {
		return fmt.Sprintf("Node %s is locked by host conductor-9, please retry after the current operation is completed.", node)
	}
	c.refuses("provision",
		refusal{"n1", "1.115", "root", `{}`, 400, "Missing mandatory parameter: target"},
		refusal{"n1", "1.115", "root", `{"target": 5}`, 400, "Expected string for target: 5"},
		refusal{"n1", "1.115", "root", `{"target": "manage", "x": 1}`, 400, "Unexpected arguments: x"},
		refusal{"n1", "1.115", "root", `{"target": "manage", "clean_steps": "all"}`, 400, "Expected types <class 'NoneType'>, <class 'list'> for clean_steps: all"},
		refusal{"n1", "1.115", "root", `{"target": "manage", "configdrive": 5}`, 400, "Expected types <class 'NoneType'>, <class 'dict'>, <class 'str'> for configdrive: 5"},
		refusal{"n1", "1.115", "root", `{"target": "manage", "disable_ramdisk": "perhaps"}`, 400, ""},
		refusal{"n1", "1.115", "root", `{"target": "manage", "disable_ramdisk": true}`, 400, "disable_ramdisk is supported only with manual cleaning or servicing"},
		refusal{"n1", "1.115", "root", `{"target": "manage", "clean_steps": [{"interface": "power", "step": "reboot"}]}`, 400,
			`"clean_steps" is only valid when setting target provision state to clean`},
		refusal{"n1", "1.68", "root", `{"target": "manage", "deploy_steps": [{}]}`, 406, "Request not acceptable. The minimal required API version should be 1.69"},
		refusal{"n1", "1.115", "root", `{"target": "manage", "deploy_steps": [{}]}`, 400, `"deploy_steps" is only valid when setting target provision state to active or rebuild`},
		refusal{"n1", "1.115", "root", `{"target": "manage", "rescue_password": "x"}`, 400, `"rescue_password" is only valid when setting target provision state to rescue`},
		refusal{"n1", "1.115", "root", `{"target": "manage", "service_steps": [{}]}`, 400, `"service_steps" is only valid when setting target provision state to service`},
		refusal{id, "1.3", "root", `{"target": "manage"}`, 406, "Request not acceptable."},
		refusal{"n1", "1.115", "root", `{"target": "provide"}`, 400,
			fmt.Sprintf(`The requested action "provide" can not be performed on node "%s" while it is in state "enroll".`, id)},
		refusal{"n1", "1.115", "root", `{"target": "fly"}`, 400,
			fmt.Sprintf(`The requested action "fly" can not be performed on node "%s" while it is in state "enroll".`, id)},
		refusal{"working", "1.115", "root", `{"target": "manage"}`, 409, locked(working)},
		refusal{"busy", "1.115", "root", `{"target": "manage"}`, 409, locked(busy)},
		refusal{"waiting", "1.40", "root", `{"target": "abort"}`, 406, "Request not acceptable."},
		refusal{"mended", "1.115", "root", `{"target": "rebuild"}`, 400,
			fmt.Sprintf("The provisioning operation can't be performed on node %s because it's in maintenance mode.", mended)},
		refusal{"far", "1.115", "root", `{"target": "manage"}`, 404, `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "elsewhere".`},
		refusal{"n1", "1.115", "bob", `{"target": "manage"}`, 404, "Node n1 could not be found."},
		refusal{"n1", "1.115", "viewer", `{"target": "manage"}`, 403, "Access was denied to the following resource: baremetal:node:set_provision_state"},
		refusal{"nobody", "1.115", "root", `{"target": "manage"}`, 404, "Node nobody could not be found."},
	)
	for _, node := range []string{id, far} {
		if got := c.ask("root", "1.115", "GET", "/v1/nodes/"+node, "").body; got["provision_state"] != "enroll" || got["reservation"] != nil {
			t.Errorf("a refusal has changed %v", got)
		}
	}
}

// A node that is verified is shown to be, and where it came to, and why.
func TestManage(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n1"}`)
	c.set(id, "last_error", "it was broken")
	manage := func() {
		t.Helper()
		got := c.ask("root", "1.4", "PUT", "/v1/nodes/"+id+"/states/provision", `{"target": "manage"}`)
		if got.status != 202 || got.body != nil || got.header.Get("Location") != "http://localhost/v1/nodes/"+id+"/states" {
			t.Errorf("%d %v %v", got.status, got.body, got.header)
		}
	}
	manage()
	node := c.ask("root", "1.115", "GET", "/v1/nodes/n1", "").body
	if node["provision_state"] != "verifying" || node["target_provision_state"] != "manageable" || node["last_error"] != nil ||
		node["reservation"] != "conductor-1" || node["provision_updated_at"] == nil {
		t.Errorf("%v", node)
	}
	c.finish(id, operations.ResultFailed, steps.NodeOutcome{Failed: true}, &steps.Fault{Code: "Bad", Message: "nobody is there"})
	node = c.ask("root", "1.115", "GET", "/v1/nodes/n1", "").body
	if node["provision_state"] != "enroll" || node["target_provision_state"] != nil || node["last_error"] != "nobody is there" || node["reservation"] != nil {
		t.Errorf("%v", node)
	}
	events, _ := c.ask("root", "1.115", "GET", "/v1/nodes/n1/history?detail=true", "").body["history"].([]any)
	if len(events) != 1 || events[0].(map[string]any)["event_type"] != "verify" || events[0].(map[string]any)["state"] != "verifying" {
		t.Errorf("%v", events)
	}
	manage()
	on, mode := "power on", "uefi"
	c.finish(id, operations.ResultDone, steps.NodeOutcome{State: "manageable", PowerState: &on, BootMode: &mode}, nil, steps.NodeMove{State: "verifying"})
	node = c.ask("root", "1.115", "GET", "/v1/nodes/n1", "").body
	if node["provision_state"] != "manageable" || node["target_provision_state"] != nil || node["power_state"] != "power on" || node["boot_mode"] != "uefi" ||
		node["last_error"] != nil || node["reservation"] != nil {
		t.Errorf("%v", node)
	}
	c.audit()
}

// From where nothing has to be looked at, manage is a word.
func TestManageOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, from := range []string{"available", "clean failed", "inspect failed", "adopt failed"} {
		id := c.enroll("root", `{"driver": "fake-hardware"}`)
		c.set(id, "provision_state", from)
		c.set(id, "last_error", "why")
		if got := c.ask("root", "1.115", "PUT", "/v1/nodes/"+id+"/states/provision", `{"target": "manage"}`); got.status != 202 {
			t.Errorf("%s: %d %s", from, got.status, got.fault)
		}
		node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if node["provision_state"] != "manageable" || node["target_provision_state"] != nil || node["last_error"] != "why" {
			t.Errorf("%s: %v", from, node)
		}
	}
}
