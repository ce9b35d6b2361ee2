//go:build real

package baremetal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/iso/isotest"
)

// withMachine is a cloud with a machine.
func withMachine(t *testing.T) *cloud.Cloud {
	t.Helper()
	return cloud.Start(t, cloud.Options{Hosts: 1, Machines: 1, Config: map[string]any{
		"baremetal.enabled_inspect_interfaces": []string{"agent", "redfish"},
		"dev.static_tokens": []map[string]any{
			{"token": cloud.UserToken, "user": "alice", "project": "demo", "roles": []string{"admin"}},
			{"token": cloud.AdminToken, "user": "root", "system": true, "roles": []string{"admin"}},
		}}})
}

// enrollment is the command by which the machine is enrolled as m1, to be booted from
// files that are at an address.
func enrollment(c *cloud.Cloud, at string) []string {
	command := []string{"node", "create", "--driver", "redfish", "--name", "m1", "--boot-interface", "redfish-virtual-media", "--deploy-interface", "direct",
		"--inspect-interface", "redfish", "--rescue-interface", "agent"}
	for _, info := range []string{"redfish_address=" + c.BMC.URL(), "redfish_system_id=/redfish/v1/Systems/1", "redfish_username=" + cloud.BMCUser,
		"redfish_password=" + cloud.BMCPassword, "redfish_verify_ca=" + c.BMC.CAFile,
		"deploy_kernel=" + at + "/kernel", "deploy_ramdisk=" + at + "/ramdisk", "bootloader=" + at + "/esp",
		"rescue_kernel=" + at + "/kernel", "rescue_ramdisk=" + at + "/ramdisk"} {
		command = append(command, "--driver-info", info)
	}
	return command
}

