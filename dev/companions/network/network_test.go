package network_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	ct "holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/network"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// start serves an empty network companion.
func start(t *testing.T, compute *network.Compute) *ct.Client {
	t.Helper()
	s := network.New(network.Config{Pool: ct.Pool(t, "network", network.Migrations()), Auth: ct.Callers{}, Log: ct.Log(t), Compute: compute})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ct.Serve(t, s)
}

func newNetwork(t *testing.T, c *ct.Client, who, extra, cidr string) (networkID, subnetID string) {
	t.Helper()
	networkID = c.Want(201, who, "POST", "/v2.0/networks", `{"network":{"name":"net"`+extra+`}}`).TextAt("network", "id")
	subnetID = c.Want(201, who, "POST", "/v2.0/subnets",
		fmt.Sprintf(`{"subnet":{"network_id":%q,"name":"sub","cidr":%q,"ip_version":4}}`, networkID, cidr)).TextAt("subnet", "id")
	return networkID, subnetID
}

func newPort(c *ct.Client, who, networkID, extra string) ct.Answer {
	return c.Want(201, who, "POST", "/v2.0/ports", fmt.Sprintf(`{"port":{"network_id":%q%s}}`, networkID, extra))
}

func neutronError(kind, message string) map[string]any {
	return map[string]any{"NeutronError": map[string]any{"type": kind, "message": message, "detail": ""}}
}

func wantBody(t *testing.T, got ct.Answer, want map[string]any) {
	t.Helper()
	if !reflect.DeepEqual(got.Body, want) {
		t.Errorf("body %s, want %v", got.Text, want)
	}
}

func TestNetworkAndSubnet(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	networkID, subnetID := newNetwork(t, c, "demo", "", "10.0.0.0/24")
	got := c.Want(200, "demo", "GET", "/v2.0/networks/"+networkID, "").At("network").(map[string]any)
	delete(got, "created_at")
	delete(got, "updated_at")
	want := map[string]any{"id": networkID, "name": "net", "description": "", "admin_state_up": true, "shared": false, "router:external": false, "is_default": false,
		"mtu": 1500.0, "port_security_enabled": true, "status": "ACTIVE", "subnets": []any{subnetID}, "project_id": ct.DemoProject, "tenant_id": ct.DemoProject,
		"revision_number": 1.0, "tags": []any{}, "availability_zone_hints": []any{}, "availability_zones": []any{"nova"},
		"ipv4_address_scope": nil, "ipv6_address_scope": nil, "dns_domain": ""}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("network %v, want %v", got, want)
	}
	if kind := c.Want(200, "admin", "GET", "/v2.0/networks/"+networkID, "").At("network", "provider:network_type"); kind != "local" {
		t.Errorf("an administrator reads network type %v", kind)
	}
	subnet := c.Want(200, "demo", "GET", "/v2.0/subnets/"+subnetID, "")
	if subnet.At("subnet", "gateway_ip") != "10.0.0.1" || subnet.At("subnet", "allocation_pools", 0, "start") != "10.0.0.2" || subnet.At("subnet", "allocation_pools", 0, "end") != "10.0.0.254" {
		t.Errorf("subnet %s", subnet.Text)
	}
	wantBody(t, c.Want(404, "demo", "GET", "/v2.0/networks/net", ""), neutronError("NetworkNotFound", "Network net could not be found."))
	if list := c.Want(200, "demo", "GET", "/v2.0/networks?name=net&fields=id", ""); !reflect.DeepEqual(list.Body, map[string]any{"networks": []any{map[string]any{"id": networkID}}}) {
		t.Errorf("list %s", list.Text)
	}
	overlap := c.Want(400, "demo", "POST", "/v2.0/subnets", fmt.Sprintf(`{"subnet":{"network_id":%q,"cidr":"10.0.0.128/25","ip_version":4}}`, networkID))
	wantBody(t, overlap, neutronError("InvalidInput", "Invalid input for operation: Requested subnet with cidr: 10.0.0.128/25 for network: "+networkID+" overlaps with another subnet."))
	c.Want(204, "demo", "DELETE", "/v2.0/networks/"+networkID, "")
	c.Want(404, "demo", "GET", "/v2.0/subnets/"+subnetID, "")
}

