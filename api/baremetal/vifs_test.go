package baremetal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"holdfast.dev/api/baremetal"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	rows "holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// bears has the operation of a VIF of a node be done, in the rows alone, as it begins; one
// that Neutron refuses says so.
func (c *cloud) bears(node string, refused *steps.Fault) {
	c.door.begins = func(string) {
		if refused != nil {
			c.finish(node, operations.ResultFailed, steps.NodeOutcome{Told: true}, refused)
			return
		}
		var ask steps.NodeCommandInput
		if err := json.Unmarshal([]byte(c.input(node)), &ask); err != nil {
			c.t.Fatal(err)
		}
		computetest.InTx(c.t, c.db, func(tx store.Tx) error {
			n, err := rows.Nodes.Find(c.t.Context(), tx, node, false)
			if err != nil {
				return err
			}
			wires, err := nodes.WiringOf(c.t.Context(), tx, n)
			if err != nil {
				return err
			}
			b, vif := nodes.Bearer{}, ask.VIF
			if ask.Command == steps.DetachVIF {
				b, _ = wires.Bearer(vif)
				vif = ""
			} else if b, err = wires.Choose(ask, nil); err != nil {
				return err
			}
			return b.Bear(c.t.Context(), tx, vif)
		})
		c.finish(node, operations.ResultDone, steps.NodeOutcome{Told: true}, nil)
	}
}

func TestVIFs(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	const v = "1.115"
	id := c.enroll("alice", `{"driver": "redfish", "name": "n", "network_interface": "flat"}`)
	c.enroll("alice", `{"driver": "redfish", "name": "off", "network_interface": "noop"}`)
	port := func(address, more string) string {
		got := c.ask("alice", v, "POST", "/v1/ports", fmt.Sprintf(`{"address": %q, "node_uuid": %q%s}`, address, id, more))
		if got.status != 201 {
			t.Fatalf("%v", got)
		}
		return got.body["uuid"].(string)
	}
	slow := port("aa:bb:cc:dd:ee:01", `, "pxe_enabled": false`)
	boot := port("aa:bb:cc:dd:ee:02", "")
	group := c.ask("alice", v, "POST", "/v1/portgroups", fmt.Sprintf(`{"node_uuid": %q, "name": "bond0"}`, id)).body["uuid"].(string)
	port("aa:bb:cc:dd:ee:03", fmt.Sprintf(`, "portgroup_uuid": %q`, group))
	attach := func(body string, status int, fault string) step {
		return step{"alice", v, "POST", "/v1/nodes/n/vifs", body, status, fault}
	}
	c.bears(id, nil)
	c.play(
		attach(`{}`, 400, "Schema error for vif: 'id' is a required property"),
		attach(`{"id": ""}`, 400, "non-empty"),
		attach(`{"id": "a", "port_uuid": "`+boot+`", "portgroup_uuid": "`+group+`"}`, 400, "Cannot specify both port_uuid and portgroup_uuid"),
		attach(`{"id": "a"}`, 204, ""),
		attach(`{"id": "a"}`, 409, "Unable to attach VIF because VIF a is already attached to Ironic Portgroup "+group),
		attach(`{"id": "b"}`, 204, ""),
		attach(`{"id": "c", "port_uuid": "`+boot+`"}`, 400, "Unable to attach VIF c, not enough free physical ports."),
		attach(`{"id": "c", "port_uuid": "`+slow+`"}`, 204, ""),
		attach(`{"id": "d"}`, 400, "Unable to attach VIF d, not enough free physical ports."),
		step{"alice", "1.27", "GET", "/v1/nodes/n/vifs", ``, 404, ""},
		step{"member", v, "POST", "/v1/nodes/off/vifs", `{"id": "a"}`, 204, ""},
		step{"bob", v, "POST", "/v1/nodes/n/vifs", `{"id": "a"}`, 404, "Node n could not be found."},
		step{"alice", v, "DELETE", "/v1/nodes/n/vifs/none", ``, 400, "Unable to detach VIF none from node " + id + " because it is not attached to it."},
	)
	vifs := func(node string) string {
		return fmt.Sprint(c.ask("alice", v, "GET", "/v1/nodes/"+node+"/vifs", "").body["vifs"])
	}
	if got := vifs("n"); got != "[map[id:c] map[id:b] map[id:a]]" {
		t.Errorf("%s", got)
	}
	if got := c.ask("alice", v, "GET", "/v1/ports/"+boot, "").body["internal_info"]; fmt.Sprint(got) != "map[tenant_vif_port_id:b]" {
		t.Errorf("%v", got)
	}
	c.exec(`UPDATE baremetal.nodes SET reservation = 'conductor-1' WHERE uuid = $1`, id)
	c.play(step{"alice", v, "DELETE", "/v1/nodes/n/vifs/b", ``, 409, "is locked by host conductor-1"})
	c.exec(`UPDATE baremetal.nodes SET reservation = NULL WHERE uuid = $1`, id)
	for _, refused := range []struct {
		steps.Fault
		status int
	}{
		{steps.Fault{Code: "NetworkError", Message: "Unable to clear binding profile"}, 500},
		{steps.Fault{Code: "InvalidParameterValue", Message: "Neutron port b was not found"}, 400},
	} {
		c.bears(id, &refused.Fault)
		c.play(step{"alice", v, "DELETE", "/v1/nodes/n/vifs/b", ``, refused.status, refused.Message})
	}
	c.bears(id, nil)
	c.play(step{"alice", v, "DELETE", "/v1/nodes/n/vifs/b", ``, 204, ""})
	if n, off := vifs("n"), vifs("off"); n != "[map[id:c] map[id:a]]" || off != "[]" {
		t.Errorf("%s %s", n, off)
	}
	c.audit()
}

