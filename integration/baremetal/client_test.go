//go:build real

package baremetal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
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
	o.does(nil, "allocation", "delete", "mine")
	o.does(&template, "runbook", "create", "--name", "CUSTOM_BOOK", "--public", "true", "--steps", `[{"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "order": 1}]`)
	o.does(nil, "runbook", "set", "CUSTOM_BOOK", "--extra", "a=1")
	o.does(nil, "runbook", "unset", "CUSTOM_BOOK", "--extra", "a")
	o.does(&list, "runbook", "list", "--long")
	o.does(&template, "runbook", "show", "CUSTOM_BOOK")
	o.does(nil, "runbook", "delete", "CUSTOM_BOOK")
	o.does(&template, "inspection", "rule", "create", "--actions", `[{"op": "log", "args": {"msg": "seen"}}]`, "--description", "d", "--conditions", "[]")
	rule := template["uuid"].(string)
	o.does(nil, "inspection", "rule", "set", rule, "--description", "e")
	o.does(&list, "inspection", "rule", "list", "--long")
	o.does(nil, "inspection", "rule", "delete", rule)

	o.refused("A node with name n1 already exists.", "node", "create", "--driver", "redfish", "--name", "n1")
	o.refused("No valid host was found", "node", "create", "--driver", "nothing")
	o.refused("could not be found", "node", "show", "nobody")
	o.refused("contains nodes", "chassis", "delete", rack)
	o.refused("Cannot change name to invalid name", "node", "set", "n1", "--name", "bad name")

	o.does(&list, "node", "history", "list", "n1")
	o.does(&list, "node", "bios", "setting", "list", "n1")
	o.does(&list, "node", "firmware", "list", "n1")
	o.refused("Node inventory record", "node", "inventory", "save", "n1")
	o.does(nil, "node", "vif", "attach", "n1", "a-vif")
	if o.does(&list, "node", "vif", "list", "n1"); len(list) != 1 || list[0]["id"] != "a-vif" {
		t.Errorf("the VIFs are %v", list)
	}
	o.does(nil, "node", "vif", "detach", "n1", "a-vif")
	o.refused("not attached to it", "node", "vif", "detach", "n1", "a-vif")

	o.does(nil, "port", "delete", nic)
	o.does(nil, "node", "delete", "n1")
	o.does(nil, "chassis", "delete", rack)
	if o.does(&list, "node", "list"); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

// TestPower is the power of a machine behind a simulated Redfish service.
func TestPower(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Hosts: 1, Machines: 2, Config: map[string]any{
		"baremetal.enabled_hardware_types": []string{"fake-hardware", "redfish"},
		"dev.static_tokens": []map[string]any{
			{"token": cloud.UserToken, "user": "alice", "project": "demo", "roles": []string{"admin"}},
			{"token": cloud.AdminToken, "user": "root", "system": true, "roles": []string{"admin"}},
		}}})
	o := start(t, c)
	var node map[string]any
	o.does(&node, "node", "create", "--driver", "redfish", "--name", "m1", "--driver-info", "redfish_address="+c.BMC.URL(),
		"--driver-info", "redfish_system_id=/redfish/v1/Systems/1", "--driver-info", "redfish_username="+cloud.BMCUser,
		"--driver-info", "redfish_password="+cloud.BMCPassword, "--driver-info", "redfish_verify_ca="+c.BMC.CAFile)
	o.does(nil, "node", "create", "--driver", "fake-hardware", "--name", "f1")
	machine := c.BMC.Machines[0]

	// settled waits until nobody works on a node, and gives it.
	settled := func(name string) map[string]any {
		t.Helper()
		c.Eventually(name+" is at rest", 2*time.Minute, func(context.Context) error {
			o.does(&node, "node", "show", name)
			if node["reservation"] != nil || node["target_power_state"] != nil {
				return fmt.Errorf("%v works on it", node["reservation"])
			}
			return nil
		})
		return node
	}
	for _, ask := range []struct {
		command []string
		power   string
		turns   []bmc.Power
	}{
		{[]string{"power", "on"}, "power on", []bmc.Power{bmc.On}},
		{[]string{"power", "off"}, "power off", []bmc.Power{bmc.Off}},
		{[]string{"reboot"}, "power on", []bmc.Power{bmc.On}},
		{[]string{"reboot"}, "power on", []bmc.Power{bmc.Off, bmc.On}},
		{[]string{"power", "off", "--soft", "--power-timeout", "20"}, "power off", []bmc.Power{bmc.Off}},
	} {
		machine.Forget()
		command := append([]string{"node"}, ask.command...)
		o.does(nil, append(command, "m1")...)
		if got := settled("m1"); got["power_state"] != ask.power || got["last_error"] != nil || !slices.Equal(machine.Turns(), ask.turns) {
			t.Errorf("%v: %v, %v, turned %v", ask.command, got["power_state"], got["last_error"], machine.Turns())
		}
	}
	o.does(nil, "node", "power", "on", "f1")
	if got := settled("f1"); got["power_state"] != "power on" {
		t.Errorf("%v", got)
	}

	// While a conductor works on it nobody else does, and one that is killed in the
	// middle of a reboot is followed by one that turns the machine on.
	machine.Put(bmc.On)
	machine.Forget()
	machine.Lag = 15 * time.Second
	machine.Misbehave(bmc.Slow)
	o.does(nil, "node", "reboot", "m1")
	o.refused("is locked by host conductor-1, please retry after the current operation is completed", "node", "power", "off", "m1")
	c.Eventually("the machine is told to turn off", time.Minute, func(context.Context) error {
		if len(machine.Turns()) == 0 {
			return errors.New("it isn't")
		}
		return nil
	})
	c.Kill(cloud.Conductor)
	c.Restart(cloud.Conductor)
	if got := settled("m1"); got["power_state"] != "power on" || !slices.Equal(machine.Turns(), []bmc.Power{bmc.Off, bmc.On}) {
		t.Errorf("%v, %v, turned %v", got["power_state"], got["last_error"], machine.Turns())
	}
	machine.Misbehave(bmc.Refuses)
	o.does(nil, "node", "power", "off", "m1")
	if got := settled("m1"); got["power_state"] != "power on" ||
		got["last_error"] != "Failed to change power state to 'power off' by 'power off': Redfish exception occurred. Error: the BMC answered with status 400: The system can't do that." {
		t.Errorf("%v, %v", got["power_state"], got["last_error"])
	}
	c.Audit()
}
