//go:build real

package baremetal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// TestEnrolment is a rack's way into the service and out of it again.
func TestEnrolment(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{"dev.static_tokens": []map[string]any{
		{"token": cloud.UserToken, "user": "alice", "project": "demo", "roles": []string{"admin"}},
		{"token": cloud.AdminToken, "user": "root", "system": true, "roles": []string{"admin"}},
	}}})
	o := Start(t, c)

	var drivers []map[string]any
	o.Does(&drivers, "driver", "list")
	if len(drivers) != 2 || drivers[0]["name"] != "ipmi" || drivers[1]["name"] != "redfish" {
		t.Errorf("the drivers are %v", drivers)
	}
	var driver map[string]any
	o.Does(&driver, "driver", "show", "redfish")
	if driver["default_power_interface"] != "redfish" {
		t.Errorf("%v", driver)
	}
	o.Does(nil, "driver", "property", "list", "redfish")

	var chassis, node, port, group map[string]any
	o.Does(&chassis, "chassis", "create", "--description", "rack 1")
	rack := chassis["uuid"].(string)
	o.Does(&node, "node", "create", "--driver", "redfish", "--name", "n1", "--chassis-uuid", rack, "--resource-class", "gold",
		"--driver-info", "redfish_address=https://192.0.2.1", "--driver-info", "redfish_password=hidden",
		"--property", "cpu_arch=x86_64", "--extra", "slot=4")
	if node["provision_state"] != "enroll" || node["power_interface"] != "redfish" || node["driver_info"].(map[string]any)["redfish_password"] != "******" {
		t.Errorf("%v", node)
	}
	id := node["uuid"].(string)
	o.Does(&port, "port", "create", "aa:bb:cc:dd:ee:01", "--node", id, "--physical-network", "physnet1")
	nic := port["uuid"].(string)

	o.Does(nil, "node", "set", "n1", "--resource-class", "silver", "--property", "memory_mb=1024", "--description", "the first")
	o.Does(nil, "node", "unset", "n1", "--extra", "slot", "--description")
	o.Does(nil, "node", "add", "trait", "n1", "CUSTOM_A", "CUSTOM_B")
	o.Does(nil, "node", "remove", "trait", "n1", "CUSTOM_A")
	o.Does(nil, "node", "maintenance", "set", "n1", "--reason", "moving")
	o.Does(&node, "node", "show", "n1")
	for field, want := range map[string]any{"resource_class": "silver", "description": nil, "maintenance": true, "maintenance_reason": "moving", "chassis_uuid": rack} {
		if node[field] != want {
			t.Errorf("%s is %v, not %v", field, node[field], want)
		}
	}
	if traits := node["traits"].([]any); len(traits) != 1 || traits[0] != "CUSTOM_B" {
		t.Errorf("the traits are %v", traits)
	}
	o.Does(nil, "node", "maintenance", "unset", "n1")

	var list []map[string]any
	o.Does(&list, "node", "list", "--resource-class", "silver", "--sort", "name:desc")
	if len(list) != 1 || list[0]["name"] != "n1" || list[0]["provision_state"] != "enroll" {
		t.Errorf("%v", list)
	}
	o.Does(&list, "node", "list", "--long", "--limit", "0")
	o.Does(&list, "node", "list", "--fields", "uuid", "driver", "properties")
	o.Does(&list, "node", "trait", "list", "n1")
	o.Does(&list, "port", "list", "--node", "n1", "--long")
	if len(list) != 1 || list[0]["uuid"] != nic {
		t.Errorf("%v", list)
	}
	o.Does(nil, "port", "set", nic, "--extra", "a=1", "--pxe-disabled")
	o.Does(nil, "port", "unset", nic, "--extra", "a")
	o.Does(&port, "port", "show", nic)
	if port["pxe_enabled"] != false || len(port["extra"].(map[string]any)) != 0 {
		t.Errorf("%v", port)
	}
	o.Does(&port, "port", "show", "--address", "aa:bb:cc:dd:ee:01")
	o.Does(&group, "port", "group", "create", "--node", id, "--name", "bond0", "--mode", "802.3ad", "--property", "miimon=100")
	o.Does(nil, "port", "set", nic, "--port-group", group["uuid"].(string))
	o.Does(&list, "port", "list", "--port-group", "bond0")
	if len(list) != 1 || list[0]["uuid"] != nic {
		t.Errorf("%v", list)
	}
	o.Refused("contains ports", "port", "group", "delete", "bond0")
	o.Does(nil, "port", "unset", nic, "--port-group")
	o.Does(nil, "port", "group", "set", "bond0", "--extra", "a=1")
	o.Does(nil, "port", "group", "unset", "bond0", "--extra", "a")
	o.Does(&group, "port", "group", "show", "bond0")
	if group["mode"] != "802.3ad" || len(group["extra"].(map[string]any)) != 0 {
		t.Errorf("%v", group)
	}
	o.Does(&list, "port", "group", "list", "--long")
	o.Does(nil, "port", "group", "delete", "bond0")
	o.Does(nil, "chassis", "set", rack, "--description", "rack 2", "--extra", "row=1")
	o.Does(nil, "chassis", "unset", rack, "--extra", "row")
	o.Does(&list, "chassis", "list", "--long")
	if len(list) != 1 || list[0]["description"] != "rack 2" {
		t.Errorf("%v", list)
	}

	var template map[string]any
	o.Does(&template, "deploy", "template", "create", "CUSTOM_BIOS", "--steps", `[{"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "priority": 150}]`)
	o.Does(nil, "deploy", "template", "set", "CUSTOM_BIOS", "--extra", "a=1")
	o.Does(nil, "deploy", "template", "unset", "CUSTOM_BIOS", "--extra", "a")
	o.Does(&list, "deploy", "template", "list", "--long")
	if len(list) != 1 || list[0]["name"] != "CUSTOM_BIOS" {
		t.Errorf("%v", list)
	}
	o.Does(&template, "deploy", "template", "show", "CUSTOM_BIOS")
	o.Does(nil, "deploy", "template", "delete", "CUSTOM_BIOS")
	o.Does(&list, "shard", "list")

	o.Does(&template, "allocation", "create", "--resource-class", "silver", "--name", "mine", "--trait", "CUSTOM_B", "--candidate-node", "n1", "--extra", "a=1")
	o.Does(nil, "allocation", "set", "mine", "--extra", "b=2")
	o.Does(nil, "allocation", "unset", "mine", "--extra", "a")
	o.Does(&template, "allocation", "show", "mine")
	if template["state"] != "error" || !strings.Contains(template["last_error"].(string), "none of the requested nodes are available") {
		t.Errorf("of a node that is not available: %v", template)
	}
	o.Does(&list, "allocation", "list", "--long", "--state", "error")
	o.Does(nil, "allocation", "delete", "mine")
	o.Does(&template, "runbook", "create", "--name", "CUSTOM_BOOK", "--public", "true", "--steps", `[{"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "order": 1}]`)
	o.Does(nil, "runbook", "set", "CUSTOM_BOOK", "--extra", "a=1")
	o.Does(nil, "runbook", "unset", "CUSTOM_BOOK", "--extra", "a")
	o.Does(&list, "runbook", "list", "--long")
	o.Does(&template, "runbook", "show", "CUSTOM_BOOK")
	o.Does(nil, "runbook", "delete", "CUSTOM_BOOK")
	o.Does(&template, "inspection", "rule", "create", "--actions", `[{"op": "log", "args": {"msg": "seen"}}]`, "--description", "d", "--conditions", "[]")
	rule := template["uuid"].(string)
	o.Does(nil, "inspection", "rule", "set", rule, "--description", "e")
	o.Does(&list, "inspection", "rule", "list", "--long")
	o.Does(nil, "inspection", "rule", "delete", rule)

	o.Refused("A node with name n1 already exists.", "node", "create", "--driver", "redfish", "--name", "n1")
	o.Refused("No valid host was found", "node", "create", "--driver", "nothing")
	o.Refused("could not be found", "node", "show", "nobody")
	o.Refused("contains nodes", "chassis", "delete", rack)
	o.Refused("Cannot change name to invalid name", "node", "set", "n1", "--name", "bad name")

	o.Does(&list, "node", "history", "list", "n1")
	o.Does(&list, "node", "bios", "setting", "list", "n1")
	o.Does(&list, "node", "firmware", "list", "n1")
	o.Refused("Node inventory record", "node", "inventory", "save", "n1")
	o.Does(nil, "node", "vif", "attach", "n1", "a-vif")
	if o.Does(&list, "node", "vif", "list", "n1"); len(list) != 0 {
		t.Errorf("a node without networks has the VIFs %v", list)
	}
	o.Does(nil, "node", "vif", "detach", "n1", "a-vif")

	o.Does(nil, "port", "delete", nic)
	o.Does(nil, "node", "delete", "n1")
	o.Does(nil, "chassis", "delete", rack)
	if o.Does(&list, "node", "list"); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

