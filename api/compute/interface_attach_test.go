package compute_test

import (
	"fmt"
	"slices"
	"testing"
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
	c.play(
		attach("2.1", `{"interfaceAttachment": {"net_id": "`+net+`", "fixed_ips": [{"ip_address": "10.0.0.7"}]}}`, 200, is(first, "")),
		attach("2.70", `{"interfaceAttachment": {"port_id": "`+own+`", "tag": "nic"}}`, 200, is(own, `, "tag": "nic"`)),
		attach("2.1", `{"interfaceAttachment": {"port_id": "`+own+`"}}`, 409, conflict("Port "+own+" is still in use.")),
		attach("2.70", `{"interfaceAttachment": {}}`, 200, ""),
		attach("2.1", `{}`, 200, ""),
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
	if got := c.query(`SELECT count(*)::text || count(start_after) FROM engine.operations WHERE resource_id = $1 AND kind LIKE '%-interface'`, id); got != "51" {
		t.Errorf("operations, and those that may start: %s", got)
	}
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
		{"attach interface", "attach_interface", "POST", path, `{"interfaceAttachment": {}}`, 200},
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
