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
	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/testenv"
)

// TestTheDevelopmentCloud is what `holdfast dev --baremetal` says that one can do with
// it: its nodes are enrolled by the file that it wrote, and one is deployed, rebuilt with an
// image of its Glance, rescued and undeployed, by the real command line.
func TestTheDevelopmentCloud(t *testing.T) {
	binary, err := cloud.Binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(testenv.Folder(t), "cloud")
	dev := exec.Command(binary, "dev", "--dir", dir, "--free-ports", "--driver", "simulated", "--baremetal", "2", "--json")
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
	client := func(user string, args ...string) ([]byte, error) {
		cmd := exec.Command(venv.Program(t, "clients", "openstack"), args...)
		cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+told.Clouds, "OS_CLOUD="+user, "HOME="+t.TempDir())
		var errs bytes.Buffer
		cmd.Stderr = &errs
		text, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s%s", err, text, &errs)
		}
		return text, err
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
	baremetal("create", told.Nodes)
	var nodes []map[string]any
	if err := json.Unmarshal(baremetal("node", "list", "-f", "json"), &nodes); err != nil || len(nodes) != 2 {
		t.Fatalf("%v, %v", nodes, err)
	}
	baremetal("node", "manage", "node-2", "--wait", "60")
	baremetal("node", "provide", "node-2", "--wait", "120")
	set := []string{"node", "set", "node-2"}
	for name, value := range told.Instance {
		set = append(set, "--instance-info", name+"="+value)
	}
	baremetal(set...)
	baremetal("node", "deploy", "node-2", "--wait", "120")
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
	baremetal("node", "rescue", "node-2", "--rescue-password", "s3cret", "--wait", "120")
	baremetal("node", "undeploy", "node-2", "--wait", "120")
	builtOn(t, client, "node-2")
	if text, err := exec.Command(binary, "--config", told.Config, "audit").CombinedOutput(); err != nil {
		t.Errorf("audit: %v: %s", err, text)
	}
}
