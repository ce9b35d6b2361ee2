package baremetal_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// active enrolls a node that has an instance.
func (c *cloud) active(body string) string {
	c.t.Helper()
	id := c.enroll("root", body)
	c.set(id, "provision_state", "active")
	return id
}

func TestServiceIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	fake := c.active(`{"driver": "fake-hardware", "deploy_interface": "fake"}`)
	mended := c.active(`{"driver": "fake-hardware"}`)
	c.set(mended, "maintenance", true)
	bare := c.active(`{"driver": "redfish"}`)
	const reboot = `[{"interface": "power", "step": "reboot"}]`
	for _, r := range []struct{ node, version, body, fault string }{
		{fake, "1.115", `{"target": "service"}`, `"service_steps" is required when setting target provision state to service`},
		{fake, "1.86", `{"target": "service", "service_steps": ` + reboot + `}`, "Request not acceptable."},
		{fake, "1.107", `{"target": "service", "disable_ramdisk": true, "service_steps": ` + reboot + `}`, "disable_ramdisk is not acceptable in this API version"},
		{fake, "1.115", `{"target": "service", "clean_steps": ` + reboot + `}`, `"clean_steps" is only valid when setting target provision state to clean`},
		{fake, "1.115", `{"target": "service", "service_steps": [5]}`, "Invalid service_steps: 5 is not of type 'object'"},
		{fake, "1.115", `{"target": "service", "service_steps": [{"step": "x"}]}`, "Invalid service_steps: 'interface' is a required property"},
		{fake, "1.115", `{"target": "service", "service_steps": [{"interface": "network", "step": "x"}]}`,
			"Invalid service_steps: 'network' is not one of ['vendor', 'power', 'management', 'firmware', 'deploy', 'bios', 'raid']"},
		{fake, "1.115", `{"target": "service", "service_steps": [{"interface": "vendor", "step": "send_raw"}]}`,
			"service step 'vendor.send_raw' is not allowed. Disallowed by operator configuration [api]disallow_service_steps."},
		{fake, "1.115", `{"target": "service", "runbook": "none"}`, "Runbook none could not be found."},
		{fake, "1.115", `{"target": "unhold"}`, fmt.Sprintf(`The requested action "unhold" can not be performed on node "%s" while it is in state "active".`, fake)},
		{mended, "1.115", `{"target": "service", "service_steps": ` + reboot + `}`,
			fmt.Sprintf("The service operation can't be performed on node %s because it's in maintenance mode.", mended)},
		{bare, "1.115", `{"target": "service", "service_steps": ` + reboot + `}`,
			fmt.Sprintf("Validation of node %s for servicing failed: Missing the following Redfish properties in node %s driver_info: ['redfish_address']", bare, bare)},
	} {
		got := c.ask("root", r.version, "PUT", "/v1/nodes/"+r.node+"/states/provision", r.body)
		if got.status < 400 || got.status >= 500 || got.fault != r.fault {
			t.Errorf("%s: %d %q", r.body, got.status, got.fault)
		}
		if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+r.node, "").body; node["provision_state"] != "active" || node["reservation"] != nil {
			t.Errorf("%s has changed %v", r.body, node)
		}
	}
}

// What a node doesn't have is found by the operation, and what its interfaces don't have,
// its ramdisk may have.
func TestService(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	const fake = `{"driver": "fake-hardware", "deploy_interface": "fake", "vendor_interface": "fake"}`
	const direct = `{"driver": "redfish", "deploy_interface": "direct", "driver_info": {"redfish_address": "https://192.0.2.1"}}`
	for _, s := range []struct{ node, body, input string }{
		{fake, `"service_steps": [{"interface": "deploy", "step": "fly"}]`, "node does not support this service step: {'interface': 'deploy', 'step': 'fly'}"},
		{fake, `"service_steps": [{"interface": "vendor", "step": "log_passthrough"}]`, `{}`},
		{direct, `"service_steps": [{"interface": "deploy", "step": "burnin_cpu"}, {"interface": "power", "step": "hold"}]`, `{"ramdisk": true}`},
		{direct, `"disable_ramdisk": true, "service_steps": [{"interface": "deploy", "step": "burnin_cpu"}]`, "Cannot service node "},
	} {
		id := c.active(s.node)
		if got := c.verb(id, `{"target": "service", `+s.body+`}`); got.status != 202 || !strings.Contains(c.input(id), s.input) {
			t.Errorf("%s: %d %s, %s", s.body, got.status, got.fault, c.input(id))
		}
		n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if n["provision_state"] != "servicing" || n["target_provision_state"] != "active" || n["reservation"] != "conductor-1" {
			t.Errorf("%v", n)
		}
	}
}