// What is not for the one who asks.
func TestStrangers(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	networkID, subnetID := newNetwork(t, c, "demo", "", "10.0.0.0/24")
	portID := newPort(c, "demo", networkID, "").TextAt("port", "id")
	groupID := c.Want(200, "demo", "GET", "/v2.0/security-groups", "").TextAt("security_groups", 0, "id")
	routerID := c.Want(201, "demo", "POST", "/v2.0/routers", `{"router":{"name":"r"}}`).TextAt("router", "id")
	for _, one := range []struct{ path, body string }{
		{"/networks/" + networkID, `{"network":{"name":"x"}}`}, {"/subnets/" + subnetID, `{"subnet":{"name":"x"}}`},
		{"/ports/" + portID, `{"port":{"name":"x"}}`}, {"/security-groups/" + groupID, `{"security_group":{"name":"x"}}`},
		{"/routers/" + routerID, `{"router":{"name":"x"}}`},
	} {
		collection := "/v2.0" + one.path[:strings.LastIndex(one.path, "/")]
		for _, request := range [][2]string{{"GET", collection}, {"POST", collection}, {"GET", "/v2.0" + one.path}, {"PUT", "/v2.0" + one.path}, {"DELETE", "/v2.0" + one.path}} {
			got := c.Want(401, "", request[0], request[1], one.body)
			wantBody(t, got, map[string]any{"error": map[string]any{"code": 401.0, "title": "Unauthorized", "message": "The request you have made requires authentication."}})
		}
		c.Want(404, "other", "GET", "/v2.0"+one.path, "")
		c.Want(404, "other", "PUT", "/v2.0"+one.path, one.body)
		c.Want(404, "other", "DELETE", "/v2.0"+one.path, "")
		c.Want(200, "reader", "GET", "/v2.0"+one.path, "")
		c.Want(403, "reader", "PUT", "/v2.0"+one.path, one.body)
		c.Want(403, "reader", "DELETE", "/v2.0"+one.path, "")
	}
	for _, list := range []string{"networks", "subnets", "ports", "routers", "floatingips"} {
		if got := c.Want(200, "other", "GET", "/v2.0/"+list, ""); len(got.At(list).([]any)) != 0 {
			t.Errorf("another project lists %s", got.Text)
		}
	}
	wantBody(t, c.Want(403, "demo", "POST", "/v2.0/networks", `{"network":{"shared":true}}`),
		neutronError("PolicyNotAuthorized", "(rule:create_network and rule:create_network:shared) is disallowed by policy"))
	wantBody(t, c.Want(403, "demo", "PUT", "/v2.0/ports/"+portID, `{"port":{"binding:host_id":"h"}}`),
		neutronError("PolicyNotAuthorized", "(rule:update_port and rule:update_port:binding:host_id) is disallowed by policy"))
	c.Want(403, "demo", "POST", "/v2.0/ports/"+portID+"/bindings", `{"binding":{"host":"h"}}`)
	c.Want(403, "demo", "POST", "/v2.0/networks", `{"network":{"project_id":"`+ct.OtherProject+`"}}`)
	c.Want(403, "demo", "GET", "/v2.0/quotas/"+ct.OtherProject, "")
}

