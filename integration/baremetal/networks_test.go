//go:build real

package baremetal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// neutronPort is what is read of one.
type neutronPort struct {
	ID      string         `json:"id"`
	Network string         `json:"network_id"`
	Device  string         `json:"device_id"`
	Owner   string         `json:"device_owner"`
	MAC     string         `json:"mac_address"`
	Host    string         `json:"binding:host_id"`
	Kind    string         `json:"binding:vnic_type"`
	Profile map[string]any `json:"binding:profile"`
}

// makeNetwork makes one that is everybody's, with a subnet of a number, and gives its id.
func makeNetwork(t *testing.T, c *cloud.Cloud, number int, name string) string {
	t.Helper()
	var made struct{ Network struct{ ID string } }
	err := c.NetworksOfAll(t.Context(), http.MethodPost, "/networks", map[string]any{"network": map[string]any{"name": name, "shared": true}}, &made)
	if err == nil {
		err = c.NetworksOfAll(t.Context(), http.MethodPost, "/subnets", map[string]any{"subnet": map[string]any{"network_id": made.Network.ID, "ip_version": 4, "cidr": fmt.Sprintf("10.9.%d.0/24", number)}}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.Network.ID
}

// rests waits until a node is in a state, and no operation has it.
func rests(t *testing.T, c *cloud.Cloud, id, state string) {
	t.Helper()
	c.Eventually("the node is "+state, 3*time.Minute, func(ctx context.Context) error {
		n, err := c.ShowNode(ctx, id)
		if err == nil && (n.State != state || n.Reservation != "") {
			err = fmt.Errorf("it is %s: %s", n.State, n.LastError)
		}
		return err
	})
}

// stops waits until an operation on a node stops at a point.
func stops(t *testing.T, c *cloud.Cloud, id, point string) {
	t.Helper()
	c.Eventually("it stops at "+point, 2*time.Minute, func(context.Context) error {
		here, err := c.Points.Here(id, point)
		if err == nil && !here {
			err = errors.New("it doesn't")
		}
		return err
	})
}

// TestNetworks is the life of a node on networks of Neutron, of each interface that changes
// them: where its ramdisk is, and its instance, at every turn; with the conductor killed
// once Neutron has been told and nobody knows; and that nothing is left there.
func TestNetworks(t *testing.T) {
	works := []string{"cleaning", "provisioning", "rescuing", "inspection", "servicing"}
	config := map[string]any{"baremetal.enabled_network_interfaces": []string{"flat", "neutron", "noop"}, "baremetal.enabled_inspect_interfaces": []string{"agent", "redfish"}}
	for _, work := range works {
		config["conductor."+work+"_network"] = work
	}
	c := cloud.Start(t, cloud.Options{Hosts: 1, Machines: 2, Services: true, Config: config})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	networks := map[string]string{}
	for i, name := range works {
		networks[makeNetwork(t, c, i, name)] = name
	}
	tenant := makeNetwork(t, c, len(works), "tenant")
	networks[tenant] = "tenant"
	at, sum := cloud.Files(t)
	for i, kind := range []string{"flat", "neutron"} {
		machine := c.BMC.Machines[i]
		id, err := c.Enroll(ctx, i, at)
		must(err)
		must(c.Baremetal(ctx, http.MethodPatch, "/nodes/"+id, []map[string]any{{"op": "replace", "path": "/network_interface", "value": kind}, {"op": "replace", "path": "/inspect_interface", "value": "agent"}}, nil))
		var own struct{ Ports []struct{ UUID string } }
		must(c.Baremetal(ctx, http.MethodGet, "/ports?node="+id, nil, &own))
		link := map[string]any{"switch_id": "52:54:00:00:00:01", "port_id": "Ethernet1", "switch_info": "leaf"}
		must(c.Baremetal(ctx, http.MethodPatch, "/ports/"+own.Ports[0].UUID, []map[string]any{{"op": "replace", "path": "/local_link_connection", "value": link}}, nil))

		comes := func(state string) {
			t.Helper()
			rests(t, c, id, state)
		}
		// ports are those of Neutron that are on the node, by their networks.
		ports := func() map[string]neutronPort {
			t.Helper()
			var all struct{ Ports []neutronPort }
			must(c.NetworksOfAll(ctx, http.MethodGet, "/ports", nil, &all))
			on := map[string]neutronPort{}
			for _, p := range all.Ports {
				if p.Host == id || p.Device == id {
					on[networks[p.Network]] = p
				}
			}
			return on
		}
		// isOn fails the test unless the node is on one network, with its own address.
		isOn := func(when, network string, ramdisk bool) {
			t.Helper()
			on := ports()
			if network == "" {
				if len(on) > 0 {
					t.Errorf("%s, %s: it is on %v", kind, when, on)
				}
				return
			}
			p := on[network]
			wired := p.Profile["local_link_information"] != nil
			if len(on) != 1 || p.MAC != machine.MAC || p.Host != id || p.Kind != "baremetal" || (p.Owner == "baremetal:none") != ramdisk || wired != (ramdisk || kind == "neutron") {
				t.Errorf("%s, %s: it is on %v", kind, when, on)
			}
		}
		// during has an operation stop before a step, looks, and lets it go on.
		during := func(point string, begin func() error, look func()) {
			t.Helper()
			must(c.Points.Order(id, point))
			must(begin())
			stops(t, c, id, point)
			look()
			must(c.Points.ReleaseAt(id, point))
		}
		asks := func(target string, more map[string]any) func() error {
			return func() error { return c.SetState(ctx, id, target, more) }
		}
		// ramdiskOn is where a ramdisk is, by the network interface; tenants where the instance is.
		ramdiskOn := func(when, network string) {
			t.Helper()
			if kind == "flat" && network != "cleaning" && network != "inspection" {
				isOn(when, "tenant", false)
				return
			}
			isOn(when, network, true)
		}

		must(asks("manage", nil)())
		comes("manageable")
		during("inspect:bmc.Expect", asks("inspect", nil), func() { ramdiskOn("inspected", "inspection") })
		comes("manageable")
		isOn("after its inspection", "", false)
		during("provide:agent.CleanPlan", asks("provide", nil), func() { ramdiskOn("cleaned", "cleaning") })
		comes("available")
		isOn("available", "", false)

		var vif struct{ Port neutronPort }
		must(c.Networks(ctx, http.MethodPost, "/ports", map[string]any{"port": map[string]any{"network_id": tenant}}, &vif))
		attach := func(vif string) error {
			return c.Baremetal(ctx, http.MethodPost, "/nodes/"+id+"/vifs", map[string]any{"id": vif}, nil)
		}
		var refused *cloud.StatusError
		if err := attach("5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d99"); !errors.As(err, &refused) || refused.Code != 400 || !strings.Contains(refused.Body, "was not found") {
			t.Errorf("%v", err)
		}
		must(attach(vif.Port.ID))
		if err := attach(vif.Port.ID); !errors.As(err, &refused) || refused.Code != 409 || !strings.Contains(refused.Body, "already attached") {
			t.Errorf("%v", err)
		}
		if p := ports()["tenant"]; p.ID != vif.Port.ID || p.MAC != machine.MAC || p.Host != id || p.Kind != "baremetal" {
			t.Errorf("%s: the VIF is %+v", kind, p)
		}
		must(c.Baremetal(ctx, http.MethodDelete, "/nodes/"+id+"/vifs/"+vif.Port.ID, nil, nil))
		isOn("without its VIF", "", false)
		must(attach(vif.Port.ID))

		must(c.SetImage(ctx, id, at, "first", sum("first")))
		during("deploy:network.Switch.done", asks("active", nil), func() { c.Kill(cloud.Conductor) })
		c.Restart(cloud.Conductor)
		during("deploy:agent.CleanPlan", func() error { return nil }, func() { ramdiskOn("deployed", "provisioning") })
		comes("active")
		isOn("active", "tenant", false)
		during("rescue:agent.Command", asks("rescue", map[string]any{"rescue_password": password}), func() { ramdiskOn("rescued", "rescuing") })
		comes("rescue")
		isOn("in rescue", "tenant", false)
		must(asks("unrescue", nil)())
		comes("active")
		isOn("active again", "tenant", false)
		steps := map[string]any{"service_steps": []map[string]any{{"interface": "deploy", "step": "burnin_cpu", "args": map[string]any{}}}}
		during("service:agent.Command", asks("service", steps), func() { ramdiskOn("serviced", "servicing") })
		comes("active")
		isOn("after its service", "tenant", false)
		during("undeploy:agent.CleanPlan", asks("deleted", nil), func() { ramdiskOn("cleaned of its instance", "cleaning") })
		comes("available")
		isOn("available again", "", false)
		var left struct{ Port neutronPort }
		must(c.Networks(ctx, http.MethodGet, "/ports/"+vif.Port.ID, nil, &left))
		if left.Port.MAC == machine.MAC {
			t.Errorf("%s: the VIF keeps the machine's address", kind)
		}
		var vifs struct{ VIFs []any }
		must(c.Baremetal(ctx, http.MethodGet, "/nodes/"+id+"/vifs", nil, &vifs))
		if len(vifs.VIFs) > 0 {
			t.Errorf("%s: it bears %v", kind, vifs.VIFs)
		}

		// Without a VIF there is no network for an instance.
		must(c.SetImage(ctx, id, at, "first", sum("first")))
		must(asks("active", nil)())
		comes("deploy failed")
		isOn("deploy failed", "", false)
		must(asks("deleted", nil)())
		comes("available")
	}
	c.Audit()
}