// networks are those that Neutron has.
type networks map[string]error

func (n networks) HasNetwork(_ context.Context, ident, what string) error {
	if err, known := n[ident]; known {
		return err
	}
	return faults.New(faults.Invalid, "InvalidParameterValue", "%s with name or UUID %s was not found", what, ident)
}

// What a node's network interface has to have is asked of Neutron, by what the node or the
// configuration says, wherever that is needed.
func TestNetworks(t *testing.T) {
	t.Parallel()
	usual := map[steps.NodeNetwork]string{steps.NetworkCleaning: "c", steps.NetworkProvisioning: "p"}
	c := newCloudWith(t, func(a *baremetal.API) {
		for of, names := range map[hardware.Interface][]string{hardware.Network: {"flat", "neutron", "noop"}, hardware.Rescue: {"agent", "no-rescue"}} {
			if err := a.Hardware.EnableInterfaces(of, names); err != nil {
				t.Fatal(err)
			}
		}
		a.Networks, a.Neutron, a.AutomatedClean = nodes.Networks{Usual: usual}, networks{"c": nil, "p": nil, "down": faults.New(faults.Unavailable, "NetworkError", "it is down")}, true
	})
	c.conductor("conductor-1", "")
	const none = "UUID or name of rescuing_network is not set in configuration or in node driver_info."
	for _, n := range []struct{ network, info, more, said, rescue string }{
		{"noop", `{}`, ``, "", ""},
		{"flat", `{}`, ``, "", ""},
		{"flat", `{"cleaning_network": "x"}`, ``, "cleaning_network with name or UUID x was not found", ""},
		{"neutron", `{}`, ``, "", none},
		{"neutron", `{"rescuing_network": "p"}`, ``, "", ""},
		{"neutron", `{"provisioning_network": "y"}`, ``, "provisioning_network with name or UUID y was not found", none},
		{"neutron", `{}`, `, "disable_power_off": true`, "Nodes with disable_power_off cannot be used with the neutron network interface (disallowed in the configuration)", none},
	} {
		id := c.enroll("root", fmt.Sprintf(`{"driver": "fake-hardware", "network_interface": %q, "deploy_interface": "direct", "rescue_interface": "agent", "driver_info": %s%s}`, n.network, n.info, n.more))
		all := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/validate", "").body
		for of, want := range map[string]string{"network": n.said, "rescue": n.rescue} {
			verdict := all[of].(map[string]any)
			reason, _ := verdict["reason"].(string)
			if reason != want || verdict["result"] != (want == "") {
				t.Errorf("%+v: %s is %v", n, of, verdict)
			}
		}
		c.set(id, "provision_state", "manageable")
		got := c.ask("root", "1.115", "PUT", "/v1/nodes/"+id+"/states/provision", `{"target": "clean", "clean_steps": [{"interface": "deploy", "step": "erase_devices"}]}`)
		if refused := "Validation of node " + id + " for cleaning failed: " + n.said; n.said != "" && (got.status != 400 || got.fault != refused) || n.said == "" && got.status != 202 {
			t.Errorf("%+v: %d %q", n, got.status, got.fault)
		}
		if got.status == 202 {
			continue
		}
		if got := c.ask("root", "1.115", "PUT", "/v1/nodes/"+id+"/states/provision", `{"target": "provide"}`); got.status != 202 {
			t.Errorf("%+v: %d %q", n, got.status, got.fault)
		}
		var in steps.CleanInput
		if err := json.Unmarshal([]byte(c.input(id)), &in); err != nil || in.Refused != "Validation of node "+id+" for cleaning failed: "+n.said {
			t.Errorf("%+v: %+v, %v", n, in, err)
		}
	}
	// What Neutron can't say is no reason against it: the operation asks again.
	id := c.enroll("root", `{"driver": "fake-hardware", "network_interface": "flat", "driver_info": {"cleaning_network": "down"}}`)
	c.set(id, "provision_state", "manageable")
	if got := c.ask("root", "1.115", "PUT", "/v1/nodes/"+id+"/states/provision", `{"target": "provide"}`); got.status != 202 {
		t.Errorf("%d %q", got.status, got.fault)
	}
}
