package baremetal_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// manageable enrolls a node that is manageable.
func (c *cloud) manageable(body string) string {
	c.t.Helper()
	id := c.enroll("root", body)
	c.set(id, "provision_state", "manageable")
	return id
}

func (c *cloud) verb(node, body string) answer {
	c.t.Helper()
	return c.ask("root", "1.115", "PUT", "/v1/nodes/"+node+"/states/provision", body)
}

// brief is what the workflow of a node's operation would read.
func (c *cloud) brief(node string) *steps.NodeBrief {
	c.t.Helper()
	b, err := baremetal.Brief(c.t.Context(), c.db.Pool, node)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// input is what the request of a node's operation has found.
func (c *cloud) input(node string) (input string) {
	c.t.Helper()
	err := c.db.Pool.QueryRow(c.t.Context(), `SELECT o.input::text FROM engine.operations o JOIN baremetal.nodes n ON n.operation_id = o.id WHERE n.uuid = $1`, node).Scan(&input)
	if err != nil {
		c.t.Fatal(err)
	}
	return input
}

// A node is provided by the steps that are due, or by none.
func TestProvide(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	for _, n := range []struct {
		body, input string
		steps       int
	}{
		{`{"driver": "fake-hardware", "deploy_interface": "fake", "vendor_interface": "fake", "automated_clean": true}`, `{}`, 1},
		{`{"driver": "fake-hardware", "deploy_interface": "fake", "vendor_interface": "fake"}`, `{}`, 0},
		{`{"driver": "redfish", "deploy_interface": "direct", "automated_clean": true}`, `{"ramdisk": true}`, 0},
		{`{"driver": "redfish", "deploy_interface": "direct", "automated_clean": false}`, `{}`, 0},
	} {
		id := c.manageable(n.body)
		if got := c.verb(id, `{"target": "provide"}`); got.status != 202 {
			t.Errorf("%s: %d %s", n.body, got.status, got.fault)
			continue
		}
		node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if node["provision_state"] != "cleaning" || node["target_provision_state"] != "available" || node["reservation"] != "conductor-1" {
			t.Errorf("%v", node)
		}
		if b := c.brief(id); len(b.Steps) != n.steps || b.Conductor != "conductor-1" || !strings.Contains(c.input(id), n.input) {
			t.Errorf("%s: %+v, %s", n.body, b, c.input(id))
		}
	}
	retired := c.manageable(`{"driver": "fake-hardware"}`)
	c.set(retired, "retired", true)
	if got := c.verb(retired, `{"target": "provide"}`); got.status != 400 || got.fault != fmt.Sprintf("The providing operation can't be performed on node %s because it is retired.", retired) {
		t.Errorf("%d %s", got.status, got.fault)
	}
}

func TestCleanIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	fake := c.manageable(`{"driver": "fake-hardware", "deploy_interface": "fake"}`)
	mended := c.manageable(`{"driver": "fake-hardware"}`)
	c.set(mended, "maintenance", true)
	bare := c.manageable(`{"driver": "redfish"}`)
	const reboot = `[{"interface": "power", "step": "reboot"}]`
	for _, r := range []struct{ node, version, body, fault string }{
		{fake, "1.115", `{"target": "clean"}`, `"clean_steps" is required when setting target provision state to clean`},
		{fake, "1.115", `{"target": "clean", "clean_steps": [5]}`, "Invalid clean_steps: 5 is not of type 'object'"},
		{fake, "1.115", `{"target": "clean", "clean_steps": [{"step": "x"}]}`, "Invalid clean_steps: 'interface' is a required property"},
		{fake, "1.115", `{"target": "clean", "clean_steps": [{"interface": "console", "step": "x"}]}`,
			"Invalid clean_steps: 'console' is not one of ['vendor', 'power', 'management', 'firmware', 'deploy', 'bios', 'raid']"},
		{fake, "1.115", `{"target": "clean", "clean_steps": [{"interface": "power", "step": ""}]}`, "Invalid clean_steps: '' should be non-empty"},
		{fake, "1.115", `{"target": "clean", "clean_steps": [{"interface": "power", "step": "x", "args": 5}]}`, "Invalid clean_steps: 5 is not of type 'object'"},
		{fake, "1.115", `{"target": "clean", "clean_steps": [{"interface": "power", "step": "x", "more": 5}]}`,
			"Invalid clean_steps: Additional properties are not allowed ('more' was unexpected)"},
		{fake, "1.115", `{"target": "clean", "clean_steps": [{"interface": "vendor", "step": "send_raw"}]}`,
			"clean step 'vendor.send_raw' is not allowed. Disallowed by operator configuration [api]disallow_clean_steps."},
		{fake, "1.69", `{"target": "clean", "disable_ramdisk": true, "clean_steps": ` + reboot + `}`, "disable_ramdisk is not acceptable in this API version"},
		{fake, "1.115", `{"target": "clean", "runbook": "none"}`, "Runbook none could not be found."},
		{mended, "1.115", `{"target": "clean", "clean_steps": ` + reboot + `}`,
			fmt.Sprintf("The cleaning operation can't be performed on node %s because it's in maintenance mode.", mended)},
		{bare, "1.115", `{"target": "clean", "clean_steps": ` + reboot + `}`,
			fmt.Sprintf("Validation of node %s for cleaning failed: Missing the following Redfish properties in node %s driver_info: ['redfish_address']", bare, bare)},
	} {
		got := c.ask("root", r.version, "PUT", "/v1/nodes/"+r.node+"/states/provision", r.body)
		if got.status < 400 || got.status >= 500 || got.fault != r.fault {
			t.Errorf("%s: %d %q", r.body, got.status, got.fault)
		}
		if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+r.node, "").body; node["provision_state"] != "manageable" || node["reservation"] != nil {
			t.Errorf("%s has changed %v", r.body, node)
		}
	}
}