// TestPower is the power of a machine behind a simulated Redfish service.
func TestPower(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Hosts: 1, Machines: 2, Config: map[string]any{
		"baremetal.enabled_hardware_types": []string{"fake-hardware", "redfish"},
		// The client asks again by itself.
		"conductor.node_locked_retry_attempts": 1,
		"dev.static_tokens": []map[string]any{
			{"token": cloud.UserToken, "user": "alice", "project": "demo", "roles": []string{"admin"}},
			{"token": cloud.AdminToken, "user": "root", "system": true, "roles": []string{"admin"}},
		}}})
	o := Start(t, c)
	var node map[string]any
	o.Does(&node, "node", "create", "--driver", "redfish", "--name", "m1", "--driver-info", "redfish_address="+c.BMC.URL(),
		"--driver-info", "redfish_system_id=/redfish/v1/Systems/1", "--driver-info", "redfish_username="+cloud.BMCUser,
		"--driver-info", "redfish_password="+cloud.BMCPassword, "--driver-info", "redfish_verify_ca="+c.BMC.CAFile)
	o.Does(nil, "node", "create", "--driver", "fake-hardware", "--name", "f1")
	machine := c.BMC.Machines[0]

	// settled waits until nobody works on a node, and gives it.
	settled := func(name string) map[string]any {
		t.Helper()
		c.Eventually(name+" is at rest", 2*time.Minute, func(context.Context) error {
			o.Does(&node, "node", "show", name)
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
		o.Does(nil, append(command, "m1")...)
		if got := settled("m1"); got["power_state"] != ask.power || got["last_error"] != nil || !slices.Equal(machine.Turns(), ask.turns) {
			t.Errorf("%v: %v, %v, turned %v", ask.command, got["power_state"], got["last_error"], machine.Turns())
		}
	}
	o.Does(nil, "node", "power", "on", "f1")
	if got := settled("f1"); got["power_state"] != "power on" {
		t.Errorf("%v", got)
	}

	// While a conductor works on it nobody else does, and one that is killed in the
	// middle of a reboot is followed by one that turns the machine on.
	machine.Put(bmc.On)
	machine.Forget()
	machine.Lag = 15 * time.Second
	machine.Misbehave(bmc.Slow)
	o.Does(nil, "node", "reboot", "m1")
	o.Refused("is locked by host conductor-1, please retry after the current operation is completed", "node", "power", "off", "m1")
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
	o.Does(nil, "node", "power", "off", "m1")
	if got := settled("m1"); got["power_state"] != "power on" ||
		got["last_error"] != "Failed to change power state to 'power off' by 'power off': Redfish exception occurred. Error: the BMC answered with status 400: The system can't do that." {
		t.Errorf("%v, %v", got["power_state"], got["last_error"])
	}
	c.Audit()
}
