//go:build real

package baremetal

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/ipmitest"
	"holdfast.dev/integration/cloud"
)

// TestByTheNetwork is the life of a machine without a drive for media, whose BMC speaks
// IPMI: it is inspected, cleaned, deployed, rescued, serviced and undeployed by ramdisks that
// iPXE boots, though its conductor is killed half-way, and each time nothing is left.
func TestByTheNetwork(t *testing.T) {
	c := withMachine(t)
	o, machine := Start(t, c), c.BMC.Machines[0]
	controller := ipmitest.Serve(t, machine, ipmitest.Options{Username: cloud.BMCUser, Password: cloud.BMCPassword})
	host, port, err := net.SplitHostPort(controller.Address)
	if err != nil {
		t.Fatal(err)
	}
	at, sum := cloud.Files(t)
	enroll := []string{"node", "create", "--driver", "ipmi", "--name", "m1", "--boot-interface", "ipxe", "--deploy-interface", "direct", "--inspect-interface", "agent", "--rescue-interface", "agent"}
	for _, info := range []string{"ipmi_address=" + host, "ipmi_port=" + port, "ipmi_username=" + cloud.BMCUser, "ipmi_password=" + cloud.BMCPassword,
		"deploy_kernel=" + at + "/kernel", "deploy_ramdisk=" + at + "/ramdisk", "rescue_kernel=" + at + "/kernel", "rescue_ramdisk=" + at + "/ramdisk"} {
		enroll = append(enroll, "--driver-info", info)
	}
	var node map[string]any
	o.Does(&node, enroll...)
	o.Does(nil, "port", "create", machine.MAC, "--node", node["uuid"].(string))

	// left fails the test unless the machine runs what it should, and nothing is left of how
	// it was booted.
	left := func(state string, what bmc.Runs, boots ...string) {
		t.Helper()
		comes(c, o, state)
		c.Eventually(fmt.Sprintf("the machine runs %q", what), time.Minute, func(context.Context) error {
			if runs := machine.Runs(); runs != what {
				return fmt.Errorf("it runs %q (%v)", runs, machine.BootFailure())
			}
			return nil
		})
		if is := fmt.Sprint(machine.Boot()); !slices.Contains(boots, is) {
			t.Errorf("%s: it starts from %s", state, is)
		}
		if files := c.BootFiles(); len(files) > 0 {
			t.Errorf("%s: %v is served", state, files)
		}
	}
	const asUsual, disk = "{None Disabled UEFI}", "{Hdd Continuous UEFI}"

	o.Does(nil, "node", "manage", "m1", "--wait", "60")
	o.Does(nil, "node", "inspect", "m1", "--wait", "120")
	left("manageable", bmc.Nothing, asUsual)
	machine.Lag = 5 * time.Second
	machine.MisbehaveAgent("", bmc.Slow)
	o.Does(nil, "node", "provide", "m1")
	killConductor(c, machine, "clean.execute_clean_step")
	c.Restart(cloud.Conductor)
	left("available", bmc.Nothing, asUsual)
	if did := machine.Did(); !slices.Equal(did, []string{"erase_devices_metadata", "erase_devices"}) {
		t.Errorf("it was cleaned by %v", did)
	}

	o.Does(nil, "node", "set", "m1", "--instance-info", "image_source="+at+"/first", "--instance-info", "image_os_hash_algo=sha256", "--instance-info", "image_os_hash_value="+sum("first"))
	machine.MisbehaveAgent("", bmc.Slow)
	o.Does(nil, "node", "deploy", "m1", "--config-drive", `{"meta_data": {"hostname": "first-host"}}`)
	killConductor(c, machine, "deploy.execute_deploy_step")
	c.Restart(cloud.Conductor)
	left("active", bmc.Disk, disk)
	if got := machine.Content(); got.SHA256 != sum("first") {
		t.Errorf("the disk holds %+v", got)
	}

	o.Does(nil, "node", "service", "m1", "--service-steps", `[{"interface": "deploy", "step": "burnin_cpu"}]`, "--wait", "120")
	left("active", bmc.Disk, disk)
	o.Does(nil, "node", "rescue", "m1", "--rescue-password", password, "--wait", "120")
	left("rescue", bmc.Ramdisk, asUsual)
	o.Does(nil, "node", "unrescue", "m1", "--wait", "60")
	left("active", bmc.Disk, disk)

	// Its conductor is away while the machine asks what it is booted from.
	machine.Forget()
	o.Does(nil, "node", "undeploy", "m1")
	c.Eventually("it is turned on again", time.Minute, func(context.Context) error {
		if turns := machine.Turns(); !slices.Contains(turns, bmc.On) {
			return fmt.Errorf("it was turned %v", turns)
		}
		return nil
	})
	c.Kill(cloud.Conductor)
	c.Restart(cloud.Conductor)
	left("available", bmc.Nothing, asUsual)
	if text := fmt.Sprint(machine.Turns()); text != "[Off On Off]" {
		t.Errorf("it was turned %s", text)
	}
	c.Audit()
}
