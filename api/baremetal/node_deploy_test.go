package baremetal_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// What a deployment is given is checked before it is accepted, in the original's
// words; what is refused changes nothing.
func TestDeployments(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "redfish", "name": "n", "boot_interface": "redfish-virtual-media", "deploy_interface": "direct", "bios_interface": "redfish",
		"driver_info": {"redfish_address": "https://192.0.2.1", "redfish_system_id": "/redfish/v1/Systems/1"}}`)
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'available' WHERE uuid = $1`, id)
	wrong := func(text string) string {
		return fmt.Sprintf("Failed to validate deploy or power info for node %s: %s", id, text)
	}
	ask := func(version, body string, status int, fault string) step {
		return step{"root", version, "PUT", "/v1/nodes/n/states/provision", body, status, fault}
	}
	image := func(info string) step {
		return step{"root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "replace", "path": "/instance_info", "value": ` + info + `}]`, 200, ""}
	}
	sum := strings.Repeat("ab", 32)
	c.play(
		ask("1.115", `{"target": "active"}`, 400, wrong(fmt.Sprintf("Node %s failed to validate deploy image info. Some parameters were missing. Missing are: ['instance_info.image_source']", id))),
		image(`{"image_source": "http://192.0.2.9/i.raw"}`),
		ask("1.115", `{"target": "active"}`, 400, wrong(fmt.Sprintf(`image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" must be provided in instance_info for node %s`, id))),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_os_hash_algo": "sha256"}`),
		ask("1.115", `{"target": "active"}`, 400, wrong(fmt.Sprintf(`image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" must be provided in instance_info for node %s`, id))),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+sum+`", "image_type": "moon"}`),
		ask("1.115", `{"target": "active"}`, 400, wrong(`Invalid image_type "moon", valid are partition, whole-disk`)),
		image(`{"image_source": "file:///etc/passwd", "image_checksum": "`+sum+`"}`),
		ask("1.115", `{"target": "active"}`, 400, wrong("Validation of image href file:///etc/passwd failed, reason: this release reads images of Glance and those that http and https URLs name")),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+sum+`", "kernel": "http://192.0.2.9/k"}`),
		ask("1.115", `{"target": "active"}`, 400, wrong("Some parameters were missing in node's instance_info. Missing are: ['root_gb']")),
		image(`{"image_source": "glance://moon"}`),
		ask("1.115", `{"target": "active"}`, 400, wrong("Invalid image href glance://moon.")),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+sum+`", "traits": {"CUSTOM_T": true}}`),
		ask("1.115", `{"target": "active"}`, 400, wrong(fmt.Sprintf("Error parsing traits from Node %s instance_info field. A list of strings is expected.", id))),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+sum+`", "traits": ["CUSTOM_T"]}`),
		ask("1.115", `{"target": "active"}`, 400, wrong(fmt.Sprintf("Cannot specify instance traits that are not also set on the node. Node %s is missing traits CUSTOM_T", id))),
		step{"root", "1.115", "PUT", "/v1/nodes/n/traits", `{"traits": ["CUSTOM_T"]}`, 204, ""},
		step{"root", "1.115", "POST", "/v1/deploy_templates", `{"name": "CUSTOM_T", "steps": [{"interface": "bios", "step": "apply_configuration", "args": {}, "priority": 150}]}`, 201, ""},
		ask("1.115", `{"target": "active"}`, 400, wrong("Validation of deploy steps from deploy templates matching this node's instance traits failed. Matching deploy templates: CUSTOM_T. "+
			"Errors: deploy step {'interface': 'bios', 'step': 'apply_configuration'} is missing these required arguments: settings")),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+sum+`"}`),
		ask("1.115", `{"target": "manage", "configdrive": "x"}`, 400, "Adding a config drive is only supported when setting provision state to active, rebuild"),
		ask("1.115", `{"target": "active", "configdrive": "{not base64"}`, 400, "Invalid configdrive format: it is neither a JSON, nor a URL, nor a base64 string"),
		ask("1.115", `{"target": "active", "configdrive": {"moon": 1}}`, 400, "Invalid configdrive format"),
		ask("1.115", `{"target": "active", "configdrive": {"meta_data": 1}}`, 400, "Invalid configdrive format"),
		ask("1.55", `{"target": "active", "configdrive": {"meta_data": {}}}`, 400, "Providing a JSON object for configdrive is only supported starting with API version 1.56"),
		ask("1.58", `{"target": "active", "configdrive": {"vendor_data": {}}}`, 400, "Providing vendor_data in configdrive is only supported starting with API version 1.59"),
		ask("1.115", `{"target": "active", "configdrive": 7}`, 400, "Expected types"),
	)
	if n := c.ask("root", "1.115", "GET", "/v1/nodes/n", "").body; n["provision_state"] != "available" || n["last_error"] != nil || n["reservation"] != nil || fmt.Sprint(n["instance_info"]) != "map[image_checksum:"+sum+" image_source:http://192.0.2.9/i.raw]" {
		t.Errorf("what was refused has changed the node: %v", n)
	}
	c.play(ask("1.115", `{"target": "active", "configdrive": {"meta_data": {"hostname": "a-secret"}}}`, 202, ""))
	n := c.ask("root", "1.115", "GET", "/v1/nodes/n", "").body
	if n["provision_state"] != "deploying" || n["target_provision_state"] != "active" || n["reservation"] != "conductor-1" || n["instance_info"].(map[string]any)["configdrive"] != "******" {
		t.Errorf("%v", n)
	}
	var row string
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT n::text FROM baremetal.nodes n WHERE uuid = $1`, id).Scan(&row); err != nil || strings.Contains(row, "a-secret") {
		t.Errorf("%v: the config drive is in the row", err)
	}
	c.play(ask("1.115", `{"target": "active"}`, 409, fmt.Sprintf("Node %s is locked by host conductor-1, please retry after the current operation is completed.", id)))
}

// deployable has a node that can be deployed.
func (c *cloud) deployable(name string) string {
	c.t.Helper()
	id := c.enroll("root", `{"driver": "redfish", "name": "`+name+`", "boot_interface": "redfish-virtual-media", "deploy_interface": "direct", "bios_interface": "redfish",
		"driver_info": {"redfish_address": "https://192.0.2.1", "redfish_system_id": "/redfish/v1/Systems/1"},
		"instance_info": {"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+strings.Repeat("ab", 32)+`"}}`)
	c.set(id, "provision_state", "available")
	return id
}

// An image of Glance is one that the caller sees, active, and for which the node has what it needs.
func TestImagesOfGlance(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.deployable("n")
	const image = "11111111-2222-4333-8444-555555555501"
	c.play(step{"root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "replace", "path": "/instance_info", "value": {"image_source": "glance://` + image + `"}}]`, 200, ""})
	for _, r := range []struct {
		seen  map[string]*openstack.Image
		fault string
	}{
		{nil, "Image " + image + " can not be found."},
		{map[string]*openstack.Image{"bob " + image: {Status: "active"}}, "Image " + image + " can not be found."},
		{map[string]*openstack.Image{"root " + image: {Status: "queued"}}, "Image " + image + " is unacceptable: The image is required to be in an active state."},
		{map[string]*openstack.Image{"root " + image: {Status: "active", Properties: map[string]string{"img_type": "partition"}}}, "Some parameters were missing in node's instance_info. Missing are: ['root_gb']"},
		{map[string]*openstack.Image{"root " + image: {Status: "active", Properties: map[string]string{"kernel_id": image}}}, "Some parameters were missing in node's instance_info. Missing are: ['root_gb']"},
	} {
		clear(c.images)
		maps.Copy(c.images, r.seen)
		if got := c.verb(id, `{"target": "active"}`); got.status != 400 || got.fault != fmt.Sprintf("Failed to validate deploy or power info for node %s: %s", id, r.fault) {
			t.Errorf("%v: %d %q", r.seen, got.status, got.fault)
		}
	}
	c.images["root "+image] = &openstack.Image{Status: "active", SizeBytes: 2 << 30, Properties: map[string]string{"img_type": "whole-disk", "kernel_id": image, "disk_format": "qcow2"}}
	c.play(step{"root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/properties/memory_mb", "value": "1024"}]`, 200, ""})
	if got := c.verb(id, `{"target": "active"}`); got.status != 400 || !strings.HasSuffix(got.fault, "Image size: 2048 MiB, Memory size: 1024 MiB, Reserved size: 0 MiB.") {
		t.Errorf("%d %q", got.status, got.fault)
	}
	c.images["root "+image].Properties["disk_format"] = "raw"
	if got := c.verb(id, `{"target": "active"}`); got.status != 202 {
		t.Errorf("%d %q", got.status, got.fault)
	}
}

// The steps that a request gives for a deployment are refused in the original's words.
func TestDeployStepsAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.deployable("n")
	fake := c.enroll("root", `{"driver": "fake-hardware", "deploy_interface": "fake"}`)
	c.set(fake, "provision_state", "available")
	malformed := func(text string) string { return "Invalid deploy_steps: " + text }
	argument := func(text string) string {
		return `Validation of deploy steps from "deploy steps" argument failed.` + text
	}
	for _, r := range []struct{ node, steps, fault string }{
		{id, `[5]`, malformed("5 is not of type 'object'")},
		{id, `[{"interface": "bios", "step": "factory_reset", "args": {}}]`, malformed("'priority' is a required property")},
		{id, `[{"interface": "bios", "step": "factory_reset", "priority": 5}]`, malformed("'args' is a required property")},
		{id, `[{"interface": "bios", "step": "factory_reset", "args": null, "priority": 5}]`, malformed("None is not of type 'object'")},
		{id, `[{"interface": "bios", "step": "factory_reset", "args": {}, "priority": -1}]`, malformed("-1 is not valid under any of the given schemas")},
		{id, `[{"interface": "bios", "step": "factory_reset", "args": {}, "priority": "high"}]`, malformed("'high' is not valid under any of the given schemas")},
		{id, `[{"interface": "bios", "step": "factory_reset", "args": {}, "priority": 1.5}]`, malformed("1.5 is not valid under any of the given schemas")},
		{id, `[{"interface": "bios", "step": "factory_reset", "args": {}, "priority": 99999999999}]`, malformed("99999999999 is not valid under any of the given schemas")},
		{id, `[{"interface": "bios", "step": "factory_reset", "args": {}, "priority": 5, "order": 1}]`, malformed("Additional properties are not allowed ('order' was unexpected)")},
		{id, `[{"interface": "vendor", "step": "send_raw", "args": {}, "priority": 5}]`, "deploy step 'vendor.send_raw' is not allowed. Disallowed by operator configuration [api]disallow_deploy_steps."},
		{id, `[{"interface": "bios", "step": "apply_configuration", "args": {}, "priority": 5}]`,
			argument("deploy step {'interface': 'bios', 'step': 'apply_configuration'} is missing these required arguments: settings")},
		{id, `[{"interface": "deploy", "step": "deploy", "args": {}, "priority": 5}]`,
			argument("deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0")},
		{id, `[{"interface": "deploy", "step": "write_image", "args": {}, "priority": 10}]`, "deploy step deploy.write_image with priority 10 would be done while the ramdisk does not run"},
		{fake, `[{"interface": "raid", "step": "own", "args": {}, "priority": 90}]`, argument("node does not support this deploy step: {'interface': 'raid', 'step': 'own'}")},
		{fake, `[{"interface": "deploy", "step": "deploy", "args": {}, "priority": 0}]`, "No deploy steps returned by the driver"},
	} {
		if got := c.verb(r.node, `{"target": "active", "deploy_steps": `+r.steps+`}`); got.status != 400 || !strings.HasSuffix(got.fault, r.fault) {
			t.Errorf("%s: %d %q", r.steps, got.status, got.fault)
		}
		if n := c.ask("root", "1.115", "GET", "/v1/nodes/"+r.node, "").body; n["provision_state"] != "available" || n["reservation"] != nil || len(n["driver_internal_info"].(map[string]any)) > 0 {
			t.Errorf("%s has changed %v", r.steps, n)
		}
	}
}

// What is known of a deployment's steps is in the node's row from the start, the request's
// by themselves too, masked.
func TestDeploySteps(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.deployable("n")
	c.play(
		step{"root", "1.115", "PUT", "/v1/nodes/n/traits", `{"traits": ["CUSTOM_T", "CUSTOM_U"]}`, 204, ""},
		step{"root", "1.115", "PATCH", "/v1/nodes/n", `[{"op": "add", "path": "/instance_info/traits", "value": ["CUSTOM_T"]}]`, 200, ""},
		step{"root", "1.115", "POST", "/v1/deploy_templates", `{"name": "CUSTOM_T", "steps": [{"interface": "bios", "step": "factory_reset", "args": {}, "priority": "150"},
			{"interface": "raid", "step": "apply_configuration", "args": {"raid_config": {}}, "priority": 90}]}`, 201, ""},
		step{"root", "1.115", "POST", "/v1/deploy_templates", `{"name": "CUSTOM_U", "steps": [{"interface": "power", "step": "hold", "args": {}, "priority": 160}]}`, 201, ""},
	)
	if got := c.verb(id, `{"target": "active", "deploy_steps": [{"interface": "bios", "step": "apply_configuration", "args": {"settings": [{"name": "x", "password": "s3cret"}]}, "priority": "140"},
		{"interface": "power", "step": "hold", "args": {}, "priority": 110}, {"interface": "deploy", "step": "inject_files", "args": {}, "priority": 70}]}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	var names []string
	for _, s := range c.brief(id).Steps {
		names = append(names, s.Interface+"."+s.Step)
	}
	if want := "bios.factory_reset bios.apply_configuration power.hold deploy.deploy raid.apply_configuration deploy.write_image deploy.prepare_instance_boot deploy.tear_down_agent " +
		"deploy.switch_to_tenant_network deploy.boot_instance"; strings.Join(names, " ") != want {
		t.Errorf("%v", names)
	}
	node := c.ask("root", "1.115", "GET", "/v1/nodes/n", "").body
	if known := node["driver_internal_info"].(map[string]any); len(known["user_deploy_steps"].([]any)) != 3 || !strings.Contains(fmt.Sprint(known), "password:******") ||
		strings.Contains(fmt.Sprint(known)+c.input(id), "s3cret") {
		t.Errorf("%v", known)
	}
	n, err := baremetal.Nodes.Find(t.Context(), c.db.Pool, id, false)
	if err != nil {
		t.Fatal(err)
	}
	if args, err := nodes.StepArgs(c.box, n, provision.PhaseDeploy, 1); err != nil || !strings.Contains(fmt.Sprint(args), "s3cret") {
		t.Errorf("%v, %v", args, err)
	}
	// The step that is under way is shown, and unhold lets it go on.
	hold := 2
	computetest.InTx(t, c.db, func(tx store.Tx) error {
		return baremetal.Move(t.Context(), tx, id, steps.NodeMove{State: "deploy hold", StepIndex: &hold, Rebooting: true})
	})
	node = c.ask("root", "1.115", "GET", "/v1/nodes/n", "").body
	known := node["driver_internal_info"].(map[string]any)
	if node["provision_state"] != "deploy hold" || node["deploy_step"].(map[string]any)["step"] != "hold" || known["deploy_step_index"] != 2.0 || known["deployment_reboot"] != true {
		t.Errorf("%v", node)
	}
	if got := c.verb(id, `{"target": "unhold"}`); got.status != 202 {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if b := c.brief(id); b.ProvisionState != "wait call-back" || b.StepIndex != 2 || !b.Rebooting {
		t.Errorf("%+v", b)
	}
	next := 3
	c.finish(id, operations.ResultDone, steps.NodeOutcome{State: "active"}, nil, steps.NodeMove{State: "deploying", StepIndex: &next})
	node = c.ask("root", "1.115", "GET", "/v1/nodes/n", "").body
	if node["provision_state"] != "active" || len(node["deploy_step"].(map[string]any)) > 0 || len(node["driver_internal_info"].(map[string]any)) > 0 {
		t.Errorf("%v", node)
	}
	c.audit()
}
