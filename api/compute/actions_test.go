package compute_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/engine"
)

// settle makes of a server what it is once its build has finished on a host.
func (c *cloud) settle(id, vmState string) {
	c.t.Helper()
	c.query(`UPDATE compute.servers SET vm_state = $2, task_state = NULL, host_id = $3, launched_at = now(), operation_id = NULL WHERE id = $1 RETURNING id::text`,
		id, vmState, hostID)
	c.query(`WITH done AS (UPDATE engine.operations SET finished_at = now(), result = 'done', dispatched_at = now() WHERE resource_id = $1 AND finished_at IS NULL RETURNING 1)
		SELECT count(*)::text FROM done`, id)
}

// contractAction is a row of contracts/compute/action-preconditions.json.
type contractAction struct {
	Action     string
	VMStates   json.RawMessage `json:"allowed_vm_states"`
	TaskStates json.RawMessage `json:"allowed_task_states"`
	Launched   bool            `json:"must_have_launched"`
	Lock       bool            `json:"lock_check"`
	Host       string          `json:"host_check"`
	Task       json.RawMessage `json:"task_state_set"`
	Name       string          `json:"name_in_409_message"`
}

// of reads a value that may differ by type of reboot.
func of[T any](t *testing.T, raw json.RawMessage, kind string) (value T, anything bool) {
	t.Helper()
	if string(raw) == `"any"` {
		return value, true
	}
	var byKind map[string]json.RawMessage
	if kind != "" && json.Unmarshal(raw, &byKind) == nil {
		raw = byKind[kind]
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return value, false
}

func preconditions(t *testing.T) map[string]contractAction {
	t.Helper()
	var all struct {
		VM      []string         `json:"vm_states"`
		Actions []contractAction `json:"server_actions"`
	}
	contracttest.Read(t, "compute/action-preconditions.json", &all)
	rows := map[string]contractAction{}
	for _, a := range all.Actions {
		rows[a.Action] = a
	}
	return rows
}

var vmStates = []string{"active", "building", "paused", "suspended", "stopped", "rescued", "resized", "soft-delete", "error", "shelved", "shelved_offloaded"}

// Every power action in every vm_state: accepted with the contract's task, or
// refused in its words.
func TestPowerActionsMeetTheContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	rows := preconditions(t)
	for _, k := range []struct{ action, kind, body string }{
		{"os-start", "", `{"os-start": null}`}, {"os-stop", "", `{"os-stop": null}`},
		{"pause", "", `{"pause": null}`}, {"unpause", "", `{"unpause": null}`},
		{"suspend", "", `{"suspend": null}`}, {"resume", "", `{"resume": null}`},
		{"unrescue", "", `{"unrescue": null}`},
		{"reboot", "SOFT", `{"reboot": {"type": "SOFT"}}`}, {"reboot", "HARD", `{"reboot": {"type": "Hard"}}`},
	} {
		row := rows[k.action]
		allowed, _ := of[[]string](t, row.VMStates, k.kind)
		task, _ := of[string](t, row.Task, k.kind)
		for _, vm := range vmStates {
			c.settle(id, vm)
			s := step{"alice", "2.1", "POST", "/servers/" + id + "/action", k.body, 202, ""}
			if !slices.Contains(allowed, vm) {
				s.status, s.want = 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", row.Name, id, vm))
			}
			c.play(s)
			if got := c.query(`SELECT COALESCE(task_state, '') FROM compute.servers WHERE id = $1`, id); s.status == 202 && got != task {
				t.Errorf("%s of %s: task %q, want %q", k.action, vm, got, task)
			}
		}
		vm := allowed[0]
		tasks, _ := of[[]*string](t, row.TaskStates, k.kind)
		if !slices.ContainsFunc(tasks, func(task *string) bool { return task != nil && *task == "rebooting" }) {
			c.settle(id, vm)
			c.query(`UPDATE compute.servers SET task_state = 'rebooting' WHERE id = $1 RETURNING id::text`, id)
			c.play(step{"alice", "2.1", "POST", "/servers/" + id + "/action", k.body, 409,
				conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in task_state rebooting", row.Name, id))})
		}
		c.settle(id, vm)
		c.query(`UPDATE compute.servers SET launched_at = NULL WHERE id = $1 RETURNING id::text`, id)
		c.play(step{"alice", "2.1", "POST", "/servers/" + id + "/action", k.body, 409,
			conflict(fmt.Sprintf("Instance %s is in an invalid state for '%s'", id, row.Name))})
		c.settle(id, vm)
		c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
		c.play(
			step{"alice", "2.1", "POST", "/servers/" + id + "/action", k.body, 409, conflict("Instance " + id + " is locked")},
			step{"root", "2.1", "POST", "/servers/" + id + "/action", k.body, 202, ""},
		)
		c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)
		c.settle(id, vm)
		if row.Host == "host set" {
			c.query(`UPDATE compute.servers SET host_id = NULL WHERE id = $1 RETURNING id::text`, id)
			c.play(step{"alice", "2.1", "POST", "/servers/" + id + "/action", k.body, 409, conflict("Instance " + id + " is not ready")})
		}
		c.play(
			step{"bob", "2.1", "POST", "/servers/" + id + "/action", k.body, 404, notFound("Instance " + id + " could not be found.")},
			step{"reader", "2.1", "POST", "/servers/" + id + "/action", k.body, 403, ""},
		)
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	act := func(token, version, body string, status int, want string) step {
		return step{token, version, "POST", "/servers/" + id + "/action", body, status, want}
	}
	shown := func() string {
		return c.query(`SELECT locked::text || ' ' || COALESCE(locked_by, '-') || ' ' || COALESCE(locked_reason, '-') FROM compute.servers WHERE id = $1`, id)
	}
	for _, k := range []struct {
		step
		want string
	}{
		{act("alice", "2.73", `{"lock": {"locked_reason": "mine"}}`, 202, ""), "true owner mine"},
		{act("alice", "2.73", `{"lock": {"locked_reason": "again"}}`, 202, ""), "true owner mine"},
		{act("alice", "2.1", `{"unlock": null}`, 202, ""), "false - -"},
		{act("root", "2.1", `{"lock": null}`, 202, ""), "true admin -"},
		{act("alice", "2.1", `{"unlock": null}`, 403, forbidden("os_compute_api:os-lock-server:unlock:unlock_override")), "true admin -"},
		{act("root", "2.1", `{"unlock": null}`, 202, ""), "false - -"},
	} {
		c.play(k.step)
		if got := shown(); got != k.want {
			t.Errorf("%s by %s: %q, want %q", k.body, k.token, got, k.want)
		}
	}
	_, body, _ := c.ask("alice", "2.1", "GET", "/servers/"+id+"/os-instance-actions", "")
	var actions []string
	for _, a := range body["instanceActions"].([]any) {
		actions = append(actions, a.(map[string]any)["action"].(string))
	}
	if got := strings.Join(actions, " "); got != "unlock lock unlock lock create" {
		t.Errorf("actions %s", got)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	path := "/servers/" + id + "/metadata"
	c.play(step{"alice", "2.1", "POST", path, `{"metadata": {"a": "1"}}`, 409, conflict("Cannot 'update metadata' instance " + id + " while it is in vm_state building")})
	c.settle(id, "active")
	c.play(
		step{"alice", "2.1", "POST", path, `{"metadata": {"a": "1"}}`, 200, `{"metadata": {"a": "1"}}`},
		step{"alice", "2.1", "POST", path, `{"metadata": {"b": "2"}}`, 200, `{"metadata": {"a": "1", "b": "2"}}`},
		step{"alice", "2.1", "GET", path, "", 200, `{"metadata": {"a": "1", "b": "2"}}`},
		step{"alice", "2.1", "PUT", path, `{"metadata": {"c": "3"}}`, 200, `{"metadata": {"c": "3"}}`},
		step{"alice", "2.1", "PUT", path + "/d", `{"meta": {"d": "4"}}`, 200, `{"meta": {"d": "4"}}`},
		step{"alice", "2.1", "PUT", path + "/e", `{"meta": {"d": "4"}}`, 400, invalid("Request body and URI mismatch")},
		step{"alice", "2.1", "GET", path + "/d", "", 200, `{"meta": {"d": "4"}}`},
		step{"alice", "2.1", "GET", path + "/x", "", 404, notFound("Metadata item was not found")},
		step{"alice", "2.1", "DELETE", path + "/d", "", 204, ""},
		step{"alice", "2.1", "DELETE", path + "/d", "", 404, notFound("Metadata item was not found")},
		step{"bob", "2.1", "GET", path, "", 404, notFound("Instance " + id + " could not be found.")},
		step{"reader", "2.1", "GET", path, "", 200, `{"metadata": {"c": "3"}}`},
		step{"reader", "2.1", "POST", path, `{"metadata": {"a": "1"}}`, 403, forbidden("os_compute_api:server-metadata:create")},
		step{"root", "2.1", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"metadata_items": 1}}`, 200, ""},
		step{"alice", "2.1", "POST", path, `{"metadata": {"a": "1"}}`, 403, fault("forbidden", "403", "Maximum number of metadata items exceeds 1")},
	)
}

func TestTags(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	path := "/servers/" + id + "/tags"
	c.play(
		step{"alice", "2.25", "GET", path, "", 404, notFound("The resource could not be found.")},
		step{"alice", "2.26", "GET", path, "", 200, `{"tags": []}`},
		step{"alice", "2.26", "PUT", path + "/blue", "", 201, ""},
		step{"alice", "2.26", "PUT", path + "/blue", "", 204, ""},
		step{"alice", "2.26", "GET", path + "/blue", "", 204, ""},
		step{"alice", "2.26", "GET", path + "/red", "", 404, notFound("Server " + id + " has no tag 'red'")},
		step{"alice", "2.26", "PUT", path, `{"tags": ["b", "a", "b"]}`, 200, `{"tags": ["a", "b"]}`},
		step{"alice", "2.26", "PUT", path + "/a,b", "", 400, ""},
		step{"alice", "2.26", "DELETE", path + "/a", "", 204, ""},
		step{"alice", "2.26", "DELETE", path + "/a", "", 404, notFound("Instance " + id + " has no tag 'a'")},
		step{"alice", "2.26", "DELETE", path, "", 204, ""},
		step{"alice", "2.26", "GET", path, "", 200, `{"tags": []}`},
	)
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	for _, version := range []string{"2.1", "2.9", "2.19", "2.26", "2.47", "2.63", "2.71", "2.73", "2.75", "2.90", "2.96", "2.98", "2.100", "2.104"} {
		c.play(step{"alice", version, "PUT", "/servers/" + id, `{"server": {"name": "n` + version + `", "accessIPv4": "192.0.2.1"}}`, 200, ""})
	}
	c.play(
		step{"alice", "2.90", "PUT", "/servers/" + id, `{"server": {"description": "d", "hostname": "h-1", "OS-DCF:diskConfig": "AUTO"}}`, 200, ""},
		step{"alice", "2.104", "PUT", "/servers/" + id, `{"server": {"pinned_availability_zone": "other"}}`, 409,
			conflict("Server can only be pinned to its current availability zone 'nova', but 'other' was requested.")},
		step{"alice", "2.104", "PUT", "/servers/" + id, `{"server": {"pinned_availability_zone": "nova"}}`, 200, ""},
		step{"alice", "2.104", "PUT", "/servers/" + id, `{"server": {"pinned_availability_zone": "other"}}`, 409,
			conflict("Cannot change pinned availability zone directly. Unpin first by setting pinned_availability_zone to null.")},
		step{"bob", "2.1", "PUT", "/servers/" + id, `{"server": {"name": "x"}}`, 404, notFound("Instance " + id + " could not be found.")},
		step{"reader", "2.1", "PUT", "/servers/" + id, `{"server": {"name": "x"}}`, 403, forbidden("os_compute_api:servers:update")},
	)
	got := c.query(`SELECT name || ' ' || description || ' ' || hostname || ' ' || disk_config || ' ' || host(access_ip_v4) || ' ' || availability_zone FROM compute.servers WHERE id = $1`, id)
	if want := "n2.104 d h-1 AUTO 192.0.2.1 nova"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c.play(step{"alice", "2.104", "PUT", "/servers/" + id, `{"server": {"pinned_availability_zone": null, "description": null}}`, 200, ""})
	if got := c.query(`SELECT COALESCE(description, '-') || availability_zone FROM compute.servers WHERE id = $1`, id); got != "-" {
		t.Error(got)
	}
}

func TestInstanceActions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	operation := c.query(`SELECT id FROM engine.operations WHERE resource_id = $1`, id)
	request := c.query(`SELECT request_id FROM engine.operations WHERE resource_id = $1`, id)
	c.query(`INSERT INTO engine.operation_events (operation_id, seq, step, host, finished_at, result, message)
		VALUES ($1, 1, 'guest', $2, now(), 'failed', 'no disk') RETURNING step`, operation, hostID)
	c.settle(id, "active")
	path := "/servers/" + id + "/os-instance-actions"
	for _, version := range []string{"2.1", "2.21", "2.51", "2.58", "2.62", "2.66", "2.84"} {
		for _, token := range []string{"alice", "root"} {
			c.play(step{token, version, "GET", path, "", 200, ""}, step{token, version, "GET", path + "/" + request, "", 200, ""})
		}
	}
	events := func(token, version string) map[string]any {
		_, body, _ := c.ask(token, version, "GET", path+"/"+request, "")
		all, _ := body["instanceAction"].(map[string]any)["events"].([]any)
		if len(all) == 0 {
			return nil
		}
		return all[0].(map[string]any)
	}
	if e := events("alice", "2.50"); e != nil {
		t.Errorf("before 2.51 a member sees %v", e)
	}
	if e := events("alice", "2.84"); e["event"] != "compute__do_build_and_run_instance" || e["result"] != "Error" || e["host"] != nil || e["hostId"] == "" || e["details"] != nil {
		t.Errorf("a member sees %v", e)
	}
	if e := events("root", "2.84"); e["host"] != "host-1" || e["details"] != "no disk" {
		t.Errorf("an administrator sees %v", e)
	}
	c.play(
		step{"alice", "2.1", "GET", path + "/req-none", "", 404, notFound("Action req-none not found")},
		step{"alice", "2.58", "GET", path + "?marker=" + request, "", 200, `{"instanceActions": []}`},
		step{"alice", "2.58", "GET", path + "?marker=none", "", 400, invalid("Marker none could not be found.")},
		step{"alice", "2.66", "GET", path + "?changes-since=2020-01-02&changes-before=2020-01-01", "", 400,
			invalid("The value of changes-since must be less than or equal to changes-before.")},
		step{"alice", "2.58", "GET", path + "?changes-since=2099-01-01T00:00:00Z", "", 200, `{"instanceActions": []}`},
		step{"bob", "2.1", "GET", path, "", 404, notFound("Instance " + id + " could not be found.")},
	)
	c.query(`UPDATE compute.servers SET deleted_at = now(), vm_state = 'deleted' WHERE id = $1 RETURNING id::text`, id)
	c.play(
		step{"alice", "2.20", "GET", path, "", 404, notFound("Instance " + id + " could not be found.")},
		step{"alice", "2.21", "GET", path, "", 200, ""},
	)
}

func TestExternalEvents(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	waiting, settled := c.create("alice", "a"), c.create("alice", "b")
	c.settle(settled, "active")
	const none = "00000000-0000-0000-0000-000000000001"
	event := func(id, more string) string {
		return `{"name": "network-vif-plugged", "server_uuid": "` + id + `"` + more + `}`
	}
	c.play(
		step{"alice", "2.1", "POST", "/os-server-external-events", `{"events": [` + event(waiting, "") + `]}`, 403, forbidden("os_compute_api:os-server-external-events:create")},
		step{"root", "2.1", "POST", "/os-server-external-events", `{"events": [` + event(waiting, `, "status": "completed", "tag": "p1"`) + `, ` + event(settled, "") + `]}`, 200,
			`{"events": [` + event(waiting, `, "status": "completed", "tag": "p1", "code": 200`) + `, ` + event(settled, `, "status": "completed", "code": 200`) + `]}`},
		step{"root", "2.1", "POST", "/os-server-external-events", `{"events": [` + event(none, "") + `]}`, 207, `{"events": [` + event(none, `, "status": "failed", "code": 404`) + `]}`},
	)
	if got := c.query(`SELECT string_agg(event || ' ' || resource_id::text || ' ' || (payload->>'tag'), ',') FROM engine.operation_inbox`); got != string(engine.NetworkVIFPlugged)+" "+waiting+" p1" {
		t.Errorf("inbox has %s", got)
	}
	operation := c.query(`SELECT operation_id FROM compute.servers WHERE id = $1`, waiting)
	if !slices.Contains(c.offers.ids, "knock "+operation) {
		t.Errorf("knocked at %v", c.offers.ids)
	}
}

// Neutron's word that a port has changed brings its addresses, floating ones and that of
// its hardware too; an answer that was asked for earlier and comes later doesn't.
func TestAddressesFollowNeutron(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	(&world{cloud: c}).plug(id)
	c.settle(id, "active")
	changed := func() {
		c.play(step{"root+", "2.1", "POST", "/os-server-external-events", `{"events": [{"name": "network-changed", "server_uuid": "` + id + `", "tag": "p"}]}`, 200, ""})
	}
	shows := func(want string) {
		t.Helper()
		_, body, _ := c.ask("alice", "2.1", "GET", "/servers/"+id, "")
		got, err := json.Marshal(body["server"].(map[string]any)["addresses"])
		if err != nil || string(got) != want {
			t.Errorf("addresses %s, %v, want %s", got, err, want)
		}
	}
	one := func(mac, address, kind string) string {
		return `{"OS-EXT-IPS-MAC:mac_addr":"fa:16:3e:00:00:` + mac + `","OS-EXT-IPS:type":"` + kind + `","addr":"` + address + `","version":4}`
	}
	c.query(`UPDATE compute.server_ports SET addresses_at = now() + interval '1h' WHERE server_id = $1 RETURNING port_id`, id)
	changed()
	shows(`{"private":[` + one("01", "192.0.2.7", "fixed") + `]}`)
	c.query(`UPDATE compute.server_ports SET addresses_at = '-infinity' WHERE server_id = $1 RETURNING port_id`, id)
	changed()
	shows(`{"private":[` + one("08", "192.0.2.8", "fixed") + `,` + one("08", "203.0.113.8", "floating") + `]}`)
	c.play(step{"alice", "2.1", "GET", "/servers/" + id + "/ips/private", "", 200, `{"private": [{"version": 4, "addr": "192.0.2.8"}, {"version": 4, "addr": "203.0.113.8"}]}`})
}

func TestConsoleOutput(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	ask := func(token, body string, status int, want string) step {
		return step{token, "2.1", "POST", "/servers/" + id + "/action", body, status, want}
	}
	c.play(ask("alice", `{"os-getConsoleOutput": {}}`, 409, conflict("Instance "+id+" is not ready")))
	c.settle(id, "active")
	c.play(
		ask("alice", `{"os-getConsoleOutput": {}}`, 200, `{"output": "one\ntwo\nthree\n"}`),
		ask("alice", `{"os-getConsoleOutput": {"length": 2}}`, 200, `{"output": "two\nthree\n"}`),
		ask("alice", `{"os-getConsoleOutput": {"length": "1"}}`, 200, `{"output": "three\n"}`),
		ask("alice", `{"os-getConsoleOutput": {"length": -1}}`, 200, `{"output": "one\ntwo\nthree\n"}`),
		ask("reader", `{"os-getConsoleOutput": {}}`, 403, forbidden("os_compute_api:os-console-output")),
		ask("bob", `{"os-getConsoleOutput": {}}`, 404, notFound("Instance "+id+" could not be found.")),
	)
}

func TestIPs(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	c.query(`INSERT INTO compute.server_ports (server_id, position, ours, network_id, port_id, bound, network_name, mac, fixed_ips)
		VALUES ($1, 0, true, 'n', 'p', true, 'private', 'fa:16:3e:00:00:01', '[{"subnet_id": "s", "ip_address": "192.0.2.7"}]') RETURNING port_id`, id)
	c.play(
		step{"alice", "2.1", "GET", "/servers/" + id + "/ips", "", 200, `{"addresses": {"private": [{"version": 4, "addr": "192.0.2.7"}]}}`},
		step{"alice", "2.1", "GET", "/servers/" + id + "/ips/private", "", 200, `{"private": [{"version": 4, "addr": "192.0.2.7"}]}`},
		step{"alice", "2.1", "GET", "/servers/" + id + "/ips/public", "", 404, notFound("Instance is not a member of specified network")},
	)
}
