//go:build real

package real

// Nodes of both kinds: enrolled and verified, turned on and off, told what to start from,
// and given media.

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/integration/baremetal"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
)

func TestMain(m *testing.M) {
	environment := func(name string) func() error {
		return func() error {
			_, err := venv.Make(name)
			return err
		}
	}
	libvirttest.Main(cloud.Tests{M: m}, cloud.BuildImage, buildDeployed, buildRamdisk, environment("clients"), environment("bmc"))
}

// site is a cloud with a client.
type site struct {
	*cloud.Cloud
	*baremetal.Client
	t *testing.T
}

func newSite(t *testing.T, more map[string]any) *site {
	t.Helper()
	config := map[string]any{"dev.static_tokens": []map[string]any{
		{"token": cloud.UserToken, "user": "alice", "project": "demo", "roles": []string{"admin"}},
		{"token": cloud.AdminToken, "user": "root", "system": true, "roles": []string{"admin"}},
	}}
	for key, value := range more {
		config[key] = value
	}
	c := cloud.Start(t, cloud.Options{Hosts: 1, Conductor: true, Config: config})
	return &site{c, baremetal.Start(t, c), t}
}

// at is the site for a part of a test.
func (s *site) at(t *testing.T) *site { return &site{s.Cloud, s.Client.For(t), t} }

// settled waits until nobody works on a node, and gives it.
func (s *site) settled(name string) (node map[string]any) {
	s.t.Helper()
	s.Eventually(name+" is at rest", 5*time.Minute, func(context.Context) error {
		s.Does(&node, "node", "show", name)
		if node["reservation"] != nil || node["target_power_state"] != nil {
			return fmt.Errorf("%v works on it", node["reservation"])
		}
		return nil
	})
	return node
}

// enrolled makes nodes of both kinds, each with a machine of its own, by their names.
func (s *site) enrolled() map[string]*machine {
	s.t.Helper()
	byRedfish, byIPMI := newMachine(s.t, "redfish-machine"), newMachine(s.t, "ipmi-machine")
	address, port := redfish(s.t), ipmi(s.t, byIPMI)
	s.Does(nil, "node", "create", "--driver", "redfish", "--name", "by-redfish", "--boot-interface", "redfish-virtual-media", "--driver-info", "redfish_address="+address,
		"--driver-info", "redfish_system_id=/redfish/v1/Systems/"+byRedfish.uuid, "--driver-info", "redfish_username="+user, "--driver-info", "redfish_password="+password)
	s.Does(nil, "node", "create", "--driver", "ipmi", "--name", "by-ipmi", "--driver-info", "ipmi_address=127.0.0.1", "--driver-info", "ipmi_port="+strconv.Itoa(port),
		"--driver-info", "ipmi_username="+user, "--driver-info", "ipmi_password="+password)
	return map[string]*machine{"by-redfish": byRedfish, "by-ipmi": byIPMI}
}

// Nodes of both kinds are verified, and do as they are told, an interrupt among it: what their rows say is what
// libvirt says of their machines.
func TestPower(t *testing.T) {
	s := newSite(t, nil)
	for name, m := range s.enrolled() {
		t.Run(name, func(t *testing.T) {
			s := s.at(t)
			s.Does(nil, "node", "manage", name, "--wait", "120")
			if n := s.settled(name); n["provision_state"] != "manageable" || n["power_state"] != "power off" || n["last_error"] != nil {
				t.Fatalf("%v, %v, %v", n["provision_state"], n["power_state"], n["last_error"])
			}
			for _, is := range []struct {
				command []string
				runs    bool
			}{
				{[]string{"power", "on"}, true},
				{[]string{"power", "on"}, true},
				{[]string{"inject", "nmi"}, true},
				{[]string{"reboot"}, true},
				{[]string{"power", "off"}, false},
				{[]string{"reboot"}, true},
				{[]string{"power", "off"}, false},
			} {
				s.Does(nil, append(append([]string{"node"}, is.command...), name)...)
				want := map[bool]string{true: "power on", false: "power off"}[is.runs]
				if n := s.settled(name); n["power_state"] != want || n["last_error"] != nil || m.runs() != is.runs {
					t.Errorf("%v: %v, %v, the machine is on: %v", is.command, n["power_state"], n["last_error"], m.runs())
				}
			}
			var verdicts []map[string]any
			s.Does(&verdicts, "node", "validate", name)
			for _, v := range verdicts {
				if of := v["Interface"]; (of == "power" || of == "management") && v["Result"] != true {
					t.Errorf("%v", v)
				}
			}
		})
	}
	s.Audit()
}

