//go:build real

package baremetal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
)

// comes waits for a state of the node m1, and shows the node then.
func comes(c *cloud.Cloud, o *Client, state string) (node map[string]any) {
	o.t.Helper()
	c.Eventually("the node is "+state, 3*time.Minute, func(context.Context) error {
		if o.Does(&node, "node", "show", "m1"); node["provision_state"] != state {
			return fmt.Errorf("it is %v: %v", node["provision_state"], node["last_error"])
		}
		return nil
	})
	return node
}

// killConductor has the conductor be killed while a machine's ramdisk does what it was told.
func killConductor(c *cloud.Cloud, machine *bmc.Machine, command string) {
	c.Eventually("the ramdisk is told "+command, time.Minute, func(context.Context) error {
		if a := machine.Agent(); a == nil || !slices.Contains(a.Commands(), command) {
			return errors.New("it isn't")
		}
		return nil
	})
	c.Kill(cloud.Conductor)
}

// TestInterruptions is what becomes of a machine whose conductor is killed while its
// ramdisk is at work, whose rescue is aborted, and whose instance is taken away while its
// ramdisk is waited for: it comes to where it should, what it was told it was told once,
// and nothing is left.
func TestInterruptions(t *testing.T) {
	c := withMachine(t)
	o, machine := Start(t, c), c.BMC.Machines[0]
	at, sum := cloud.Files(t)
	var node map[string]any
	o.Does(&node, enrollment(c, at)...)
	id := node["uuid"].(string)
	port := func() { o.Does(nil, "port", "create", machine.MAC, "--node", id) }
	// strange has the ramdisk not know which node it is on: it doesn't call back.
	strange := func() {
		var ports []map[string]any
		o.Does(&ports, "port", "list", "--node", id)
		o.Does(nil, "port", "delete", ports[0]["uuid"].(string))
	}
	is := func(state string) {
		t.Helper()
		node = comes(c, o, state)
	}
	killed := func(command string) {
		t.Helper()
		killConductor(c, machine, command)
	}
	rescue := func() { o.Does(nil, "node", "rescue", "m1", "--rescue-password", password) }

	port()
	o.Does(nil, "node", "manage", "m1", "--wait", "60")
	machine.Lag = 5 * time.Second
	machine.MisbehaveAgent("", bmc.Slow)
	o.Does(nil, "node", "provide", "m1")
	killed("clean.execute_clean_step")
	c.Restart(cloud.Conductor)
	is("available")
	if did := machine.Did(); !slices.Equal(did, []string{"erase_devices_metadata", "erase_devices"}) {
		t.Errorf("it was cleaned by %v", did)
	}

	o.Does(nil, "node", "set", "m1", "--instance-info", "image_source="+at+"/first", "--instance-info", "image_os_hash_algo=sha256", "--instance-info", "image_os_hash_value="+sum("first"))
	o.Does(nil, "node", "deploy", "m1", "--wait", "120")
	strange()
	rescue()
	is("rescue wait")
	o.Does(nil, "node", "maintenance", "set", "m1", "--reason", "mine")
	o.Does(nil, "node", "abort", "m1")
	is("rescue failed")
	if node["maintenance_reason"] != "mine" || machine.Medium() != "" {
		t.Errorf("%v, %q is in the drive", node, machine.Medium())
	}
	o.Does(nil, "node", "maintenance", "unset", "m1")
	port()

	machine.MisbehaveAgent(bmc.Slow)
	rescue()
	killed("rescue.finalize_rescue")
	c.Eventually("the ramdisk has its password", time.Minute, func(context.Context) error {
		if len(machine.Passwords()) == 0 {
			return errors.New("it hasn't")
		}
		return nil
	})
	// It is not heard of for as long as a ramdisk may be silent.
	for _, past := range []string{
		`UPDATE baremetal.acts SET sent_at = sent_at - interval '6 minutes' WHERE name = 'rescue'`,
		`UPDATE baremetal.nodes SET driver_internal_info = driver_internal_info || '{"agent_last_heartbeat": "2000-01-01T00:00:00.000000"}'`,
	} {
		if _, err := c.DB.Pool.Exec(t.Context(), past); err != nil {
			t.Fatal(err)
		}
	}
	c.Restart(cloud.Conductor)
	is("rescue")
	if given := machine.Passwords(); len(given) != 1 || machine.Runs() != bmc.Ramdisk {
		t.Errorf("it runs %q, and was given %v", machine.Runs(), given)
	}

	strange()
	rescue()
	is("rescue wait")
	o.Does(nil, "node", "undeploy", "m1")
	port()
	is("available")
	if machine.Medium() != "" {
		t.Errorf("%q is in the drive", machine.Medium())
	}
	c.Audit()
}