// A shared network is seen by all, changed by its owner.
func TestSharedNetwork(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	networkID, subnetID := newNetwork(t, c, "admin", `,"shared":true`, "10.0.0.0/24")
	c.Want(200, "demo", "GET", "/v2.0/networks/"+networkID, "")
	c.Want(200, "demo", "GET", "/v2.0/subnets/"+subnetID, "")
	wantBody(t, c.Want(403, "demo", "DELETE", "/v2.0/networks/"+networkID, ""), neutronError("PolicyNotAuthorized", "rule:delete_network is disallowed by policy"))
	newPort(c, "demo", networkID, "")
	c.Want(403, "demo", "POST", "/v2.0/ports", fmt.Sprintf(`{"port":{"network_id":%q,"mac_address":"fa:16:3e:00:00:01"}}`, networkID))
	c.Want(403, "demo", "POST", "/v2.0/ports", fmt.Sprintf(`{"port":{"network_id":%q,"fixed_ips":[{"ip_address":"10.0.0.9"}]}}`, networkID))
	wantBody(t, c.Want(409, "admin", "DELETE", "/v2.0/networks/"+networkID, ""),
		neutronError("NetworkInUse", "Unable to complete operation on network "+networkID+". There are one or more ports still in use on the network."))
}

func TestAddressesAreGivenOnce(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	networkID, _ := newNetwork(t, c, "admin", `,"shared":true`, "10.0.0.0/24")
	const together = 64
	got := make([]ct.Answer, together)
	var wait sync.WaitGroup
	for i := range together {
		who := []string{"demo", "other", "admin"}[i%3]
		wait.Go(func() {
			got[i] = c.Do(who, "POST", "/v2.0/ports", fmt.Sprintf(`{"port":{"network_id":%q}}`, networkID))
		})
	}
	wait.Wait()
	addresses, macs := map[any]bool{}, map[any]bool{}
	for _, answer := range got {
		if answer.Status != 201 {
			t.Fatalf("status %d: %s", answer.Status, answer.Text)
		}
		addresses[answer.At("port", "fixed_ips", 0, "ip_address")] = true
		macs[answer.At("port", "mac_address")] = true
	}
	if len(addresses) != together || len(macs) != together || addresses[nil] {
		t.Errorf("%d addresses and %d MACs for %d ports", len(addresses), len(macs), together)
	}
}

func TestPortAddresses(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	networkID, subnetID := newNetwork(t, c, "demo", "", "10.0.0.0/29")
	first := newPort(c, "demo", networkID, `,"fixed_ips":[{"ip_address":"10.0.0.4"}],"mac_address":"fa:16:3e:00:00:01"`)
	if first.At("port", "fixed_ips", 0, "subnet_id") != subnetID || first.At("port", "status") != "DOWN" || first.At("port", "binding:host_id") != nil {
		t.Errorf("port %s", first.Text)
	}
	post := func(status int, rest string) ct.Answer {
		return c.Want(status, "demo", "POST", "/v2.0/ports", fmt.Sprintf(`{"port":{"network_id":%q%s}}`, networkID, rest))
	}
	wantBody(t, post(409, `,"fixed_ips":[{"ip_address":"10.0.0.4"}]`), neutronError("IpAddressAlreadyAllocated", "IP address 10.0.0.4 already allocated in subnet "+subnetID))
	wantBody(t, post(409, `,"mac_address":"fa:16:3e:00:00:01"`), neutronError("MacAddressInUse", "Unable to complete operation for network "+networkID+". The mac address fa:16:3e:00:00:01 is in use."))
	wantBody(t, post(400, `,"fixed_ips":[{"ip_address":"10.9.0.4"}]`), neutronError("InvalidIpForNetwork", "IP address 10.9.0.4 is not a valid IP for any of the subnets on the specified network."))
	wantBody(t, post(400, `,"nonsense":1`), neutronError("HTTPBadRequest", "Unrecognized attribute(s) 'nonsense'"))
	wantBody(t, post(400, `,"admin_state_up":"maybe"`), neutronError("HTTPBadRequest", "Invalid input for admin_state_up. Reason: 'maybe' cannot be converted to boolean."))
	for range 4 {
		post(201, "")
	}
	wantBody(t, post(409, ""), neutronError("IpAddressGenerationFailure", "No more IP addresses available on network "+networkID+"."))
	if got := post(201, `,"fixed_ips":[]`); len(got.At("port", "fixed_ips").([]any)) != 0 {
		t.Errorf("port %s", got.Text)
	}
	found := c.Want(200, "demo", "GET", "/v2.0/ports?fixed_ips=ip_address%3D10.0.0.4&fixed_ips=subnet_id%3D"+subnetID+"&fields=id", "")
	wantBody(t, found, map[string]any{"ports": []any{map[string]any{"id": first.At("port", "id")}}})
	c.Want(204, "demo", "DELETE", "/v2.0/ports/"+first.TextAt("port", "id"), "")
	if again := post(201, ""); again.At("port", "fixed_ips", 0, "ip_address") != "10.0.0.4" {
		t.Errorf("the freed address isn't given: %s", again.Text)
	}
	c.Want(409, "demo", "DELETE", "/v2.0/subnets/"+subnetID, "")
}

