package baremetal_test

// What paths may look like, and what they name.

import (
	"fmt"
	"strings"
	"testing"
)

// Paths without the version are the same with it, as bookmarks have them; before 1.91
// an ending ".json" means nothing, unless something is called so.
func TestPathsAreReadAsTheOriginalReadsThem(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n"}`)
	c.enroll("root", `{"driver": "fake-hardware", "name": "called.json"}`)
	group := c.ask("root", "1.90", "POST", "/v1/portgroups", `{"node_uuid": "`+id+`", "name": "bond"}`).body["uuid"].(string)
	c.play(
		step{"root", "1.115", "GET", "/nodes", "", 200, ""},
		step{"root", "1.115", "GET", "/nodes/detail?limit=1", "", 200, ""},
		step{"root", "1.115", "GET", "/nodes/n/states", "", 200, ""},
		step{"root", "1.115", "GET", "/drivers/fake-hardware/properties", "", 200, ""},
		step{"root", "1.115", "PATCH", "/nodes/n", `[{"op": "add", "path": "/extra/a", "value": 1}]`, 200, ""},
		step{"root", "1.115", "GET", "/sprockets", "", 404, ""},
		step{"root", "1.115", "GET", "/v2/nodes", "", 404, ""},
		step{"", "1.115", "GET", "/v1", "", 200, ""},
		step{"", "1.115", "GET", "/", "", 200, ""},
		step{"", "1.90", "GET", "/v1.json", "", 200, ""},
		step{"root", "1.90", "GET", "/v1/nodes/" + id + ".json", "", 200, ""},
		step{"root", "1.90", "GET", "/v1/nodes/n.json", "", 200, ""},
		step{"root", "1.90", "GET", "/v1/nodes.json?limit=1", "", 200, ""},
		step{"root", "1.90", "GET", "/v1/nodes/n/states.json", "", 200, ""},
		step{"root", "1.90", "PATCH", "/v1/nodes/n.json", `[{"op": "add", "path": "/extra/a", "value": 1}]`, 200, ""},
		step{"root", "1.90", "PATCH", "/v1/portgroups/bond.json", `[{"op": "add", "path": "/extra/a", "value": 1}]`, 200, ""},
		step{"root", "1.90", "GET", "/v1/portgroups/" + group + ".json", "", 200, ""},
		step{"root", "1.90", "GET", "/v1/nodes/called.json", "", 200, ""},
		step{"root", "1.90", "GET", "/v1/nodes/called.json/states", "", 200, ""},
		step{"root", "1.90", "GET", "/v1/nodes/called", "", 404, "Node called could not be found."},
		step{"root", "1.90", "GET", "/v1/nodes/nobody.json", "", 404, "Node nobody.json could not be found."},
		step{"root", "1.91", "GET", "/v1/nodes/called.json", "", 200, ""},
		step{"root", "1.91", "GET", "/v1/nodes/n.json", "", 404, "Node n.json could not be found."},
		step{"root", "1.91", "GET", "/v1/nodes.json", "", 404, ""},
		step{"root", "1.90", "DELETE", "/v1/portgroups/bond.json", "", 204, ""},
		step{"root", "1.90", "DELETE", "/v1/nodes/n.json", "", 204, ""},
		step{"root", "1.90", "DELETE", "/v1/nodes/called.json", "", 204, ""},
	)
	if left := c.ask("root", "1.115", "GET", "/v1/nodes", "").body["nodes"]; fmt.Sprint(left) != "[]" {
		t.Errorf("left: %v", left)
	}
}

