//go:build real

package real

// A ramdisk that is booted by the network.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// system is a folder with the kernel and the initial file system of the test image.
func system(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk.raw")
	for _, step := range [][]string{
		{"qemu-img", "convert", "-O", "raw", os.Getenv(cloud.ImageVariable), disk},
		{"mcopy", "-i", disk + "@@1M", "::vmlinuz", filepath.Join(dir, "kernel")},
		{"mcopy", "-i", disk + "@@1M", "::initrd.gz", filepath.Join(dir, "ramdisk")},
	} {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", step, err, out)
		}
	}
	return dir
}

// TestIPXE is a machine whose BMC speaks IPMI, which the iPXE of its network card boots with
// a kernel and a ramdisk of its node's; when that is given up it is off, and nothing is
// served. (virtualbmc keeps for ever what a machine is to start from once.)
func TestIPXE(t *testing.T) {
	lan := newLAN(t)
	at := lan.serve(http.FileServer(http.Dir(system(t))))
	s := newSite(t, map[string]any{
		"conductor.image_networks": []string{lanNetwork},
		"conductor.boot_listen":    lan.listen,
		"conductor.boot_url":       "http://" + lan.listen,
	})
	log := filepath.Join(t.TempDir(), "console.log")
	m := define(t, "ipxe-machine", body{
		memory: 256,
		starts: "<os><type arch='x86_64' machine='pc'>hvm</type><boot dev='hd'/></os>",
		size:   "64M",
		devices: "<interface type='bridge'><mac address='" + lanMAC + "'/><source bridge='" + lanBridge + "'/><model type='virtio'/></interface>" +
			"<serial type='file'><source path='" + log + "' append='on'/></serial>",
	})
	m.log = log
	command := []string{"node", "create", "--driver", "ipmi", "--name", "n", "--boot-interface", "ipxe", "--property", "capabilities=boot_mode:bios"}
	for _, info := range []string{"ipmi_address=127.0.0.1", "ipmi_port=" + strconv.Itoa(ipmi(t, m)), "ipmi_username=" + user, "ipmi_password=" + password,
		"deploy_kernel=" + at + "/kernel", "deploy_ramdisk=" + at + "/ramdisk", "kernel_append_params=console=ttyS0"} {
		command = append(command, "--driver-info", info)
	}
	var node map[string]any
	s.Does(&node, command...)
	s.Does(nil, "port", "create", lanMAC, "--node", node["uuid"].(string))
	s.Does(nil, "node", "manage", "n", "--wait", "120")

	s.Does(nil, "node", "provide", "n")
	var line string
	s.Eventually("the kernel of the ramdisk runs", patience, func(context.Context) error {
		var err error
		line, err = m.commandLine()
		return err
	})
	for _, word := range []string{"BOOTIF=" + lanMAC, "console=ttyS0", "ipa-api-url=" + s.URL() + "/baremetal"} {
		if !strings.Contains(line, word) {
			t.Errorf("it isn't told %s, but %s", word, line)
		}
	}
	if files := s.BootFiles(); len(files) != 1 {
		t.Errorf("%v is served", files)
	}

	s.Does(nil, "node", "abort", "n")
	s.Eventually("the cleaning is given up", patience, func(context.Context) error {
		if s.Does(&node, "node", "show", "n"); node["provision_state"] != "clean failed" {
			return fmt.Errorf("%v: %v", node["provision_state"], node["last_error"])
		}
		return nil
	})
	if m.runs() || len(s.BootFiles()) > 0 {
		t.Errorf("it runs: %v; %v is served", m.runs(), s.BootFiles())
	}
	s.Audit()
}

// commandLine is what the kernel that a machine runs says that it was told.
func (m *machine) commandLine() (string, error) {
	m.t.Helper()
	log, err := os.ReadFile(m.log)
	if err != nil {
		return "", err
	}
	_, told, found := strings.Cut(string(log), "Command line: ")
	if !found {
		return "", errors.New("its console shows none")
	}
	line, _, _ := strings.Cut(told, "\n")
	return line, nil
}