func TestPages(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	for _, name := range []string{"b", "a", "c"} {
		c.Want(201, "demo", "POST", "/v2.0/networks", `{"network":{"name":"`+name+`"}}`)
	}
	var names []string
	marker := ""
	for {
		page := c.Want(200, "demo", "GET", "/v2.0/networks?sort_key=name&sort_dir=desc&limit=1&marker="+marker, "")
		if len(page.At("networks").([]any)) == 0 {
			t.Fatal(page.Text)
		}
		names, marker = append(names, page.TextAt("networks", 0, "name")), page.TextAt("networks", 0, "id")
		if page.At("networks_links") == nil {
			break
		}
	}
	if !reflect.DeepEqual(names, []string{"c", "b", "a"}) {
		t.Errorf("names by page %v", names)
	}
	wantBody(t, c.Want(400, "demo", "GET", "/v2.0/networks?nonsense=1", ""), neutronError("HTTPBadRequest", "['nonsense'] is invalid attribute for filtering"))
}

func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	groups := c.Want(200, "demo", "GET", "/v2.0/security-groups", "")
	if groups.At("security_groups", 0, "name") != "default" || len(groups.At("security_groups", 0, "security_group_rules").([]any)) != 4 {
		t.Errorf("groups %s", groups.Text)
	}
	group := c.Want(201, "demo", "POST", "/v2.0/security-groups", `{"security_group":{"name":"sg","description":"sg"}}`)
	id := group.TextAt("security_group", "id")
	if len(group.At("security_group", "security_group_rules").([]any)) != 2 {
		t.Errorf("group %s", group.Text)
	}
	rule := fmt.Sprintf(`{"security_group_rule":{"protocol":"tcp","port_range_max":22,"port_range_min":22,"ethertype":"IPv4","remote_ip_prefix":"0.0.0.0/0","security_group_id":%q,"direction":"ingress"}}`, id)
	made := c.Want(201, "demo", "POST", "/v2.0/security-group-rules", rule)
	wantBody(t, c.Want(409, "demo", "POST", "/v2.0/security-group-rules", rule),
		neutronError("SecurityGroupRuleExists", "Security group rule already exists. Rule id is "+made.TextAt("security_group_rule", "id")+"."))
	networkID, _ := newNetwork(t, c, "demo", "", "10.0.0.0/24")
	port := newPort(c, "demo", networkID, fmt.Sprintf(`,"security_groups":[%q]`, id))
	wantBody(t, c.Want(409, "demo", "DELETE", "/v2.0/security-groups/"+id, ""), neutronError("SecurityGroupInUse", "Security Group "+id+" in use."))
	c.Want(204, "demo", "DELETE", "/v2.0/ports/"+port.TextAt("port", "id"), "")
	c.Want(204, "demo", "DELETE", "/v2.0/security-groups/"+id, "")
	c.Want(404, "demo", "GET", "/v2.0/security-group-rules/"+made.TextAt("security_group_rule", "id"), "")
}