// What a node is told to start from is what its machine starts from; once it has booted its
// disk, its system begins anew, or ends by itself, when it is told to.
func TestBootDevice(t *testing.T) {
	s := newSite(t, nil)
	for name, m := range s.enrolled() {
		t.Run(name, func(t *testing.T) {
			s := s.at(t)
			s.Does(nil, "node", "manage", name, "--wait", "120")
			for device, starts := range map[string]string{"pxe": "network", "disk": "hd"} {
				var said map[string]any
				s.Does(nil, "node", "boot", "device", "set", name, device, "--persistent")
				s.Does(&said, "node", "boot", "device", "show", name)
				if m.starts() != starts || said["boot_device"] != device {
					t.Errorf("%s: the machine starts from %s, the BMC says %v", device, m.starts(), said)
				}
			}
			s.Does(nil, "node", "boot", "device", "set", name, "disk", "--persistent")
			s.Does(nil, "node", "power", "on", name)
			s.booted(m, 1)
			s.Does(nil, "node", "reboot", "--soft", "--power-timeout", "300", name)
			s.booted(m, 2)
			if n := s.settled(name); n["power_state"] != "power on" || n["last_error"] != nil {
				t.Errorf("%v, %v", n["power_state"], n["last_error"])
			}
			s.Does(nil, "node", "power", "off", "--soft", "--power-timeout", "300", name)
			if n := s.settled(name); n["power_state"] != "power off" || n["last_error"] != nil || m.runs() {
				t.Errorf("%v, %v", n["power_state"], n["last_error"])
			}
		})
	}
	s.Audit()
}

// booted waits until the machine's system is there, so often.
func (s *site) booted(m *machine, times int) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("%s has booted its disk, %d times", m.name, times), 10*time.Minute, func(context.Context) error {
		if n := m.shown("ready: "); n != times {
			return fmt.Errorf("its console says so %d times", n)
		}
		return nil
	})
}

// A node that is about to be cleaned has the disc of its ramdisk in its machine's drive, and
// starts from it; when that is given up there is none.
func TestVirtualMedia(t *testing.T) {
	disc := bytes.Repeat([]byte("a disc without a system "), 1<<12)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "ramdisk.iso", time.Time{}, bytes.NewReader(disc))
	}))
	defer server.Close()
	s := newSite(t, nil)
	pool(t)
	m := s.enrolled()["by-redfish"]
	s.Does(nil, "node", "set", "by-redfish", "--driver-info", "deploy_iso="+server.URL+"/ramdisk.iso")
	s.Does(nil, "node", "manage", "by-redfish", "--wait", "120")
	s.Does(nil, "node", "provide", "by-redfish")
	s.Eventually("the disc is in the drive of a machine that is on", 5*time.Minute, func(context.Context) error {
		var node map[string]any
		s.Does(&node, "node", "show", "by-redfish")
		if m.medium() == "" || m.starts() != "cdrom" || !m.runs() || node["provision_state"] != "clean wait" {
			return fmt.Errorf("%q, %q, on: %v, %v: %v", m.medium(), m.starts(), m.runs(), node["provision_state"], node["last_error"])
		}
		return nil
	})
	held, err := os.ReadFile(m.medium())
	if err != nil || !bytes.Contains(held, disc) {
		t.Errorf("the drive has %d other bytes, %v", len(held), err)
	}
	s.Does(nil, "node", "abort", "by-redfish")
	s.Eventually("the cleaning is given up", 5*time.Minute, func(context.Context) error {
		var node map[string]any
		if s.Does(&node, "node", "show", "by-redfish"); node["provision_state"] != "clean failed" {
			return fmt.Errorf("%v: %v", node["provision_state"], node["last_error"])
		}
		return nil
	})
	if m.medium() != "" || m.starts() != "hd" {
		t.Errorf("the drive has %q, the machine starts from %s", m.medium(), m.starts())
	}
	s.Audit()
}
