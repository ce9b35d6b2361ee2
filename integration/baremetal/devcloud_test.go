//go:build real

package baremetal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/shell"
	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/testenv"
)

// TestTheDevelopmentCloud is what `holdfast dev --baremetal 4` says that one can do with
// it, by the real command line: its nodes are enrolled by the file that it wrote, and one
// is inspected, cleaned, deployed with a config drive, rebuilt with an image of its Glance,
// rescued, serviced by a runbook, undeployed, allocated, and the machine of a server; then
// they are deleted.
func TestTheDevelopmentCloud(t *testing.T) {
	const machines = 4
	binary, err := cloud.Binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(testenv.Folder(t), "cloud")
	dev := exec.Command(binary, "dev", "--dir", dir, "--free-ports", "--driver", "simulated", "--baremetal", fmt.Sprint(machines), "--json")
	dev.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var errs bytes.Buffer
	dev.Stderr = &errs
	out, err := dev.StdoutPipe()
	if err == nil {
		err = dev.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := dev.Wait(); err != nil {
			t.Errorf("after an interrupt: %v\n%s", err, &errs)
		}
	})
	var told struct {
		Config   string
		Nodes    string
		Clouds   string `json:"clouds_yaml"`
		Instance map[string]string
	}
	if err := json.NewDecoder(out).Decode(&told); err != nil {
		t.Fatalf("holdfast dev --json: %v\n%s", err, &errs)
	}
	users := map[string]*shell.Shell{}
	for _, user := range []string{"admin", "demo"} {
		users[user] = shell.Start(t, venv.Program(t, "clients", "python"), append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+told.Clouds, "OS_CLOUD="+user, "HOME="+t.TempDir()))
	}
	client := func(user string, args ...string) ([]byte, error) {
		said := users[user].Ask(t, args...)
		if said.Code != 0 {
			return nil, fmt.Errorf("%d: %s%s", said.Code, said.Out, said.Err)
		}
		return []byte(said.Out), nil
	}
	openstack := func(args ...string) []byte {
		t.Helper()
		text, err := client("admin", args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return text
	}
	baremetal := func(args ...string) []byte {
		t.Helper()
		return openstack(append([]string{"baremetal"}, args...)...)
	}
	shown := func(into any, args ...string) {
		t.Helper()
		if err := json.Unmarshal(baremetal(append(args, "-f", "json")...), into); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	baremetal("create", told.Nodes)
	var nodes []map[string]any
	if shown(&nodes, "node", "list"); len(nodes) != machines {
		t.Fatalf("%v", nodes)
	}
	baremetal("node", "manage", "node-2", "--wait", "60")
	baremetal("node", "inspect", "node-2", "--wait", "120")
	var node map[string]any
	if shown(&node, "node", "show", "node-2"); node["inspection_finished_at"] == nil || node["provision_state"] != "manageable" {
		t.Errorf("inspected, the node is %v", node)
	}
	baremetal("node", "provide", "node-2", "--wait", "120")
	set := []string{"node", "set", "node-2"}
	for name, value := range told.Instance {
		set = append(set, "--instance-info", name+"="+value)
	}
	baremetal(set...)
	baremetal("node", "deploy", "node-2", "--config-drive", `{"meta_data": {"hostname": "first-host"}}`, "--wait", "120")
	node = nil
	if shown(&node, "node", "show", "node-2"); node["provision_state"] != "active" || node["instance_info"].(map[string]any)["configdrive"] == nil {
		t.Errorf("deployed, the node is %v", node)
	}
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(disk, bytes.Repeat([]byte("another disk"), 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	var image struct{ ID string }
	if err := json.Unmarshal(openstack("image", "create", "--disk-format", "raw", "--file", disk, "disk", "-f", "json"), &image); err != nil {
		t.Fatal(err)
	}
	baremetal("node", "set", "node-2", "--instance-info", "image_source="+image.ID)
	baremetal("node", "rebuild", "node-2", "--wait", "120")
	baremetal("node", "rescue", "node-2", "--rescue-password", password, "--wait", "120")
	baremetal("node", "unrescue", "node-2", "--wait", "120")
	baremetal("runbook", "create", "--name", "CUSTOM_BURN", "--steps", `[{"interface": "deploy", "step": "burnin_cpu", "args": {}, "order": 1}]`)
	baremetal("runbook", "trait", "add", "CUSTOM_BURN", "CUSTOM_BURN")
	if text, err := client("admin", "baremetal", "node", "service", "node-2", "--runbook", "CUSTOM_BURN"); err == nil {
		t.Errorf("a node is serviced by a runbook whose trait it hasn't: %s", text)
	}
	baremetal("node", "add", "trait", "node-2", "CUSTOM_BURN")
	baremetal("node", "service", "node-2", "--runbook", "CUSTOM_BURN", "--wait", "120")
	baremetal("node", "undeploy", "node-2", "--wait", "120")
	var allocation map[string]any
	shown(&allocation, "allocation", "create", "--resource-class", "baremetal", "--trait", "CUSTOM_BURN", "--name", "mine", "--wait", "60")
	node = nil
	if shown(&node, "node", "show", "node-2"); allocation["state"] != "active" || allocation["node_uuid"] != node["uuid"] || node["allocation_uuid"] != allocation["uuid"] {
		t.Errorf("the allocation is %v, and the node %v", allocation, node)
	}
	baremetal("allocation", "delete", "mine")
	builtOn(t, client, "node-2")
	baremetal("node", "delete", "node-1", "node-2", "node-3", "node-4")
	var ports []map[string]any
	shown(&nodes, "node", "list")
	if shown(&ports, "port", "list"); len(nodes)+len(ports) > 0 {
		t.Errorf("deleted, there are %v, %v", nodes, ports)
	}
	if text, err := exec.Command(binary, "--config", told.Config, "audit").CombinedOutput(); err != nil {
		t.Errorf("audit: %v: %s", err, text)
	}
}