func TestRoutersAndFloatingIPs(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	externalID, _ := newNetwork(t, c, "admin", `,"router:external":true`, "192.0.2.0/24")
	networkID, subnetID := newNetwork(t, c, "demo", "", "10.0.0.0/24")
	portID := newPort(c, "demo", networkID, "").TextAt("port", "id")
	router := c.Want(201, "demo", "POST", "/v2.0/routers", fmt.Sprintf(`{"router":{"name":"r","external_gateway_info":{"network_id":%q}}}`, externalID))
	routerID := router.TextAt("router", "id")
	if router.At("router", "external_gateway_info", "external_fixed_ips", 0, "ip_address") != "192.0.2.2" {
		t.Errorf("router %s", router.Text)
	}
	floating := c.Want(201, "demo", "POST", "/v2.0/floatingips", fmt.Sprintf(`{"floatingip":{"floating_network_id":%q}}`, externalID))
	id := floating.TextAt("floatingip", "id")
	if floating.At("floatingip", "status") != "DOWN" || floating.At("floatingip", "floating_ip_address") != "192.0.2.3" {
		t.Errorf("floating %s", floating.Text)
	}
	associate := fmt.Sprintf(`{"floatingip":{"port_id":%q}}`, portID)
	if got := c.Want(404, "demo", "PUT", "/v2.0/floatingips/"+id, associate); got.At("NeutronError", "type") != "ExternalGatewayForFloatingIPNotFound" {
		t.Error(got.Text)
	}
	added := c.Want(200, "demo", "PUT", "/v2.0/routers/"+routerID+"/add_router_interface", fmt.Sprintf(`{"subnet_id":%q}`, subnetID))
	if added.At("subnet_id") != subnetID || added.At("network_id") != networkID || added.At("id") != routerID {
		t.Errorf("interface %s", added.Text)
	}
	c.Want(409, "demo", "DELETE", "/v2.0/ports/"+added.TextAt("port_id"), "")
	got := c.Want(200, "demo", "PUT", "/v2.0/floatingips/"+id, associate)
	if got.At("floatingip", "status") != "ACTIVE" || got.At("floatingip", "fixed_ip_address") != "10.0.0.2" || got.At("floatingip", "router_id") != routerID {
		t.Errorf("floating %s", got.Text)
	}
	second := c.Want(201, "demo", "POST", "/v2.0/floatingips", fmt.Sprintf(`{"floatingip":{"floating_network_id":%q}}`, externalID)).TextAt("floatingip", "id")
	c.Want(409, "demo", "PUT", "/v2.0/floatingips/"+second, associate)
	remove := "/v2.0/routers/" + routerID + "/remove_router_interface"
	c.Want(409, "demo", "PUT", remove, fmt.Sprintf(`{"subnet_id":%q}`, subnetID))
	c.Want(204, "demo", "DELETE", "/v2.0/ports/"+portID, "")
	if got := c.Want(200, "demo", "GET", "/v2.0/floatingips/"+id, ""); got.At("floatingip", "port_id") != nil || got.At("floatingip", "status") != "DOWN" {
		t.Errorf("floating after its port is gone %s", got.Text)
	}
	c.Want(409, "demo", "DELETE", "/v2.0/routers/"+routerID, "")
	c.Want(200, "demo", "PUT", remove, fmt.Sprintf(`{"subnet_id":%q}`, subnetID))
	c.Want(204, "demo", "DELETE", "/v2.0/routers/"+routerID, "")
	c.Want(204, "demo", "DELETE", "/v2.0/floatingips/"+id, "")
	c.Want(204, "demo", "DELETE", "/v2.0/floatingips/"+second, "")
	c.Want(204, "admin", "DELETE", "/v2.0/networks/"+externalID, "")
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	path := "/v2.0/quotas/" + ct.DemoProject
	wantBody(t, c.Want(200, "demo", "GET", path, ""), map[string]any{"quota": map[string]any{"network": 100.0, "subnet": 100.0, "port": 500.0,
		"router": 10.0, "floatingip": 50.0, "security_group": 10.0, "security_group_rule": 100.0}})
	c.Want(403, "demo", "PUT", path, `{"quota":{"network":1}}`)
	c.Want(200, "admin", "PUT", path, `{"quota":{"network":1}}`)
	var wait sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		wait.Go(func() { statuses[i] = c.Do("demo", "POST", "/v2.0/networks", `{"network":{}}`).Status })
	}
	wait.Wait()
	made := 0
	for _, status := range statuses {
		if status == 201 {
			made++
		} else if status != 409 {
			t.Errorf("status %d", status)
		}
	}
	if made != 1 {
		t.Errorf("%d networks within a quota of 1", made)
	}
	wantBody(t, c.Want(409, "demo", "POST", "/v2.0/networks", `{"network":{}}`), neutronError("OverQuota", "Quota exceeded for resources: ['network']."))
	if got := c.Want(200, "demo", "GET", path+"/details", ""); !reflect.DeepEqual(got.At("quota", "network"), map[string]any{"limit": 1.0, "used": 1.0, "reserved": 0.0}) {
		t.Error(got.Text)
	}
	c.Want(204, "admin", "DELETE", path, "")
	c.Want(201, "demo", "POST", "/v2.0/networks", `{"network":{}}`)
}

