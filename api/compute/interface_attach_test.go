package compute_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"holdfast.dev/api/compute"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
)

// boundAtOnce has every interface that comes bound as Neutron and a host would.
func (c *cloud) boundAtOnce() {
	c.t.Helper()
	for _, sql := range []string{
		`CREATE FUNCTION bind_at_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			NEW.bound := true; NEW.mac := 'fa:16:3e:00:00:07'; NEW.fixed_ips := '[{"subnet_id": "ffffffff-0000-4000-8000-000000000001", "ip_address": "10.0.0.7"}]';
			NEW.port_id := COALESCE(NULLIF(NEW.port_id, ''), 'cccccccc-0000-4000-8000-' || lpad(NEW.position::text, 12, '0'));
			NEW.network_id := COALESCE(NULLIF(NEW.network_id, ''), 'dddddddd-0000-4000-8000-000000000001');
			RETURN NEW; END $$`,
		`CREATE TRIGGER bind_at_once BEFORE INSERT ON compute.server_ports FOR EACH ROW EXECUTE FUNCTION bind_at_once()`,
	} {
		if _, err := c.db.Pool.Exec(c.t.Context(), sql); err != nil {
			c.t.Fatal(err)
		}
	}
}

// An interface is given to a server, and taken from it, as each microversion
// has it; what contradicts itself is refused in the original's words.
func TestInterfacesComeAndGo(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	c.query(`WITH gone AS (DELETE FROM compute.server_ports WHERE server_id = $1 RETURNING 1) SELECT count(*)::text FROM gone`, id)
	c.boundAtOnce()
	const net, own = "dddddddd-0000-4000-8000-000000000001", "eeeeeeee-0000-4000-8000-000000000001"
	path := "/servers/" + id + "/os-interface"
	attach := func(version, body string, status int, want string) step {
		return step{"alice", version, "POST", path, body, status, want}
	}
	is := func(port, more string) string {
		return fmt.Sprintf(`{"interfaceAttachment": {"port_id": %q, "net_id": %q, "mac_addr": "fa:16:3e:00:00:07", "port_state": "DOWN",
			"fixed_ips": [{"subnet_id": "ffffffff-0000-4000-8000-000000000001", "ip_address": "10.0.0.7"}]%s}}`, port, net, more)
	}
	bad := func(text string) string { return fault("badRequest", "400", text) }
	first := "cccccccc-0000-4000-8000-000000000000"
	const noNetwork = "No specific network was requested and none are available for project 'a11ce'."
	c.play(
		attach("2.1", `{"interfaceAttachment": {"net_id": "`+net+`", "fixed_ips": [{"ip_address": "10.0.0.7"}]}}`, 200, is(first, "")),
		attach("2.70", `{"interfaceAttachment": {"port_id": "`+own+`", "tag": "nic"}}`, 200, is(own, `, "tag": "nic"`)),
		attach("2.1", `{"interfaceAttachment": {"port_id": "`+own+`"}}`, 409, conflict("Port "+own+" is still in use.")),
		attach("2.70", `{"interfaceAttachment": {}}`, 400, bad(noNetwork)),
		attach("2.1", `{}`, 400, bad(noNetwork)),
		attach("2.1", `{"interfaceAttachment": {"net_id": "`+net+`", "port_id": "`+own+`"}}`, 400, bad("Must not input both network_id and port_id")),
		attach("2.1", `{"interfaceAttachment": {"fixed_ips": [{"ip_address": "10.0.0.7"}]}}`, 400, bad("Must input network_id when request IP address")),
		attach("2.1", `{"interfaceAttachment": {"tag": "nic"}}`, 400, ""),
		attach("2.1", `{"interfaceAttachment": {"net_id": "x"}}`, 400, ""),
		step{"bob", "2.1", "POST", path, `{"interfaceAttachment": {}}`, 404, notFound("Instance " + id + " could not be found.")},
		step{"reader", "2.1", "POST", path, `{"interfaceAttachment": {}}`, 403, ""},
		step{"alice", "2.1", "DELETE", path + "/" + first, "", 202, ""},
		step{"alice", "2.1", "DELETE", path + "/" + absent, "", 404, notFound("Port " + absent + " is not attached")},
		step{"bob", "2.1", "DELETE", path + "/" + first, "", 404, ""},
		step{"reader", "2.1", "DELETE", path + "/" + first, "", 403, ""},
	)
	if got := c.query(`SELECT count(*)::text || count(start_after) FROM engine.operations WHERE resource_id = $1 AND kind LIKE '%-interface'`, id); got != "31" {
		t.Errorf("operations, and those that may start: %s", got)
	}
}

