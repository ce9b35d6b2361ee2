package compute_test

import (
	"context"
	"fmt"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	computestore "holdfast.dev/internal/store/compute"
)

// Ids at Neutron.
const (
	privateNet    = "a2f3ee06-1f8a-4f26-a09a-64ce5a8aa95b"
	privateSubnet = "b2f3ee06-1f8a-4f26-a09a-64ce5a8aa95b"
	fullNet       = "c2f3ee06-1f8a-4f26-a09a-64ce5a8aa95b"
	lost          = "d2f3ee06-1f8a-4f26-a09a-64ce5a8aa95b"
)

// portOf is the port of a server, whose id it has.
func portOf(serverID string) openstack.Interface {
	return openstack.Interface{ID: serverID, NetworkID: privateNet, DeviceID: serverID, MAC: "fa:16:3e:00:00:01", Status: "ACTIVE",
		FixedIPs: []computestore.FixedIP{{SubnetID: privateSubnet, Address: "192.0.2.7"}}}
}

func (neighbour) Interfaces(_ context.Context, _ identity.Identity, serverID string) ([]openstack.Interface, error) {
	return []openstack.Interface{portOf(serverID)}, nil
}

func (neighbour) Interface(_ context.Context, _ identity.Identity, portID string) (*openstack.Interface, error) {
	if portID == lost {
		return nil, faults.New(faults.NotFound, "NotFound", "no such port")
	}
	p := portOf(portID)
	return &p, nil
}

func (neighbour) AddFixedIP(_ context.Context, _ identity.Identity, _, networkID string) error {
	switch networkID {
	case fullNet:
		return faults.New(faults.NoCapacity, "NoMoreFixedIps", "full")
	case privateNet, "5":
		return nil
	}
	return faults.New(faults.NotFound, "NotFound", "no such network")
}

func (neighbour) RemoveFixedIP(_ context.Context, _ identity.Identity, _, address string) error {
	if address != "192.0.2.7" {
		return faults.New(faults.NotFound, "NotFound", "no such address")
	}
	return nil
}

// A server's interfaces, as each microversion shows them, and to whom.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	c := newWorld(t)
	id, other := c.fresh(), c.fresh()
	c.query(`UPDATE compute.server_ports SET port_id = $2, tag = 'nic' WHERE server_id = $1 RETURNING port_id`, id, id)
	path := "/servers/" + id + "/os-interface"
	shown := func(tag string) string {
		return fmt.Sprintf(`{"net_id": "`+privateNet+`", "port_id": %q, "mac_addr": "fa:16:3e:00:00:01", "port_state": "ACTIVE", "fixed_ips": [{"subnet_id": "`+privateSubnet+`", "ip_address": "192.0.2.7"}]%s}`,
			id, tag)
	}
	missing := fault("itemNotFound", "404", "Instance "+id+" could not be found.")
	for version, tag := range map[string]string{"2.1": "", "2.69": "", "2.70": `, "tag": "nic"`, "2.104": `, "tag": "nic"`} {
		c.play(
			step{"alice+", version, "GET", path, "", 200, `{"interfaceAttachments": [` + shown(tag) + `]}`},
			step{"alice+", version, "GET", path + "/" + id, "", 200, `{"interfaceAttachment": ` + shown(tag) + `}`},
			step{"alice+", version, "GET", path + "/" + lost, "", 404, fault("itemNotFound", "404", "Port id "+lost+" could not be found.")},
			step{"alice+", version, "GET", path + "/" + other, "", 404, fault("itemNotFound", "404", "Instance "+id+" does not have a port with id "+other)},
			step{"bob+", version, "GET", path, "", 404, missing},
			step{"bob+", version, "GET", path + "/" + id, "", 404, missing},
		)
	}
	c.play(
		step{"alice+", "2.101", "GET", path + "?x=y", "", 200, ""},
		step{"alice+", "2.102", "GET", path + "?x=y", "", 400, ""},
		step{"reader+", "2.1", "GET", path, "", 200, ""},
		step{"alice+", "2.70", "GET", "/servers/" + other + "/os-interface/" + other, "", 200,
			`{"interfaceAttachment": {"net_id": "` + privateNet + `", "port_id": "` + other + `", "mac_addr": "*", "port_state": "*", "fixed_ips": [{"subnet_id": "*", "ip_address": "*"}], "tag": null}}`},
		// A token without a catalog, of a cloud without Neutron.
		step{"alice", "2.1", "GET", path, "", 200, `{"interfaceAttachments": []}`},
		step{"alice", "2.1", "GET", path + "/" + id, "", 404, ""},
	)
}

