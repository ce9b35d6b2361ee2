//go:build real

package baremetal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// client is the openstack command of an administrator, in one process.
type client struct {
	t       *testing.T
	login   []string
	in      io.WriteCloser
	answers *bufio.Reader
}

// said is what a command wrote, and its exit code.
type said struct {
	Out, Err string
	Code     int
}

func start(t *testing.T, c *cloud.Cloud) *client {
	t.Helper()
	o := &client{t: t, login: []string{"--os-auth-type", "admin_token", "--os-endpoint", c.URL() + "/baremetal", "--os-token", cloud.AdminToken}}
	cmd := exec.Command(venv.Program(t, "clients", "python"), filepath.Join("..", "walk", "shell.py"))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		o.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	o.answers = bufio.NewReader(out)
	t.Cleanup(func() {
		if err := errors.Join(o.in.Close(), cmd.Wait()); err != nil {
			t.Errorf("the client: %v: %s", err, &errs)
		}
	})
	return o
}

// ask runs a command, whatever becomes of it.
func (o *client) ask(args ...string) (s said) {
	o.t.Helper()
	line, err := json.Marshal(slices.Concat(o.login, []string{"baremetal"}, args))
	if err == nil {
		_, err = o.in.Write(append(line, '\n'))
	}
	var answer []byte
	if err == nil {
		answer, err = o.answers.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(answer, &s)
	}
	if err != nil {
		o.t.Fatalf("%v: %v", args, err)
	}
	return s
}

// does runs a command that must succeed; into gets its JSON, if that isn't nil.
func (o *client) does(into any, args ...string) {
	o.t.Helper()
	if into != nil {
		args = append(args, "-f", "json")
	}
	s := o.ask(args...)
	if s.Code != 0 {
		o.t.Fatalf("%v: %d: %s%s", args, s.Code, s.Out, s.Err)
	}
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero() // decoding adds to what is there
		if err := json.Unmarshal([]byte(s.Out), into); err != nil {
			o.t.Fatalf("%v: %v: %s", args, err, s.Out)
		}
	}
}

// refused runs a command that must fail with a text.
func (o *client) refused(text string, args ...string) {
	o.t.Helper()
	if s := o.ask(args...); s.Code == 0 || !strings.Contains(s.Err+s.Out, text) {
		o.t.Errorf("%v: %d, not %q: %s%s", args, s.Code, text, s.Out, s.Err)
	}
}

