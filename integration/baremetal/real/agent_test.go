//go:build real

package real

// A machine and the real agent: ironic-python-agent cleans its disk and writes an image to
// it, which it starts from.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/image"
	"holdfast.dev/dev/ramdisk"
	"holdfast.dev/internal/repotest"
)

// made is where what machines boot is made, and found made.
func made(folder string) (string, error) {
	root, err := repotest.Root()
	return filepath.Join(root, ".dev", folder), err
}

// deployed is the image that is written to the machine: one that EFI starts.
func deployed() (string, error) {
	dir, err := made("image")
	if err != nil {
		return "", err
	}
	return image.BuildEFI(context.Background(), dir)
}

func buildDeployed() error {
	_, err := deployed()
	return err
}

// agent is the ramdisk with the agent.
func agent() (*ramdisk.Ramdisk, error) {
	dir, err := made("ramdisk")
	if err != nil {
		return nil, err
	}
	return ramdisk.Build(context.Background(), dir)
}

func buildRamdisk() error {
	_, err := agent()
	return err
}

// patience is for what an emulated machine does, on one that does much else, and pause is
// between two looks at it: whoever looks takes what it could do meanwhile.
const (
	patience = 20 * time.Minute
	pause    = 2 * time.Second
)

// TestAgent is a machine's way from the rack to an instance and back, by the real agent:
// it is cleaned of what is on its disk, and an image is written, which it starts from with
// its config drive.
func TestAgent(t *testing.T) {
	lan := newLAN(t)
	rd, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	written, err := deployed()
	if err != nil {
		t.Fatal(err)
	}
	sum, err := hashed(written)
	if err != nil {
		t.Fatal(err)
	}
	at := lan.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, map[string]string{"/kernel": rd.Kernel, "/ramdisk": rd.Initial, "/esp": rd.Loader, "/image": written}[r.URL.Path])
	}))
	api := lan.door()
	s := newSite(t, map[string]any{
		"conductor.callback_url":   api.url + "/baremetal",
		"conductor.image_networks": []string{lanNetwork},
		"conductor.boot_listen":    lan.listen,
		"conductor.boot_url":       "http://" + lan.listen,
		"baremetal.agent_networks": []string{lanNetwork},
		// Erased whole, an emulated machine's disk would take an hour.
		"conductor.erase_devices_priority": 0,
	})
	api.open(s.URL())
	pool(t)
	c := newConsole(t)
	m := define(t, "metal-machine", body{
		memory: 2048,
		starts: "<os><type arch='x86_64' machine='q35'>hvm</type><loader readonly='yes' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader>" +
			"<nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'>" + filepath.Join(t.TempDir(), "efi-variables") + "</nvram><boot dev='hd'/></os>" +
			"<cpu mode='custom' match='exact' check='none'><model fallback='forbid'>Nehalem</model></cpu>", // the least that the agent's libraries run on
		size: "5G", // the agent has no use for less than four
		devices: "<interface type='bridge'><mac address='" + lanMAC + "'/><source bridge='" + lanBridge + "'/><model type='virtio'/><rom enabled='no'/></interface>" +
			fmt.Sprintf("<serial type='tcp'><source mode='connect' host='127.0.0.1' service='%d'/><protocol type='raw'/></serial>", c.port),
	})
	var node map[string]any
	command := []string{"node", "create", "--driver", "redfish", "--name", "metal", "--boot-interface", "redfish-virtual-media", "--deploy-interface", "direct"}
	for _, info := range []string{"redfish_address=" + redfish(t), "redfish_system_id=/redfish/v1/Systems/" + m.uuid, "redfish_username=" + user, "redfish_password=" + password,
		"deploy_kernel=" + at + "/kernel", "deploy_ramdisk=" + at + "/ramdisk", "bootloader=" + at + "/esp", "kernel_append_params=console=ttyS0 ipa-debug=1"} {
		command = append(command, "--driver-info", info)
	}
	for _, property := range []string{"cpu_arch=x86_64", "memory_mb=2048", "local_gb=4", "capabilities=boot_mode:uefi"} {
		command = append(command, "--property", property)
	}
	s.Does(&node, command...)
	s.Does(nil, "port", "create", lanMAC, "--node", node["uuid"].(string))
	s.Does(nil, "node", "manage", "metal", "--wait", "120")
	report := func(what string, took time.Duration) { t.Logf("| %s | %s |", what, took.Round(time.Second)) }
	report("the ramdisk is built", rd.Took)

	// is fails the test unless the node is at rest in a state.
	is := func(state, power string) {
		t.Helper()
		if node = s.settled("metal"); node["provision_state"] != state || node["power_state"] != power || node["last_error"] != nil || node["maintenance"] != false ||
			m.runs() != (power == "power on") || m.medium() != "" || m.starts() != "hd" {
			t.Fatalf("%v, %v, %v, the machine is on: %v, its drive has %q, and it starts from %s\n%s",
				node["provision_state"], node["power_state"], node["last_error"], m.runs(), m.medium(), m.starts(), c.end())
		}
	}
	// comes waits for a state after a command, and says how long the agent took to be heard
	// of, and to do its work.
	comes := func(state string, command ...string) {
		t.Helper()
		starts := c.starts()
		s.Does(nil, command...)
		s.Eventually("the node is "+state, patience, func(context.Context) error {
			if s.Does(&node, "node", "show", "metal"); node["provision_state"] == state {
				return nil
			}
			time.Sleep(pause)
			if failed := fmt.Sprint(node["provision_state"]); strings.HasSuffix(failed, "failed") {
				t.Fatalf("it is %s: %v\n%s", failed, node["last_error"], c.end())
			}
			return fmt.Errorf("it is %v: %v\n%s", node["provision_state"], node["last_error"], c.end())
		})
		done := time.Now()
		began, console := c.start(starts)
		heard := api.heard(began)
		report(state+": the machine is on until its agent is heard of", heard.Sub(began))
		report(state+": the agent is heard of until that is so", done.Sub(heard))
		if !strings.Contains(console, "Starting ironic-python-agent version: "+ramdisk.Version) {
			t.Errorf("the console doesn't say so:\n%s", console)
		}
	}

	if bytes.Equal(m.first(t), make([]byte, sectorSize)) {
		t.Fatal("there is nothing on the disk that could be erased")
	}
	comes("available", "node", "provide", "metal")
	is("available", "power off")
	if _, console := c.start(0); !strings.Contains(console, "Clean step completed") || !strings.Contains(console, "erase_devices_metadata") {
		t.Errorf("the agent has cleaned nothing:\n%s", console)
	}
	if !bytes.Equal(m.first(t), make([]byte, sectorSize)) {
		t.Error("the disk has a table after it was cleaned")
	}

	s.Does(nil, "node", "set", "metal", "--no-automated-clean", "--instance-info", "image_source="+at+"/image", "--instance-info", "image_disk_format=qcow2",
		"--instance-info", "image_os_hash_algo=sha256", "--instance-info", "image_os_hash_value="+sum)
	comes("active", "node", "deploy", "metal", "--config-drive", `{"meta_data": {"hostname": "metal-host"}}`)
	if _, console := c.start(1); !strings.Contains(console, "written to device /dev/vda") || !strings.Contains(console, "Adding loader") {
		t.Errorf("the agent has written nothing:\n%s", console)
	}
	var console string
	s.Eventually("the machine starts from its disk", patience, func(context.Context) error {
		if c.starts() < 3 {
			return fmt.Errorf("it has started %d times", c.starts())
		}
		if _, console = c.start(2); !strings.Contains(console, "ready: ") {
			return fmt.Errorf("its console says\n%s", c.end())
		}
		return nil
	})
	began, _ := c.start(2)
	report("the written image runs after the machine is on", time.Since(began))
	for _, line := range []string{image.Banner, "source: config drive", "hostname: metal-host"} {
		if !strings.Contains(console, line+"\n") {
			t.Errorf("the console lacks the line %q:\n%s", line, console)
		}
	}
	is("active", "power on")

	s.Does(nil, "node", "undeploy", "metal", "--wait", "300")
	is("available", "power off")
	if info := fmt.Sprint(node["instance_info"]); info != "map[]" || node["instance_uuid"] != nil {
		t.Errorf("%s, %v", info, node["instance_uuid"])
	}
	if c.starts() != 3 {
		t.Errorf("it has started %d times", c.starts())
	}
	s.Audit()
}

// sectorSize is that of what first reads.
const sectorSize = 512

// first is the first sector of the machine's disk, which is off.
func (m *machine) first(t *testing.T) []byte {
	t.Helper()
	to := filepath.Join(t.TempDir(), "sector")
	if out, err := exec.Command("qemu-img", "dd", "-f", "qcow2", "-O", "raw", fmt.Sprintf("bs=%d", sectorSize), "count=1", "if="+m.disk, "of="+to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func hashed(path string) (string, error) {
	content, err := os.ReadFile(path)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}
