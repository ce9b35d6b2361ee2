//go:build real

package baremetal

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/ipmitest"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/nodes"
)

// bootingPort is what is read of a port of Neutron by which a machine is booted.
type bootingPort struct {
	Network string             `json:"network_id"`
	Options []nodes.DHCPOption `json:"extra_dhcp_opts"`
}

// says are the options, in no order.
func (p bootingPort) says() string {
	var all []string
	for _, o := range p.Options {
		all = append(all, fmt.Sprintf("%d:%s=%s", o.Version, o.Name, o.Value))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestByItsPort is the life of a machine whose BMC speaks IPMI on networks of Neutron, of each
// interface that changes them: only its port there tells it what it boots, and that of its
// instance says nothing of it.
func TestByItsPort(t *testing.T) {
	config := map[string]any{"baremetal.enabled_network_interfaces": []string{"flat", "neutron", "noop"}}
	for _, work := range []string{"cleaning", "provisioning"} {
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
	for i, name := range []string{"cleaning", "provisioning", "tenant"} {
		networks[name] = makeNetwork(t, c, i, name)
	}
	url, tftp := c.Serves()
	at, sum := cloud.Files(t)
	host, port, err := net.SplitHostPort(tftp)
	must(err)
	says := fmt.Sprintf("4:150=%[1]s 4:255=%[1]s 4:66=%[1]s 4:tag:!ipxe,67=snponly.efi 4:tag:ipxe,67=%[2]s/boot.ipxe 6:tag:!ipxe6,59=tftp://%[1]s/snponly.efi 6:tag:ipxe6,59=%[2]s/boot.ipxe", host, url)
	for i, kind := range []string{"flat", "neutron"} {
		machine := c.BMC.Machines[i]
		// its is the port of Neutron that has the machine's address.
		its := func(ctx context.Context) (bootingPort, error) {
			var all struct{ Ports []bootingPort }
			err := c.NetworksOfAll(ctx, http.MethodGet, "/ports?mac_address="+machine.MAC, nil, &all)
			if err == nil && len(all.Ports) != 1 {
				err = fmt.Errorf("it has %d ports", len(all.Ports))
			}
			if err != nil {
				return bootingPort{}, err
			}
			return all.Ports[0], nil
		}
		machine.OfferFrom(func(ctx context.Context) (bmc.DHCP, error) {
			p, err := its(ctx)
			told := map[string]string{}
			for _, o := range p.Options {
				told[o.Name] = o.Value
			}
			return bmc.DHCP{TFTP: net.JoinHostPort(told["66"], port), Options: told}, err
		})
		controller := ipmitest.Serve(t, machine, ipmitest.Options{Username: cloud.BMCUser, Password: cloud.BMCPassword})
		bmcHost, bmcPort, err := net.SplitHostPort(controller.Address)
		must(err)
		var node cloud.Node
		must(c.Baremetal(ctx, http.MethodPost, "/nodes", map[string]any{"name": "by-" + kind, "driver": "ipmi", "boot_interface": "ipxe", "deploy_interface": "direct", "network_interface": kind,
			"driver_info": map[string]any{"ipmi_address": bmcHost, "ipmi_port": bmcPort, "ipmi_username": cloud.BMCUser, "ipmi_password": cloud.BMCPassword,
				"deploy_kernel": at + "/kernel", "deploy_ramdisk": at + "/ramdisk"}}, &node))
		must(c.Baremetal(ctx, http.MethodPost, "/ports", map[string]any{"node_uuid": node.UUID, "address": machine.MAC,
			"local_link_connection": map[string]any{"switch_id": "52:54:00:00:00:01", "port_id": "Ethernet1", "switch_info": "leaf"}}, nil))
		// booted has an operation stop once the ramdisk has called back, and fails the test
		// unless it was booted by a port on a network.
		booted := func(point, target, network string) {
			t.Helper()
			must(c.Points.Order(node.UUID, point))
			must(c.SetState(ctx, node.UUID, target, nil))
			stops(t, c, node.UUID, point)
			if p, err := its(ctx); err != nil || p.Network != networks[network] || p.says() != says || machine.Runs() != bmc.Ramdisk {
				t.Errorf("%s at %s: %+v, %v; it runs %q", kind, network, p, err, machine.Runs())
			}
			must(c.Points.ReleaseAt(node.UUID, point))
		}
		must(c.SetState(ctx, node.UUID, "manage", nil))
		rests(t, c, node.UUID, "manageable")
		booted("provide:agent.CleanPlan", "provide", "cleaning")
		rests(t, c, node.UUID, "available")
		var vif struct{ Port struct{ ID string } }
		must(c.Networks(ctx, http.MethodPost, "/ports", map[string]any{"port": map[string]any{"network_id": networks["tenant"]}}, &vif))
		must(c.Baremetal(ctx, http.MethodPost, "/nodes/"+node.UUID+"/vifs", map[string]any{"id": vif.Port.ID}, nil))
		must(c.SetImage(ctx, node.UUID, at, "first", sum("first")))
		booted("deploy:agent.CleanPlan", "active", map[string]string{"flat": "tenant", "neutron": "provisioning"}[kind])
		rests(t, c, node.UUID, "active")
		if p, err := its(ctx); err != nil || p.Network != networks["tenant"] || p.says() != "" {
			t.Errorf("%s, active: %+v, %v", kind, p, err)
		}
		must(c.SetState(ctx, node.UUID, "deleted", nil))
		rests(t, c, node.UUID, "available")
	}
	c.Audit()
}