// A bound port is plugged, compute hears of it, and a move has two bindings.
func TestBindingAndEvents(t *testing.T) {
	t.Parallel()
	heard := make(chan map[string]any, 16)
	compute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Events []map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v2.1/os-server-external-events" || r.Header.Get("X-Auth-Token") != "mine" {
			w.WriteHeader(400)
			return
		}
		for _, event := range body.Events {
			heard <- event
		}
	}))
	t.Cleanup(compute.Close)
	c := start(t, &network.Compute{URL: compute.URL + "/v2.1", Token: func(context.Context) (string, error) { return "mine", nil }})
	networkID, _ := newNetwork(t, c, "demo", "", "10.0.0.0/24")
	portID := newPort(c, "demo", networkID, "").TextAt("port", "id")
	const server = "0b6c5a5e-9f4e-4d0b-8a52-0d7a7f0e5c11"
	hears := func(name string, withStatus bool) {
		t.Helper()
		want := map[string]any{"name": name, "server_uuid": server, "tag": portID}
		if withStatus {
			want["status"] = "completed"
		}
		if got := <-heard; !reflect.DeepEqual(got, want) {
			t.Errorf("event %v, want %v", got, want)
		}
	}
	bound := c.Want(200, "admin", "PUT", "/v2.0/ports/"+portID, `{"port":{"device_id":"`+server+`","device_owner":"compute:nova","binding:host_id":"one"}}`)
	bridge := map[string]any{"bridge_name": "brq" + networkID[:11], "port_filter": false, "connectivity": "l2"}
	if bound.At("port", "status") != "ACTIVE" || bound.At("port", "binding:vif_type") != "bridge" || !reflect.DeepEqual(bound.At("port", "binding:vif_details"), bridge) {
		t.Errorf("port %s", bound.Text)
	}
	hears("network-vif-plugged", true)
	bindings := "/v2.0/ports/" + portID + "/bindings"
	wantBody(t, c.Want(201, "admin", "POST", bindings, `{"binding":{"host":"two"}}`), map[string]any{"binding": map[string]any{
		"host": "two", "vif_type": "bridge", "vif_details": bridge, "vnic_type": "normal", "profile": map[string]any{}, "status": "INACTIVE"}})
	c.Want(409, "admin", "POST", bindings, `{"binding":{"host":"two"}}`)
	c.Want(409, "admin", "PUT", bindings+"/one/activate", "")
	c.Want(200, "admin", "PUT", bindings+"/two/activate", "")
	hears("network-vif-plugged", true)
	if got := c.Want(200, "admin", "GET", "/v2.0/ports/"+portID, ""); got.At("port", "binding:host_id") != "two" {
		t.Error(got.Text)
	}
	c.Want(204, "admin", "DELETE", bindings+"/one", "")
	c.Want(404, "admin", "GET", bindings+"/one", "")
	c.Want(200, "admin", "PUT", "/v2.0/ports/"+portID, `{"port":{"binding:host_id":""}}`)
	hears("network-vif-unplugged", true)
	mac := bound.At("port", "mac_address")
	if got := c.Want(200, "admin", "PUT", "/v2.0/ports/"+portID, `{"port":{"mac_address":null}}`).At("port", "mac_address"); got == mac || got == nil {
		t.Errorf("of %v it is %v", mac, got)
	}
	hears("network-changed", false)
	c.Want(200, "admin", "PUT", "/v2.0/ports/"+portID, `{"port":{"binding:host_id":"one","mac_address":"52:54:00:00:00:01"}}`)
	hears("network-vif-plugged", true)
	hears("network-changed", false)
	c.Want(204, "admin", "DELETE", "/v2.0/ports/"+portID, "")
	hears("network-vif-deleted", false)
}