// What Neutron refuses of an interface, or of an address in a create, is the
// caller's mistake, and said.
func TestAddressesAreRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(a *compute.API) { a.Neighbours = oneTaken{} })
	c.addHost()
	id := c.create("alice", "web")
	create := func(address string, status int, want string) step {
		return step{"alice+", "2.1", "POST", "/servers", `{"server": {"name": "x", "flavorRef": "1", "imageRef": "` + image + `",
			"networks": [{"uuid": "` + network + `", "fixed_ip": "` + address + `"}]}}`, status, want}
	}
	c.play(
		create("192.0.2.5", 400, fault("badRequest", "400", "Fixed IP address 192.0.2.5 is already in use on instance "+absent+".")),
		create("192.0.2.6", 202, ""),
	)
	for _, sql := range []string{
		`CREATE TABLE refusals (code text)`,
		`INSERT INTO refusals VALUES ('')`,
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			SELECT code INTO NEW.error_code FROM refusals; NEW.result := 'failed'; NEW.finished_at := now(); NEW.message := 'why'; RETURN NEW; END $$`,
		`CREATE TRIGGER refuse BEFORE INSERT ON engine.operations FOR EACH ROW WHEN (NEW.kind = 'server.attach-interface') EXECUTE FUNCTION refuse()`,
	} {
		if _, err := c.db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []struct {
		code   string
		status int
		want   string
	}{
		{"InvalidIpForNetwork", 400, fault("badRequest", "400", "why")},
		{"NoMoreFixedIps", 400, fault("badRequest", "400", "why")},
		{"FixedIpAlreadyInUse", 409, conflict("why")},
		{"PortInUse", 409, conflict("why")},
		{"NetworkNotFound", 404, notFound("why")},
	} {
		c.settle(id, "active")
		c.query(`UPDATE refusals SET code = $1 RETURNING code`, r.code)
		c.play(step{"alice", "2.1", "POST", "/servers/" + id + "/os-interface", `{"interfaceAttachment": {"net_id": "` + network + `"}}`, r.status, r.want})
	}
}

// oneTaken is a Neutron with a network of which a server has one address.
type oneTaken struct{ neighbour }

func (oneTaken) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	return &openstack.Image{ID: id, Status: "active"}, nil
}

func (oneTaken) Network(_ context.Context, _ identity.Identity, id string) (*openstack.Network, error) {
	return &openstack.Network{ID: id, Subnets: []string{"s"}}, nil
}

func (oneTaken) InterfacesAt(_ context.Context, _ identity.Identity, _, address string) ([]openstack.Interface, error) {
	if address != "192.0.2.5" {
		return nil, nil
	}
	return []openstack.Interface{{DeviceID: absent}}, nil
}

// In every state the contract's rows accept or refuse, in its words.
func TestInterfacesMeetTheContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.boundAtOnce()
	c.query(`INSERT INTO compute.server_ports (server_id, position, ours, network_id, port_id) VALUES ($1, 40, false, '', $2) RETURNING port_id`, id, absent)
	rows := others(t)
	path := "/servers/" + id + "/os-interface"
	for _, k := range []struct {
		name, text, method, path, body string
		done                           int
	}{
		{"attach interface", "attach_interface", "POST", path, `{"interfaceAttachment": {"net_id": "` + network + `"}}`, 200},
		{"detach interface", "detach_interface", "DELETE", path + "/" + absent, "", 202},
	} {
		allowed, _ := of[[]string](t, rows[k.name].VMStates, "")
		for _, vm := range vmStates {
			c.settle(id, vm)
			s := step{"alice", "2.1", k.method, k.path, k.body, k.done, ""}
			if !slices.Contains(allowed, vm) {
				s.status, s.want = 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", k.text, id, vm))
			}
			c.play(s)
		}
		c.settle(id, "active")
		c.query(`UPDATE compute.servers SET task_state = 'rebooting' WHERE id = $1 RETURNING id::text`, id)
		c.play(step{"alice", "2.1", k.method, k.path, k.body, 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in task_state rebooting", k.text, id))})
		c.settle(id, "active")
		c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
		c.play(step{"alice", "2.1", k.method, k.path, k.body, 409, conflict("Instance " + id + " is locked")})
		c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)
	}
}