// TestEnrolment is a rack's way into the service and out of it again.
func TestEnrolment(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{"dev.static_tokens": []map[string]any{
		{"token": cloud.UserToken, "user": "alice", "project": "demo", "roles": []string{"admin"}},
		{"token": cloud.AdminToken, "user": "root", "system": true, "roles": []string{"admin"}},
	}}})
	o := start(t, c)

	var drivers []map[string]any
	o.does(&drivers, "driver", "list")
	if len(drivers) != 2 || drivers[0]["name"] != "ipmi" || drivers[1]["name"] != "redfish" {
		t.Errorf("the drivers are %v", drivers)
	}
	var driver map[string]any
	o.does(&driver, "driver", "show", "redfish")
	if driver["default_power_interface"] != "redfish" {
		t.Errorf("%v", driver)
	}
	o.does(nil, "driver", "property", "list", "redfish")

	var chassis, node, port, group map[string]any
	o.does(&chassis, "chassis", "create", "--description", "rack 1")
	rack := chassis["uuid"].(string)
	o.does(&node, "node", "create", "--driver", "redfish", "--name", "n1", "--chassis-uuid", rack, "--resource-class", "gold",
		"--driver-info", "redfish_address=https://192.0.2.1", "--driver-info", "redfish_password=hidden",
		"--property", "cpu_arch=x86_64", "--extra", "slot=4")
	if node["provision_state"] != "enroll" || node["power_interface"] != "redfish" || node["driver_info"].(map[string]any)["redfish_password"] != "******" {
		t.Errorf("%v", node)
	}
	id := node["uuid"].(string)
	o.does(&port, "port", "create", "aa:bb:cc:dd:ee:01", "--node", id, "--physical-network", "physnet1")
	nic := port["uuid"].(string)

	o.does(nil, "node", "set", "n1", "--resource-class", "silver", "--property", "memory_mb=1024", "--description", "the first")
	o.does(nil, "node", "unset", "n1", "--extra", "slot", "--description")
	o.does(nil, "node", "add", "trait", "n1", "CUSTOM_A", "CUSTOM_B")
	o.does(nil, "node", "remove", "trait", "n1", "CUSTOM_A")
	o.does(nil, "node", "maintenance", "set", "n1", "--reason", "moving")
	o.does(&node, "node", "show", "n1")
	for field, want := range map[string]any{"resource_class": "silver", "description": nil, "maintenance": true, "maintenance_reason": "moving", "chassis_uuid": rack} {
		if node[field] != want {
			t.Errorf("%s is %v, not %v", field, node[field], want)
		}
	}
	if traits := node["traits"].([]any); len(traits) != 1 || traits[0] != "CUSTOM_B" {
		t.Errorf("the traits are %v", traits)
	}
	o.does(nil, "node", "maintenance", "unset", "n1")

	var list []map[string]any
	o.does(&list, "node", "list", "--resource-class", "silver", "--sort", "name:desc")
	if len(list) != 1 || list[0]["name"] != "n1" || list[0]["provision_state"] != "enroll" {
		t.Errorf("%v", list)
	}
	o.does(&list, "node", "list", "--long", "--limit", "0")
	o.does(&list, "node", "list", "--fields", "uuid", "driver", "properties")
	o.does(&list, "node", "trait", "list", "n1")
	o.does(&list, "port", "list", "--node", "n1", "--long")
	if len(list) != 1 || list[0]["uuid"] != nic {
		t.Errorf("%v", list)
	}
	o.does(nil, "port", "set", nic, "--extra", "a=1", "--pxe-disabled")
	o.does(nil, "port", "unset", nic, "--extra", "a")
	o.does(&port, "port", "show", nic)
	if port["pxe_enabled"] != false || len(port["extra"].(map[string]any)) != 0 {
		t.Errorf("%v", port)
	}
	o.does(&port, "port", "show", "--address", "aa:bb:cc:dd:ee:01")
	o.does(&group, "port", "group", "create", "--node", id, "--name", "bond0", "--mode", "802.3ad", "--property", "miimon=100")
	o.does(nil, "port", "set", nic, "--port-group", group["uuid"].(string))
	o.does(&list, "port", "list", "--port-group", "bond0")
	if len(list) != 1 || list[0]["uuid"] != nic {
		t.Errorf("%v", list)
	}
	o.refused("contains ports", "port", "group", "delete", "bond0")
	o.does(nil, "port", "unset", nic, "--port-group")
	o.does(nil, "port", "group", "set", "bond0", "--extra", "a=1")
	o.does(nil, "port", "group", "unset", "bond0", "--extra", "a")
	o.does(&group, "port", "group", "show", "bond0")
	if group["mode"] != "802.3ad" || len(group["extra"].(map[string]any)) != 0 {
		t.Errorf("%v", group)
	}
	o.does(&list, "port", "group", "list", "--long")
	o.does(nil, "port", "group", "delete", "bond0")
	o.does(nil, "chassis", "set", rack, "--description", "rack 2", "--extra", "row=1")
	o.does(nil, "chassis", "unset", rack, "--extra", "row")
	o.does(&list, "chassis", "list", "--long")
	if len(list) != 1 || list[0]["description"] != "rack 2" {
		t.Errorf("%v", list)
	}

	var template map[string]any
	o.does(&template, "deploy", "template", "create", "CUSTOM_BIOS", "--steps", `[{"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "priority": 150}]`)
	o.does(nil, "deploy", "template", "set", "CUSTOM_BIOS", "--extra", "a=1")
	o.does(nil, "deploy", "template", "unset", "CUSTOM_BIOS", "--extra", "a")
	o.does(&list, "deploy", "template", "list", "--long")
	if len(list) != 1 || list[0]["name"] != "CUSTOM_BIOS" {
		t.Errorf("%v", list)
	}
	o.does(&template, "deploy", "template", "show", "CUSTOM_BIOS")
	o.does(nil, "deploy", "template", "delete", "CUSTOM_BIOS")
	o.does(&list, "shard", "list")

	o.does(&template, "allocation", "create", "--resource-class", "silver", "--name", "mine", "--trait", "CUSTOM_B", "--candidate-node", "n1", "--extra", "a=1")
	o.does(nil, "allocation", "set", "mine", "--extra", "b=2")
	o.does(nil, "allocation", "unset", "mine", "--extra", "a")
	o.does(&template, "allocation", "show", "mine")
	if template["state"] != "error" || !strings.Contains(template["last_error"].(string), "none of the requested nodes are available") {
		t.Errorf("of a node that is not available: %v", template)
	}
	o.does(&list, "allocation", "list", "--long", "--state", "error")
	o.refused("Allocation for node n1 was not found", "allocation", "show", "--node", "n1")
	o.does(nil, "allocation", "delete", "mine")
	o.does(&template, "runbook", "create", "--name", "CUSTOM_BOOK", "--public", "true", "--steps", `[{"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "order": 1}]`)
	o.does(nil, "runbook", "set", "CUSTOM_BOOK", "--extra", "a=1")
	o.does(nil, "runbook", "unset", "CUSTOM_BOOK", "--extra", "a")
	o.does(&list, "runbook", "list", "--long")
	o.does(&template, "runbook", "show", "CUSTOM_BOOK")
	o.does(nil, "runbook", "delete", "CUSTOM_BOOK")
	o.does(&template, "inspection", "rule", "create", "--actions", `[{"op": "log", "args": {"msg": "seen"}}]`, "--description", "d", "--priority", "5")
	rule := template["uuid"].(string)
	o.does(nil, "inspection", "rule", "set", rule, "--description", "e")
	o.does(&list, "inspection", "rule", "list", "--long")
	o.does(nil, "inspection", "rule", "delete", rule)

	o.refused("A node with name n1 already exists.", "node", "create", "--driver", "redfish", "--name", "n1")
	o.refused("No valid host was found", "node", "create", "--driver", "nothing")
	o.refused("could not be found", "node", "show", "nobody")
	o.refused("contains nodes", "chassis", "delete", rack)
	o.refused("Cannot change name to invalid name", "node", "set", "n1", "--name", "bad name")

	o.does(nil, "port", "delete", nic)
	o.does(nil, "node", "delete", "n1")
	o.does(nil, "chassis", "delete", rack)
	if o.does(&list, "node", "list"); len(list) != 0 {
		t.Errorf("%v", list)
	}
}