func TestTags(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	id := c.Want(201, "demo", "POST", "/v2.0/networks", `{"network":{"tags":["a"]}}`).TextAt("network", "id")
	c.Want(201, "demo", "PUT", "/v2.0/networks/"+id+"/tags/b", "")
	wantBody(t, c.Want(200, "demo", "GET", "/v2.0/networks/"+id+"/tags", ""), map[string]any{"tags": []any{"a", "b"}})
	c.Want(204, "demo", "GET", "/v2.0/networks/"+id+"/tags/b", "")
	for query, want := range map[string]int{"tags=a,b": 1, "tags=a,c": 0, "tags-any=a,c": 1, "not-tags=a": 0, "not-tags-any=c": 1} {
		if got := c.Want(200, "demo", "GET", "/v2.0/networks?"+query, ""); len(got.At("networks").([]any)) != want {
			t.Errorf("%s: %s", query, got.Text)
		}
	}
	c.Want(204, "demo", "DELETE", "/v2.0/networks/"+id+"/tags/b", "")
	c.Want(404, "demo", "DELETE", "/v2.0/networks/"+id+"/tags/b", "")
	c.Want(404, "other", "PUT", "/v2.0/networks/"+id+"/tags", `{"tags":[]}`)
}

// A change of a port's DHCP options keeps those that it doesn't name, and takes away those
// that it gives no value.
func TestDHCPOptions(t *testing.T) {
	t.Parallel()
	c := start(t, nil)
	networkID, _ := newNetwork(t, c, "demo", "", "10.0.0.0/24")
	portID := newPort(c, "demo", networkID, `,"extra_dhcp_opts":[{"opt_name":"67","opt_value":"a"},{"opt_name":"67","opt_value":"b","ip_version":6}]`).TextAt("port", "id")
	for _, s := range []struct{ change, want string }{
		{`[]`, `[map[ip_version:4 opt_name:67 opt_value:a] map[ip_version:6 opt_name:67 opt_value:b]]`},
		{`[{"opt_name":"67","opt_value":"c","ip_version":4},{"opt_name":"26","opt_value":"9000"}]`,
			`[map[ip_version:6 opt_name:67 opt_value:b] map[ip_version:4 opt_name:67 opt_value:c] map[ip_version:4 opt_name:26 opt_value:9000]]`},
		{`[{"opt_name":"67","opt_value":null},{"opt_name":"59","opt_value":null}]`, `[map[ip_version:6 opt_name:67 opt_value:b] map[ip_version:4 opt_name:26 opt_value:9000]]`},
	} {
		if got := fmt.Sprint(c.Want(200, "demo", "PUT", "/v2.0/ports/"+portID, `{"port":{"extra_dhcp_opts":`+s.change+`}}`).At("port", "extra_dhcp_opts")); got != s.want {
			t.Errorf("%s: %s", s.change, got)
		}
	}
}