// What a node doesn't have is found by the operation, and what it is given is in the
// row alone, masked.
func TestClean(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	const fake = `{"driver": "fake-hardware", "deploy_interface": "fake", "bios_interface": "fake", "vendor_interface": "fake"}`
	for steps, refused := range map[string]string{
		`[{"interface": "deploy", "step": "fly"}]`:                                           "node does not support this clean step: {'interface': 'deploy', 'step': 'fly'}",
		`[{"interface": "bios", "step": "apply_configuration"}]`:                             "is missing these required arguments: settings",
		`[{"interface": "bios", "step": "factory_reset", "args": {"a": 1}}]`:                 "has these unexpected arguments: a",
		`[{"interface": "power", "step": "hold"}, {"interface": "power", "step": "reboot"}]`: "",
	} {
		id := c.manageable(fake)
		if got := c.verb(id, `{"target": "clean", "clean_steps": `+steps+`}`); got.status != 202 {
			t.Errorf("%s: %d %s", steps, got.status, got.fault)
			continue
		}
		if input := c.input(id); !strings.Contains(input, refused) || refused == "" && input != "{}" {
			t.Errorf("%s: %s", steps, input)
		}
	}
	// What its interfaces don't have, its ramdisk may have.
	const direct = `{"driver": "redfish", "deploy_interface": "direct", "driver_info": {"redfish_address": "https://192.0.2.1"}}`
	for body, input := range map[string]string{
		`"clean_steps": [{"interface": "deploy", "step": "erase_devices", "args": {"a": 1}}, {"interface": "power", "step": "reboot"}]`:        `{"ramdisk": true}`,
		`"clean_steps": [{"interface": "power", "step": "reboot"}, {"interface": "power", "step": "hold"}]`:                                    `{}`,
		`"disable_ramdisk": true, "clean_steps": [{"interface": "deploy", "step": "erase_devices"}, {"interface": "power", "step": "reboot"}]`: "node does not support this clean step",
	} {
		id := c.manageable(direct)
		if got := c.verb(id, `{"target": "clean", `+body+`}`); got.status != 202 || !strings.Contains(c.input(id), input) {
			t.Errorf("%s: %d %s, %s", body, got.status, got.fault, c.input(id))
		}
		if b := c.brief(id); (len(b.Steps) != 2) != strings.Contains(body, "disable") || b.StepsBegun {
			t.Errorf("%s: %+v", body, b)
		}
	}
	id := c.manageable(fake)
	if got := c.verb(id, `{"target": "clean", "disable_ramdisk": false, "clean_steps": [
		{"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"name": "x", "password": "s3cret"}]}},
		{"interface": "power", "step": "wait", "args": {"seconds": "7"}}, {"interface": "power", "step": "hold"}]}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if node["provision_state"] != "cleaning" || node["target_provision_state"] != "manageable" {
		t.Errorf("%v", node)
	}
	if b := c.brief(id); len(b.Steps) != 3 || b.Steps[1].Seconds != 7 {
		t.Errorf("%+v", b.Steps)
	}
	n, err := baremetal.Nodes.Find(t.Context(), c.db.Pool, id, false)
	if err != nil {
		t.Fatal(err)
	}
	if known, err := nodes.Known(c.box, n); err != nil || !strings.Contains(fmt.Sprint(known), "s3cret") {
		t.Errorf("what is known of the node is %v, %v", known, err)
	}
	if shown := fmt.Sprint(node) + string(n.DriverInternalInfo) + c.input(id); strings.Contains(shown, "s3cret") || !strings.Contains(shown, "password:******") {
		t.Errorf("the secret of a step can be read: %s", shown)
	}
	// While it is held nobody is at work on it, and what would change it is refused.
	hold := 2
	computetest.InTx(t, c.db, func(tx store.Tx) error {
		return baremetal.Move(t.Context(), tx, id, steps.NodeMove{State: "clean hold", StepIndex: &hold})
	})
	node = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if node["provision_state"] != "clean hold" || node["target_provision_state"] != "manageable" || node["reservation"] != nil ||
		node["clean_step"].(map[string]any)["step"] != "hold" {
		t.Errorf("%v", node)
	}
	if got := c.ask("root", "1.115", "PUT", "/v1/nodes/"+id+"/maintenance", `{}`); got.status != 202 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if got := c.ask("root", "1.115", "DELETE", "/v1/nodes/"+id, ""); got.status != 409 ||
		got.fault != "Node "+id+" is locked by host conductor-1, please retry after the current operation is completed." {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if got := c.ask("root", "1.84", "PUT", "/v1/nodes/"+id+"/states/provision", `{"target": "unhold"}`); got.status != 406 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if got := c.verb(id, `{"target": "unhold"}`); got.status != 202 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if b := c.brief(id); b.ProvisionState != "clean wait" || b.StepIndex != 2 {
		t.Errorf("%+v", b)
	}
	// Abort is a cancel, which the operation's end shows.
	if got := c.verb(id, `{"target": "abort"}`); got.status != 202 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	node = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if node["provision_state"] != "clean failed" || node["target_provision_state"] != "manageable" || node["last_error"] == nil {
		t.Errorf("%v", node)
	}
	again := c.manageable(fake)
	if got := c.verb(again, `{"target": "clean", "clean_steps": [{"interface": "power", "step": "reboot"}]}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	c.finish(again, operations.ResultFailed, steps.NodeOutcome{Failed: true, Fault: "clean failure"}, &steps.Fault{Code: "Bad", Message: "it burns"})
	node = c.ask("root", "1.115", "GET", "/v1/nodes/"+again, "").body
	if node["provision_state"] != "clean failed" || node["fault"] != "clean failure" || node["maintenance"] != true || node["maintenance_reason"] != "it burns" ||
		len(node["clean_step"].(map[string]any)) != 0 || len(node["driver_internal_info"].(map[string]any)) != 0 {
		t.Errorf("%v", node)
	}
}

// A mask that is given to a step is none of the secrets of the cleaning before.
func TestCleanForgetsItsSecrets(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.manageable(`{"driver": "fake-hardware", "deploy_interface": "fake", "bios_interface": "fake"}`)
	for _, password := range []string{"s3cret", "******"} {
		c.set(id, "provision_state", "manageable")
		if got := c.verb(id, `{"target": "clean", "clean_steps": [{"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"password": "`+password+`"}]}}]}`); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.fault)
		}
		n, err := baremetal.Nodes.Find(t.Context(), c.db.Pool, id, false)
		if err != nil {
			t.Fatal(err)
		}
		if known, err := nodes.Known(c.box, n); err != nil || !strings.Contains(fmt.Sprint(known), "password:"+password) {
			t.Errorf("what is known of the node is %v, %v", known, err)
		}
		c.finish(id, operations.ResultFailed, steps.NodeOutcome{Failed: true}, &steps.Fault{Code: "Bad", Message: "it burns"})
	}
}