// Addresses are added and taken away, up to 2.43, and shown at once; what Neutron
// refuses is said in the original's words.
func TestFixedIPs(t *testing.T) {
	t.Parallel()
	c := newWorld(t)
	id := c.fresh()
	path, action := "/servers/"+id, "/servers/"+id+"/action"
	addresses := func(want string) {
		t.Helper()
		c.play(step{"alice", "2.1", "GET", path + "/ips/private", "", 200, `{"private": [` + want + `]}`})
	}
	addresses(`{"version": 4, "addr": "192.0.2.7"}`)
	c.play(
		step{"alice+", "2.1", "POST", action, `{"addFixedIp": {"networkId": "` + lost + `"}}`, 404, fault("itemNotFound", "404", "Network could not be found for instance "+id+".")},
		step{"alice+", "2.1", "POST", action, `{"addFixedIp": {"networkId": "` + fullNet + `"}}`, 400, fault("badRequest", "400", "No fixed IP addresses available for network: "+fullNet)},
		step{"alice+", "2.1", "POST", action, `{"removeFixedIp": {"address": "192.0.2.99"}}`, 400, fault("badRequest", "400", "Instance "+id+" does not have fixed IP '192.0.2.99'.")},
		step{"alice", "2.1", "POST", action, `{"addFixedIp": {"networkId": "` + privateNet + `"}}`, 404, ""},
		step{"alice", "2.1", "POST", action, `{"removeFixedIp": {"address": "192.0.2.7"}}`, 400, ""},
		step{"bob+", "2.1", "POST", action, `{"addFixedIp": {"networkId": "` + privateNet + `"}}`, 404, fault("itemNotFound", "404", "Instance "+id+" could not be found.")},
		step{"reader+", "2.1", "POST", action, `{"addFixedIp": {"networkId": "` + privateNet + `"}}`, 403, ""},
		step{"alice+", "2.44", "POST", action, `{"addFixedIp": {"networkId": "` + privateNet + `"}}`, 404, ""},
		step{"alice+", "2.44", "POST", action, `{"removeFixedIp": {"address": "192.0.2.7"}}`, 404, ""},
		step{"alice+", "2.1", "POST", action, `{"addFixedIp": {"networkId": ""}}`, 400, ""},
		step{"alice+", "2.1", "POST", action, `{"removeFixedIp": {"address": "x"}}`, 400, ""},
	)
	addresses(`{"version": 4, "addr": "192.0.2.7"}`)
	for _, body := range []string{`{"addFixedIp": {"networkId": "` + privateNet + `"}}`, `{"addFixedIp": {"networkId": 5}}`, `{"removeFixedIp": {"address": "192.0.2.7"}}`} {
		c.query(`UPDATE compute.server_ports SET fixed_ips = '[{"subnet_id": "s", "ip_address": "192.0.2.7"}]', floating_ips = '[]' WHERE server_id = $1 RETURNING port_id`, id)
		c.play(step{"alice+", "2.43", "POST", action, body, 202, ""})
		addresses(`{"version": 4, "addr": "192.0.2.8"}, {"version": 4, "addr": "203.0.113.8"}`)
	}
	c.play(
		step{"alice+", "2.1", "POST", action, `{"lock": null}`, 202, ""},
		step{"alice+", "2.1", "POST", action, `{"addFixedIp": {"networkId": "` + privateNet + `"}}`, 409, fault("conflictingRequest", "409", "Instance "+id+" is locked")},
		step{"root+", "2.1", "POST", action, `{"addFixedIp": {"networkId": "` + privateNet + `"}}`, 202, ""},
	)
}
