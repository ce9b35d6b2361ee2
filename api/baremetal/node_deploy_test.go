package baremetal_test

import (
	"fmt"
	"strings"
	"testing"
)

// What a deployment is given is checked before it is accepted, in the original's
// words; what is refused changes nothing.
func TestDeployments(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "redfish", "name": "n", "boot_interface": "redfish-virtual-media", "deploy_interface": "direct",
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
		ask("1.115", `{"target": "active"}`, 400, wrong("Validation of image href file:///etc/passwd failed, reason: this release deploys what http and https URLs name")),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+sum+`", "traits": {"CUSTOM_T": true}}`),
		ask("1.115", `{"target": "active"}`, 400, wrong(fmt.Sprintf("Error parsing traits from Node %s instance_info field. A list of strings is expected.", id))),
		image(`{"image_source": "http://192.0.2.9/i.raw", "image_checksum": "`+sum+`", "traits": ["CUSTOM_T"]}`),
		ask("1.115", `{"target": "active"}`, 400, wrong(fmt.Sprintf("Cannot specify instance traits that are not also set on the node. Node %s is missing traits CUSTOM_T", id))),
		step{"root", "1.115", "PUT", "/v1/nodes/n/traits", `{"traits": ["CUSTOM_T"]}`, 204, ""},
		step{"root", "1.115", "POST", "/v1/deploy_templates", `{"name": "CUSTOM_T", "steps": [{"interface": "bios", "step": "factory_reset", "args": {}, "priority": 150}]}`, 201, ""},
		ask("1.115", `{"target": "active"}`, 400, wrong("Driver redfish does not support the deploy template CUSTOM_T (disabled or not implemented).")),
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