// What nothing can be called is refused as such, whatever is asked of it.
func TestIdentsThatNothingHas(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for path, want := range map[string]string{
		"nodes":            "Expected UUID or name for node: mal:formed",
		"ports":            "Expected UUID or name for port_ident: mal:formed",
		"portgroups":       "Expected UUID or name for portgroup: mal:formed",
		"allocations":      "Expected a logical name or UUID but received mal:formed.",
		"deploy_templates": "Expected UUID or name for template_ident: mal:formed",
		"chassis":          "Expected UUID for chassis_uuid: mal:formed",
		"runbooks":         "Expected UUID or name for runbook_ident: mal:formed",
		"inspection_rules": "Expected UUID for inspection_rule_uuid: mal:formed",
	} {
		c.play(step{"root", "1.115", "GET", "/v1/" + path + "/mal:formed", "", 400, want},
			step{"root", "1.115", "PATCH", "/v1/" + path + "/mal:formed", `[{"op": "replace", "path": "/description", "value": "x"}]`, 400, ""},
			step{"root", "1.115", "DELETE", "/v1/" + path + "/mal:formed", "", 400, ""})
	}
	c.play(
		step{"root", "1.115", "GET", "/v1/nodes/mal:formed/states", "", 400, "Expected UUID or name for node: mal:formed"},
		step{"root", "1.115", "PUT", "/v1/nodes/mal:formed/states/power", `{"target": "power on"}`, 400, "Expected UUID or name for node: mal:formed"},
		step{"root", "1.115", "PUT", "/v1/nodes/mal:formed/states/provision", `{"target": "manage"}`, 400, "Expected UUID or name for node: mal:formed"},
		step{"root", "1.115", "GET", "/v1/nodes/%00/states", "", 400, "Expected UUID or name for node: \x00"},
		step{"root", "1.115", "GET", "/v1/nodes/" + strings.Repeat("n", 256), "", 400, "Expected UUID or name for node: nnn"},
		step{"root", "1.115", "GET", "/v1/ports/52:54:00:00:00:01", "", 400, "Expected UUID or name for port_ident: 52:54:00:00:00:01"},
		step{"root", "1.115", "GET", "/v1/ports/nobody", "", 404, "Port nobody could not be found."},
	)
}

// What older versions have of a path is told in the original's way: that there is no
// such thing, no such method, or nothing acceptable.
func TestPathsBeforeTheirVersion(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.enroll("alice", `{"driver": "fake-hardware", "name": "n"}`)
	c.play(
		step{"root", "1.36", "GET", "/v1/nodes/n/traits", "", 406, "Request not acceptable."},
		step{"root", "1.36", "PUT", "/v1/nodes/n/traits", `{"traits": []}`, 405, ""},
		step{"root", "1.36", "PUT", "/v1/nodes/n/traits/CUSTOM_A", "", 405, ""},
		step{"root", "1.36", "DELETE", "/v1/nodes/n/traits", "", 404, "Resource could not be found."},
		step{"root", "1.36", "DELETE", "/v1/nodes/n/traits/CUSTOM_A", "", 404, "Resource could not be found."},
		step{"root", "1.23", "GET", "/v1/nodes/n/portgroups", "", 404, ""},
		step{"root", "1.23", "GET", "/v1/nodes/n/portgroups/detail", "", 404, ""},
		step{"root", "1.23", "GET", "/v1/portgroups", "", 200, ""},
		step{"root", "1.24", "GET", "/v1/nodes/n/portgroups", "", 200, ""},
		step{"root", "1.75", "PUT", "/v1/nodes/n/states/boot_mode", `{"target": "uefi"}`, 404, "This endpoint is supported starting with the API version 1.76"},
		step{"root", "1.75", "PUT", "/v1/nodes/n/states/secure_boot", `{"target": true}`, 404, "This endpoint is supported starting with the API version 1.76"},
		step{"viewer", "1.75", "PUT", "/v1/nodes/n/states/boot_mode", `{"target": "uefi"}`, 403, "baremetal:node:set_boot_mode"},
		step{"viewer", "1.75", "PUT", "/v1/nodes/n/states/secure_boot", `{"target": true}`, 403, "baremetal:node:set_secure_boot"},
		step{"bob", "1.75", "PUT", "/v1/nodes/n/states/boot_mode", `{"target": "uefi"}`, 404, "Node n could not be found."},
		step{"root", "1.48", "GET", "/v1/nodes?conductor=c", "", 406, "The minimal required API version should be 1.49"},
		step{"root", "1.41", "GET", "/v1/nodes?fault=power+failure", "", 406, "The minimal required API version should be 1.42"},
	)
}
