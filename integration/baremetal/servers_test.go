//go:build real

package baremetal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// builtOn builds a server that is a whole machine, has it live its life, and deletes it,
// by the real command line: its node is deployed, wired, and available again.
func builtOn(t *testing.T, client func(user string, args ...string) ([]byte, error), node string) {
	t.Helper()
	as := func(user string, args ...string) string {
		t.Helper()
		text, err := client(user, args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return string(text)
	}
	shown := func(user string, what ...string) (object map[string]any) {
		t.Helper()
		if err := json.Unmarshal([]byte(as(user, append(what, "-f", "json")...)), &object); err != nil {
			t.Fatalf("%v: %v", what, err)
		}
		return object
	}
	// until waits for what becomes so without a client that waits for it.
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(time.Second) {
			if time.Now().After(end) {
				t.Fatalf("in vain: %s", what)
			}
		}
	}
	as("admin", "baremetal", "node", "set", node, "--network-interface", "flat")
	id := shown("admin", "baremetal", "node", "show", node)["uuid"].(string)
	until("the node is a hypervisor", func() bool {
		var list []map[string]any
		err := json.Unmarshal([]byte(as("admin", "hypervisor", "list", "--long", "-f", "json")), &list)
		return err == nil && slices.ContainsFunc(list, func(h map[string]any) bool {
			return h["Hypervisor Hostname"] == id && h["Hypervisor Type"] == "ironic" && h["State"] == "up"
		})
	})
	if text, err := client("demo", "server", "create", "--flavor", "m1.nano", "--image", "holdfast-test", "--network", "private", "--hypervisor-hostname", id, "--wait", "small"); err == nil {
		t.Errorf("a server of another flavor was built on a node: %s", text)
	}

	server := shown("demo", "server", "create", "--flavor", "baremetal", "--image", "holdfast-test", "--network", "private", "--config-drive", "true", "--wait", "metal")
	if server["status"] != "ACTIVE" || !strings.Contains(fmt.Sprint(server["addresses"]), "192.168.233.") {
		t.Fatalf("%v", server)
	}
	name := server["id"].(string)
	is := func(status string) {
		t.Helper()
		until("the server is "+status, func() bool {
			s := shown("demo", "server", "show", name)
			return s["status"] == status && s["OS-EXT-STS:task_state"] == nil
		})
	}
	deployed := shown("admin", "baremetal", "node", "show", node)
	info := deployed["instance_info"].(map[string]any)
	if deployed["provision_state"] != "active" || deployed["instance_uuid"] != name || deployed["power_state"] != "power on" || info["configdrive"] == nil || info["display_name"] != "metal" {
		t.Errorf("the node is %v", deployed)
	}
	var ports []map[string]any
	if err := json.Unmarshal([]byte(as("demo", "port", "list", "--server", name, "-f", "json")), &ports); err != nil || len(ports) != 1 {
		t.Fatalf("%v, %v", ports, err)
	}
	if vifs := as("admin", "baremetal", "node", "vif", "list", node, "-f", "value"); strings.TrimSpace(vifs) != ports[0]["ID"] {
		t.Errorf("the node bears %q, not the server's port %v", vifs, ports[0]["ID"])
	}
	var nics []map[string]any
	if err := json.Unmarshal([]byte(as("admin", "baremetal", "port", "list", "--node", node, "-f", "json")), &nics); err != nil || len(nics) != 1 {
		t.Fatalf("%v, %v", nics, err)
	}
	bound := shown("admin", "port", "show", fmt.Sprint(ports[0]["ID"]))
	if bound["binding_host_id"] != id || bound["binding_vnic_type"] != "baremetal" || bound["mac_address"] != nics[0]["address"] || bound["status"] != "ACTIVE" {
		t.Errorf("the server's port is %v, %v at %v, and the node's %v", bound["mac_address"], bound["status"], bound["binding_host_id"], nics[0]["address"])
	}
	if text, err := client("demo", "server", "create", "--flavor", "baremetal", "--image", "holdfast-test", "--network", "private", "--wait", "second"); err == nil {
		t.Errorf("a second server was built on the one node: %s", text)
	}

	for _, step := range []struct{ action, status, node, power string }{
		{"stop", "SHUTOFF", "active", "power off"},
		{"start", "ACTIVE", "active", "power on"},
		{"suspend", "ACTIVE", "active", "power on"}, // which no node can
		{"rescue", "RESCUE", "rescue", "power on"},
		{"unrescue", "ACTIVE", "active", "power on"},
	} {
		as("demo", "server", step.action, name)
		is(step.status)
		if n := shown("admin", "baremetal", "node", "show", node); n["provision_state"] != step.node || n["power_state"] != step.power {
			t.Errorf("after %s the node is %v, %v", step.action, n["provision_state"], n["power_state"])
		}
	}
	as("demo", "server", "rebuild", "--wait", name)
	is("ACTIVE")
	if text, err := client("admin", "console", "log", "show", name); err == nil || !strings.Contains(err.Error(), "functionality is not supported") {
		t.Errorf("a console log: %s, %v", text, err)
	}

	as("demo", "server", "delete", "--wait", name)
	until("the node is available", func() bool {
		return shown("admin", "baremetal", "node", "show", node)["provision_state"] == "available"
	})
	if n := shown("admin", "baremetal", "node", "show", node); n["instance_uuid"] != nil || len(n["instance_info"].(map[string]any)) != 0 {
		t.Errorf("what is left of the server on its node: %v", n)
	}
	if vifs := strings.TrimSpace(as("admin", "baremetal", "node", "vif", "list", node, "-f", "value")); vifs != "" {
		t.Errorf("the node still bears %s", vifs)
	}
	if left := as("demo", "port", "list", "-f", "value"); strings.TrimSpace(left) != "" {
		t.Errorf("ports are left: %s", left)
	}
}