// serviced is a node that a step of its service holds.
func (c *cloud) serviced() string {
	c.t.Helper()
	id := c.active(`{"driver": "fake-hardware", "deploy_interface": "fake", "vendor_interface": "fake", "automated_clean": true}`)
	if got := c.verb(id, `{"target": "service", "service_steps": [{"interface": "vendor", "step": "log_passthrough"}, {"interface": "power", "step": "hold"}]}`); got.status != 202 {
		c.t.Fatalf("%d %s", got.status, got.fault)
	}
	hold := 1
	computetest.InTx(c.t, c.db, func(tx store.Tx) error {
		if _, err := c.operations().Begin(c.t.Context(), tx, steps.BeginIn{OperationID: c.holder(id), RunID: "run"}); err != nil {
			return err
		}
		return baremetal.Move(c.t.Context(), tx, id, steps.NodeMove{State: "service hold", StepIndex: &hold})
	})
	return id
}

// A service that holds shows the step, and is let go, or gives way to another.
func TestServiceHolds(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.serviced()
	n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if n["provision_state"] != "service hold" || n["target_provision_state"] != "active" || n["reservation"] != nil || n["service_step"].(map[string]any)["step"] != "hold" ||
		len(n["clean_step"].(map[string]any)) != 0 {
		t.Errorf("%v", n)
	}
	if b := c.brief(id); len(b.Steps) != 2 || b.StepIndex != 1 || !b.StepsBegun || b.Awaited {
		t.Errorf("%+v", b)
	}
	if got := c.ask("root", "1.84", "PUT", "/v1/nodes/"+id+"/states/provision", `{"target": "unhold"}`); got.status != 406 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if got := c.verb(id, `{"target": "deleted"}`); got.status != 400 {
		t.Errorf("a node that is held is undeployed: %d %s", got.status, got.fault)
	}
	other := c.serviced()
	first := c.holder(other)
	if got := c.verb(other, `{"target": "service", "service_steps": [{"interface": "power", "step": "reboot"}]}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	if b := c.brief(other); b.ProvisionState != "servicing" || len(b.Steps) != 1 || b.StepsBegun || !b.Awaited {
		t.Errorf("%+v", b)
	}
	c.finish(other, operations.ResultCancelled, steps.NodeOutcome{Failed: true, Aborted: true}, &steps.Fault{Code: "Cancelled", Message: "By request"})
	if b := c.brief(other); c.holder(other) == first || b.ProvisionState != "servicing" || len(b.Steps) != 1 || b.Awaited {
		t.Errorf("%+v", b)
	}
	if got := c.verb(id, `{"target": "unhold"}`); got.status != 202 || c.brief(id).ProvisionState != "service wait" {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if got := c.verb(id, `{"target": "abort"}`); got.status != 202 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	c.finish(id, operations.ResultCancelled, steps.NodeOutcome{Failed: true, Aborted: true}, &steps.Fault{Code: "Cancelled", Message: "By request, the service operation was aborted"})
	n = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if n["provision_state"] != "active" || n["target_provision_state"] != nil || n["last_error"] != "By request, the service operation was aborted" ||
		len(n["service_step"].(map[string]any)) != 0 || len(n["driver_internal_info"].(map[string]any)) != 0 {
		t.Errorf("%v", n)
	}
}

// An instance is taken away while the ramdisk beside it is waited for.
func TestUndeployOfOneInService(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.serviced()
	if got := c.verb(id, `{"target": "unhold"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	first := c.holder(id)
	if got := c.verb(id, `{"target": "deleted"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	c.finish(id, operations.ResultCancelled, steps.NodeOutcome{Failed: true, Aborted: true}, &steps.Fault{Code: "Cancelled", Message: "By request"}, steps.NodeMove{State: "servicing"})
	n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if n["provision_state"] != "deleting" || n["last_error"] != nil || c.holder(id) == first {
		t.Errorf("%v", n)
	}
	if b := c.brief(id); len(b.Steps) != 1 || b.StepsBegun {
		t.Errorf("it is cleaned by %+v", b)
	}
}

// A service that has failed is left by abort, once somebody has looked at the node.
func TestServiceThatFailed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.serviced()
	c.finish(id, operations.ResultFailed, steps.NodeOutcome{Failed: true, Fault: "service failure"}, &steps.Fault{Code: "Bad", Message: "it burns"})
	n := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if n["provision_state"] != "service failed" || n["target_provision_state"] != "active" || n["fault"] != "service failure" || n["maintenance"] != true ||
		n["maintenance_reason"] != "it burns" {
		t.Errorf("%v", n)
	}
	if got := c.verb(id, `{"target": "abort"}`); got.status != 409 || got.fault != fmt.Sprintf(`Can not abort service on node "%s" while it is in maintenance mode. `+
		"Please remove the node from maintenance prior to issuing the request to abort the service operation.", id) {
		t.Errorf("%d %s", got.status, got.fault)
	}
	c.set(id, "maintenance", false)
	if got := c.verb(id, `{"target": "abort"}`); got.status != 202 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	n = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if n["provision_state"] != "active" || n["target_provision_state"] != nil || n["last_error"] != "By request, the service operation was aborted" {
		t.Errorf("%v", n)
	}
	c.audit()
}
