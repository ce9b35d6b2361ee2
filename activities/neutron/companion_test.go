package neutron_test

// The same steps against the development cloud's network service.

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/network"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/compute"
)

func TestAgainstTheCompanion(t *testing.T) {
	t.Parallel()
	service := network.New(network.Config{Pool: companiontest.Pool(t, "network", network.Migrations()),
		Auth: companiontest.Callers{}, Log: companiontest.Log(t)})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c := companiontest.Serve(t, service)
	net := c.Want(201, "demo", "POST", "/v2.0/networks", `{"network":{"name":"private"}}`).TextAt("network", "id")
	c.Want(201, "demo", "POST", "/v2.0/subnets", `{"subnet":{"network_id":"`+net+`","cidr":"10.0.0.0/24","ip_version":4}}`)
	own := c.Want(201, "demo", "POST", "/v2.0/ports", `{"port":{"network_id":"`+net+`","name":"mine"}}`).TextAt("port", "id")

	w := newWorldOf(t, companiontest.DemoProject, "h1",
		compute.ServerPort{Ours: true, NetworkID: net, FixedIP: "10.0.0.50"}, compute.ServerPort{PortID: own})
	admin := &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: "admin"}, Endpoint: c.Base + "/", ResourceBase: c.Base + "/v2.0/",
	}
	w.client = admin
	for range 2 {
		if _, err := w.allocate(); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range w.rows() {
		if !r.Bound || r.VIFType != "bridge" || r.NetworkName != "private" || r.MTU != 1500 || r.MAC == "" || len(r.FixedIPs) != 1 {
			t.Errorf("row %d is %+v", i, r)
		}
		var details struct {
			Bridge string `json:"bridge_name"`
		}
		if err := json.Unmarshal(r.VIFDetails, &details); err != nil || details.Bridge != "brq"+net[:11] {
			t.Errorf("row %d: bridge %q (%v)", i, details.Bridge, err)
		}
		port := c.Want(200, "admin", "GET", "/v2.0/ports/"+r.PortID, "")
		if port.TextAt("port", "device_id") != w.server || port.TextAt("port", "device_owner") != "compute:nova" ||
			port.TextAt("port", "binding:host_id") != "h1" || port.TextAt("port", "tenant_id") != companiontest.DemoProject {
			t.Errorf("port %s", port.Text)
		}
	}
	if got := w.rows()[0].FixedIPs[0].Address; got != "10.0.0.50" {
		t.Errorf("address %s", got)
	}
	if got := len(c.Want(200, "admin", "GET", "/v2.0/ports?network_id="+net, "").At("ports").([]any)); got != 2 {
		t.Errorf("%d ports, want 2", got)
	}
	for range 2 {
		if err := w.deallocate(); err != nil {
			t.Fatal(err)
		}
	}
	left := c.Want(200, "admin", "GET", "/v2.0/ports?network_id="+net, "")
	if len(left.At("ports").([]any)) != 1 || left.TextAt("ports", 0, "id") != own || left.TextAt("ports", 0, "device_id") != "" ||
		left.TextAt("ports", 0, "device_owner") != "" {
		t.Errorf("left %s", left.Text)
	}
}

// The companion refuses as Neutron does.
func TestTheCompanionRefuses(t *testing.T) {
	t.Parallel()
	service := network.New(network.Config{Pool: companiontest.Pool(t, "network", network.Migrations()),
		Auth: companiontest.Callers{}, Log: companiontest.Log(t)})
	c := companiontest.Serve(t, service)
	net := c.Want(201, "demo", "POST", "/v2.0/networks", `{"network":{"name":"private"}}`).TextAt("network", "id")
	c.Want(201, "demo", "POST", "/v2.0/subnets", `{"subnet":{"network_id":"`+net+`","cidr":"10.0.0.0/30","ip_version":4}}`)
	c.Want(201, "demo", "POST", "/v2.0/ports", `{"port":{"network_id":"`+net+`"}}`)
	taken := c.Want(201, "demo", "POST", "/v2.0/networks", `{"network":{"name":"taken"}}`).TextAt("network", "id")
	c.Want(201, "demo", "POST", "/v2.0/subnets", `{"subnet":{"network_id":"`+taken+`","cidr":"10.1.0.0/24","ip_version":4}}`)
	c.Want(201, "demo", "POST", "/v2.0/ports", `{"port":{"network_id":"`+taken+`","fixed_ips":[{"ip_address":"10.1.0.9"}]}}`)
	for name, test := range map[string]struct {
		port compute.ServerPort
		code string
	}{
		"no addresses":         {compute.ServerPort{Ours: true, NetworkID: net}, "NoMoreFixedIps"},
		"address in use":       {compute.ServerPort{Ours: true, NetworkID: taken, FixedIP: "10.1.0.9"}, "FixedIpAlreadyInUse"},
		"address of elsewhere": {compute.ServerPort{Ours: true, NetworkID: taken, FixedIP: "172.16.0.1"}, "InvalidIpForNetwork"},
		"no such network":      {compute.ServerPort{Ours: true, NetworkID: "00000000-0000-4000-8000-000000000000"}, "NetworkNotFound"},
		"no such port":         {compute.ServerPort{PortID: "00000000-0000-4000-8000-000000000000"}, "PortNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, companiontest.DemoProject, "h1", test.port)
			w.client = &gophercloud.ServiceClient{
				ProviderClient: &gophercloud.ProviderClient{TokenID: "admin"}, Endpoint: c.Base + "/", ResourceBase: c.Base + "/v2.0/",
			}
			if _, err := w.allocate(); err == nil || faults.As(err).Code != test.code {
				t.Errorf("%+v, want %s", faults.As(err), test.code)
			}
		})
	}
}
