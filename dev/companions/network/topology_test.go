package network_test

import (
	"reflect"
	"sync"
	"testing"

	ct "holdfast.dev/dev/companions/companiontest"
)

// A project gets one network, however many ask for it at once, once there is a
// default external network that its router leads to; a dry run makes none.
func TestNetworkThatIsMadeForAProject(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	const path = "/v2.0/auto-allocated-topology/" + ct.DemoProject
	refusal := neutronError("AutoAllocationFailure", "Deployment error: No default router:external network.")
	wantBody(t, c.Want(409, "demo", "GET", path+"?fields=dry-run", ""), refusal)
	wantBody(t, c.Want(409, "demo", "GET", path, ""), refusal)

	const outside = `{"network":{"name":"public","router:external":true,"is_default":true}}`
	c.Want(403, "demo", "POST", "/v2.0/networks", outside)
	public := c.Want(201, "admin", "POST", "/v2.0/networks", outside).TextAt("network", "id")
	c.Want(201, "admin", "POST", "/v2.0/subnets", `{"subnet":{"network_id":"`+public+`","cidr":"192.0.2.0/24","ip_version":4,"enable_dhcp":false}}`)
	second := neutronError("DefaultExternalNetworkExists", "A default external network already exists: "+public+".")
	wantBody(t, c.Want(409, "admin", "POST", "/v2.0/networks", outside), second)
	other := c.Want(201, "admin", "POST", "/v2.0/networks", `{"network":{"router:external":true}}`).TextAt("network", "id")
	wantBody(t, c.Want(409, "admin", "PUT", "/v2.0/networks/"+other, `{"network":{"is_default":true}}`), second)

	wantBody(t, c.Want(200, "demo", "GET", path+"?fields=dry-run", ""),
		map[string]any{"auto_allocated_topology": map[string]any{"id": "dry-run=pass", "tenant_id": ct.DemoProject, "project_id": ct.DemoProject}})
	if made := c.Want(200, "demo", "GET", "/v2.0/networks?project_id="+ct.DemoProject, ""); !reflect.DeepEqual(made.At("networks"), []any{}) {
		t.Errorf("a dry run made %s", made.Text)
	}
	c.Want(403, "other", "GET", path, "")

	ids := make([]string, 5)
	var asked sync.WaitGroup
	for i := range ids {
		asked.Go(func() { ids[i] = c.Want(200, "demo", "GET", path, "").TextAt("auto_allocated_topology", "id") })
	}
	asked.Wait()
	for _, id := range append(ids, c.Want(200, "admin", "GET", path, "").TextAt("auto_allocated_topology", "id")) {
		if id != ids[0] || id == "" {
			t.Errorf("networks %v and %s, want one", ids, id)
		}
	}
	network := c.Want(200, "demo", "GET", "/v2.0/networks/"+ids[0], "")
	subnet := c.Want(200, "demo", "GET", "/v2.0/subnets/"+network.TextAt("network", "subnets", 0), "")
	routers := c.Want(200, "demo", "GET", "/v2.0/routers", "")
	inside := c.Want(200, "demo", "GET", "/v2.0/ports?device_owner=network:router_interface&network_id="+ids[0], "")
	if network.TextAt("network", "tenant_id") != ct.DemoProject || subnet.TextAt("subnet", "cidr") != "10.128.0.0/26" ||
		routers.TextAt("routers", 0, "external_gateway_info", "network_id") != public || len(routers.At("routers").([]any)) != 1 ||
		inside.TextAt("ports", 0, "device_id") != routers.TextAt("routers", 0, "id") || inside.TextAt("ports", 0, "fixed_ips", 0, "ip_address") != "10.128.0.1" {
		t.Errorf("made:\n%s\n%s\n%s\n%s", network.Text, subnet.Text, routers.Text, inside.Text)
	}
	theirs := c.Want(200, "other", "GET", "/v2.0/auto-allocated-topology/"+ct.OtherProject, "").TextAt("auto_allocated_topology", "id")
	if theirs == ids[0] {
		t.Error("two projects have one network")
	}
}