// TestALife is a machine's way from the rack to an instance, to another and back: it is
// verified, inspected, cleaned by its ramdisk, deployed with a config drive, rebuilt,
// serviced, rescued, taken over by another row, undeployed and cleaned by hand.
func TestALife(t *testing.T) {
	c := withMachine(t)
	o, machine := Start(t, c), c.BMC.Machines[0]
	at, sum := cloud.Files(t)
	var node map[string]any
	enroll := func() {
		t.Helper()
		o.Does(&node, enrollment(c, at)...)
		o.Does(nil, "port", "create", machine.MAC, "--node", node["uuid"].(string)) // by which its ramdisk says which node it is
		o.Does(nil, "node", "manage", "m1", "--wait", "60")
	}

	// is fails the test unless the node has come to a state, without a word of an error.
	is := func(state, power string) {
		t.Helper()
		if o.Does(&node, "node", "show", "m1"); node["provision_state"] != state || node["target_provision_state"] != nil || node["power_state"] != power ||
			node["last_error"] != nil || node["reservation"] != nil || node["maintenance"] != false {
			t.Fatalf("%v", node)
		}
	}
	// comes waits for a state.
	comes := func(state string) {
		t.Helper()
		node = comes(c, o, state)
	}
	// image says what is to be written, and written fails the test unless the machine
	// has started from it.
	image := func(name string) {
		o.Does(nil, "node", "set", "m1", "--instance-info", "image_source="+at+"/"+name, "--instance-info", "image_os_hash_algo=sha256", "--instance-info", "image_os_hash_value="+sum(name))
	}
	written := func(name, drive string) {
		t.Helper()
		c.Eventually("the machine has started", time.Minute, func(context.Context) error {
			if runs := machine.Runs(); runs != bmc.Disk {
				return fmt.Errorf("it runs %q", runs)
			}
			return nil
		})
		if got := machine.Content(); got.SHA256 != sum(name) || machine.Medium() != "" {
			t.Errorf("the disk holds %+v, and the drive %q", got, machine.Medium())
		} else if text := isotest.Drive(t, got.ConfigDrive, "meta_data.json")["meta_data.json"]; !strings.Contains(text, drive) {
			t.Errorf("the config drive says %s", text)
		}
	}
	// left fails the test unless the machine goes off, with nothing in its drive. One that
	// is about to be off is off to those who look at its power.
	left := func() {
		t.Helper()
		c.Eventually("the machine is off", time.Minute, func(context.Context) error {
			if power := machine.Power(); power != bmc.Off {
				return fmt.Errorf("it is %s", power)
			}
			return nil
		})
		if medium := machine.Medium(); medium != "" {
			t.Errorf("%q is in its drive", medium)
		}
	}
	enroll()
	is("manageable", "power off")
	o.Does(nil, "node", "inspect", "m1", "--wait", "60")
	is("manageable", "power off")
	if s := o.Ask("node", "inventory", "save", "m1"); s.Code != 0 || !strings.Contains(s.Out, machine.MAC) {
		t.Errorf("the inventory: %+v", s)
	}
	machine.Fit(4, []int64{40 << 30}, machine.MAC, "52:54:00:bc:aa:02")
	o.Does(nil, "node", "set", "m1", "--inspect-interface", "agent")
	o.Does(nil, "inspection", "rule", "create", "--conditions", `[{"op": "gt", "args": {"values": ["{inventory[memory][physical_mb]}", 1024], "force_strings": true}}]`,
		"--actions", `[{"op": "set-attribute", "args": {"path": "/extra/seen", "value": "{inventory[hostname]} {inventory[memory][physical_mb]}"}}, {"op": "add-trait", "args": {"name": "CUSTOM_SEEN"}}]`)
	o.Does(nil, "node", "inspect", "m1", "--wait", "120")
	is("manageable", "power off")
	left()
	if s := o.Ask("node", "inventory", "save", "m1"); s.Code != 0 || !strings.Contains(s.Out, `"hostname": "ramdisk"`) || !strings.Contains(s.Out, `"valid_interfaces"`) {
		t.Errorf("the inventory: %+v", s)
	}
	var ports []map[string]any
	if o.Does(&ports, "port", "list", "--node", "m1"); len(ports) != 2 || node["properties"].(map[string]any)["cpu_arch"] != "x86_64" ||
		node["extra"].(map[string]any)["seen"] != "ramdisk 4096" || fmt.Sprint(node["traits"]) != "[CUSTOM_SEEN]" {
		t.Errorf("%v, %v, %v, %v", ports, node["properties"], node["extra"], node["traits"])
	}
	machine.Finds(func(found map[string]any) { found["error"] = "it burns" })
	o.Refused("Ramdisk reported error: it burns", "node", "inspect", "m1", "--wait", "120")
	machine.Finds(nil)
	left()
	o.Does(nil, "node", "manage", "m1", "--wait", "60")
	o.Does(nil, "node", "provide", "m1", "--wait", "120")
	is("available", "power off")
	if left(); len(machine.Did()) == 0 {
		t.Error("it was cleaned by nothing")
	}

	image("first")
	o.Does(nil, "node", "deploy", "m1", "--config-drive", `{"meta_data": {"hostname": "first-host"}}`, "--wait", "120")
	is("active", "power on")
	written("first", "first-host")
	o.Refused("can not be performed on node", "node", "provide", "m1")

	// A template that a trait calls has the ramdisk start anew, and the request has the node
	// be held.
	machine.Can("deploy", bmc.Step{Step: "prepare_disks", Interface: "deploy", RebootRequested: true})
	o.Does(nil, "deploy", "template", "create", "CUSTOM_SEEN", "--steps", `[{"interface": "deploy", "step": "prepare_disks", "args": {}, "priority": 85}]`)
	image("second")
	o.Does(nil, "node", "set", "m1", "--instance-info", `traits=["CUSTOM_SEEN"]`)
	deployed := len(machine.Did())
	o.Does(nil, "node", "rebuild", "m1", "--config-drive", `{"meta_data": {"hostname": "second-host"}}`,
		"--deploy-steps", `[{"interface": "deploy", "step": "erase_devices_metadata", "args": {}, "priority": 90}, {"interface": "power", "step": "hold", "args": {}, "priority": 50}]`)
	comes("deploy hold")
	if step := node["deploy_step"].(map[string]any); step["step"] != "hold" || node["driver_internal_info"].(map[string]any)["deploy_step_index"] != 5.0 || machine.Runs() != bmc.Ramdisk {
		t.Errorf("it is held at %v, and runs %q: %v", step, machine.Runs(), node["driver_internal_info"])
	}
	if did := machine.Did()[deployed:]; !slices.Equal(did, []string{"erase_devices_metadata", "prepare_disks", "write_image"}) {
		t.Errorf("it was deployed by %v", did)
	}
	o.Does(nil, "node", "unhold", "m1")
	comes("active")
	is("active", "power on")
	written("second", "second-host")
	o.Refused("node does not support this deploy step", "node", "rebuild", "m1", "--wait", "120",
		"--deploy-steps", `[{"interface": "deploy", "step": "fly", "args": {}, "priority": 90}]`)
	left()
	o.Does(nil, "node", "rebuild", "m1", "--config-drive", `{"meta_data": {"hostname": "second-host"}}`, "--wait", "120")
	is("active", "power on")
	written("second", "second-host")

	// An image of a partition, with room beside it.
	image("third")
	o.Does(nil, "node", "set", "m1", "--instance-info", "image_type=partition", "--instance-info", "root_gb=4", "--instance-info", "swap_mb=512", "--instance-info", "ephemeral_gb=1")
	o.Does(nil, "node", "rebuild", "m1", "--config-drive", `{"meta_data": {"hostname": "third-host"}}`, "--wait", "120")
	is("active", "power on")
	written("third", "third-host")
	kept := machine.Content().Partitions
	if kept == nil || kept.RootMB != 4096 || kept.SwapMB != 512 || kept.EphemeralMB != 1024 {
		t.Fatalf("%+v", kept)
	}
	image("second")
	o.Does(nil, "node", "set", "m1", "--instance-info", "root_gb=5", "--instance-info", "preserve_ephemeral=true")
	o.Refused("Deployed value of root_gb was 4 but requested value is 5.", "node", "rebuild", "m1", "--wait", "120")
	o.Does(nil, "node", "set", "m1", "--instance-info", "root_gb=4")
	o.Does(nil, "node", "rebuild", "m1", "--config-drive", `{"meta_data": {"hostname": "second-host"}}`, "--wait", "120")
	is("active", "power on")
	written("second", "second-host")
	if now := machine.Content().Partitions; now.Root == kept.Root || now.Ephemeral != kept.Ephemeral {
		t.Errorf("%+v after %+v", now, kept)
	}

	serviced := len(machine.Did())
	o.Does(nil, "node", "service", "m1", "--service-steps", `[{"interface": "deploy", "step": "burnin_cpu"}]`, "--wait", "120")
	is("active", "power on")
	written("second", "second-host")
	if did := machine.Did()[serviced:]; !slices.Equal(did, []string{"burnin_cpu"}) {
		t.Errorf("it was serviced by %v", did)
	}

	runs := func(what bmc.Runs) {
		t.Helper()
		c.Eventually(fmt.Sprintf("the machine runs %q", what), time.Minute, func(context.Context) error {
			if runs := machine.Runs(); runs != what {
				return fmt.Errorf("it runs %q", runs)
			}
			return nil
		})
		if got := machine.Content(); got.SHA256 != sum("second") || machine.Medium() != "" {
			t.Errorf("the disk holds %+v, and the drive %q", got, machine.Medium())
		}
	}
	o.Does(nil, "node", "rescue", "m1", "--rescue-password", password, "--wait", "120")
	is("rescue", "power on")
	runs(bmc.Ramdisk)
	o.Does(nil, "node", "unrescue", "m1", "--wait", "60")
	is("active", "power on")
	runs(bmc.Disk)

	// The row is lost, and another takes the instance over.
	o.Does(nil, "node", "maintenance", "set", "m1")
	o.Does(nil, "node", "delete", "m1")
	enroll()
	is("manageable", "power on")
	machine.Forget()
	o.Does(nil, "node", "adopt", "m1", "--wait", "60")
	is("active", "power on")
	runs(bmc.Disk)
	if turns := machine.Turns(); len(turns) > 0 {
		t.Errorf("it was turned %v", turns)
	}
	o.Does(nil, "node", "rescue", "m1", "--rescue-password", password, "--wait", "120")
	is("rescue", "power on")
	image("second")

	o.Does(nil, "node", "set", "m1", "--protected")
	o.Refused("is protected and cannot be undeployed, rebuilt or deleted", "node", "undeploy", "m1")
	o.Does(nil, "node", "unset", "m1", "--protected")
	o.Does(nil, "node", "undeploy", "m1", "--wait", "120")
	is("available", "power off")
	if info := node["instance_info"].(map[string]any); len(info) > 0 || node["instance_uuid"] != nil {
		t.Errorf("%v is left of the instance", info)
	}
	left()

	before := len(machine.Did())
	o.Does(nil, "node", "manage", "m1")
	o.Does(nil, "node", "clean", "m1", "--clean-steps", `[{"interface": "deploy", "step": "erase_devices"}]`, "--wait", "120")
	is("manageable", "power off")
	if did := machine.Did()[before:]; !slices.Equal(did, []string{"erase_devices"}) || machine.Content().SHA256 != "" {
		t.Errorf("it did %v, and the disk holds %+v", did, machine.Content())
	}
	o.Does(nil, "node", "set", "m1", "--raid-interface", "redfish", "--target-raid-config", `{"logical_disks": [{"size_gb": 10, "raid_level": "0", "volume_name": "ten"}]}`)
	o.Does(nil, "node", "clean", "m1", "--clean-steps", `[{"interface": "raid", "step": "create_configuration"}, {"interface": "management", "step": "set_bmc_clock"}]`, "--wait", "120")
	is("manageable", "power off")
	if made := machine.Volumes(); len(made) != 1 || made[0].Bytes != 10<<30 || !strings.Contains(fmt.Sprint(node["raid_config"]), "name:ten") {
		t.Errorf("%+v, %v", made, node["raid_config"])
	}
	o.Does(nil, "node", "clean", "m1", "--clean-steps", `[{"interface": "deploy", "step": "fly"}]`)
	comes("clean failed")
	if text := fmt.Sprint(node["last_error"]); !strings.Contains(text, "node does not support this clean step: {'interface': 'deploy', 'step': 'fly'}") || node["maintenance"] != false {
		t.Errorf("%s, %v", text, node["maintenance"])
	}
	left()
	c.Audit()
}

// password is what the machine's user enters its rescue by.
const password = "s3cret"
