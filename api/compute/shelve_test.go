package compute_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	compute "holdfast.dev/api/compute"
)

// shelfBodies are the three actions of the shelf.
var shelfBodies = map[string]string{"shelve": `{"shelve": null}`, "shelveOffload": `{"shelveOffload": null}`, "unshelve": `{"unshelve": null}`}

// Each action in every vm_state: accepted with the contract's task, or refused in
// its words.
func TestShelfActionsMeetTheContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	rows := preconditions(t)
	for action, body := range shelfBodies {
		row := rows[action]
		allowed, _ := of[[]string](t, row.VMStates, "")
		task, _ := of[string](t, row.Task, "")
		ask := func(token string, status int, want string) {
			t.Helper()
			c.play(step{token, "2.1", "POST", "/servers/" + id + "/action", body, status, want})
		}
		user := "alice+"
		if action == "shelveOffload" {
			user = "root+" // by rule
		}
		for _, vm := range vmStates {
			c.settle(id, vm)
			if !slices.Contains(allowed, vm) {
				ask(user, 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", row.Name, id, vm)))
				continue
			}
			ask("root+", 202, "")
			if got := c.query(`SELECT COALESCE(task_state, '') FROM compute.servers WHERE id = $1`, id); got != task {
				t.Errorf("%s of %s: task %q, want %q", action, vm, got, task)
			}
			ask("root+", 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in task_state %s", row.Name, id, task)))
		}
		c.settle(id, allowed[0])
		c.query(`UPDATE compute.servers SET launched_at = NULL WHERE id = $1 RETURNING id::text`, id)
		ask(user, 409, conflict(fmt.Sprintf("Instance %s is in an invalid state for '%s'", id, row.Name)))
		c.settle(id, allowed[0])
		ask("reader+", 403, "")
		if user == "root+" {
			ask("alice+", 403, forbidden("os_compute_api:os-shelve:shelve_offload"))
			continue
		}
		ask("bob+", 404, notFound("Instance "+id+" could not be found."))
		c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
		ask("alice+", 409, conflict("Instance "+id+" is locked"))
		c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)
	}
}

// What Glance is asked to make of a server that is shelved, and what its operation
// is told; one that boots from a volume has no image and always leaves its host.
func TestShelve(t *testing.T) {
	t.Parallel()
	for offload, want := range map[bool]string{true: "true", false: "-"} {
		c := newCloud(t, func(a *compute.API) { a.OffloadShelved = offload })
		c.addHost()
		id := c.create("alice", "web")
		asked := func() (imageID, offloads, ledger string) {
			one := func(what string) string {
				return c.query(`SELECT COALESCE((SELECT `+what+` FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id
					LEFT JOIN engine.operation_effects e ON e.operation_id = o.id WHERE s.id = $1), '-')`, id)
			}
			return one(`o.input->>'image_id'`), one(`o.input->>'offload'`), one(`e.kind || ' ' || e.ref || ' ' || e.state`)
		}
		shelve := step{"alice+", "2.1", "POST", "/servers/" + id + "/action", shelfBodies["shelve"], 202, ""}
		c.settle(id, "active")
		c.play(shelve)
		made, offloads, ledger := asked()
		document, _ := images.Load(made)
		shown := map[string]any{"id": made, "name": "web-shelved", "visibility": "private", "image_type": "snapshot", "user_id": "alice", "disk_format": "qcow2",
			"container_format": "bare", "min_disk": int64(1), "min_ram": int64(0), "instance_uuid": id, "base_image_ref": image}
		if offloads != want || ledger != "image "+made+" done" || !reflect.DeepEqual(document, shown) {
			t.Errorf("offload %s, ledger %s, image %v", offloads, ledger, document)
		}
		c.settle(id, "active")
		c.play(step{"alice", "2.1", "POST", "/servers/" + id + "/action", shelfBodies["shelve"], 503, ""}) // no catalog, no Glance
		c.query(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, boot_index, attachment_id)
			VALUES ($1, 0, 'volume', 'volume', 'v', 0, 'a') RETURNING volume_id`, id)
		c.play(shelve)
		if made, offloads, ledger := asked(); made != "-" && made != "" || offloads != "true" || ledger != "-" {
			t.Errorf("of volumes: image %s, offload %s, ledger %s", made, offloads, ledger)
		}
	}
}

// Where a server is to run again, at every version of the request.
func TestUnshelve(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	c.addHostNamed("0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5d02", "empty-1")
	id := c.create("alice", "web")
	offloaded := func(zone string) {
		t.Helper()
		c.settle(id, "shelved_offloaded")
		c.query(`UPDATE compute.servers SET host_id = NULL, availability_zone = $2 WHERE id = $1 RETURNING id::text`, id, zone)
	}
	act := func(token, version, body string, status int, want string) step {
		return step{token, version, "POST", "/servers/" + id + "/action", body, status, want}
	}
	const (
		zoned  = `{"unshelve": {"availability_zone": "nova"}}`
		hosted = `{"unshelve": {"host": "empty-1"}}`
		both   = `{"unshelve": {"availability_zone": "nova", "host": "empty-1"}}`
		unpin  = `{"unshelve": {"availability_zone": null}}`
	)
	for _, k := range []struct{ token, version, body, want string }{
		{"alice", "2.1", `{"unshelve": null}`, `{}`},
		{"alice", "2.76", `{"unshelve": {"anything": "goes"}}`, `{}`},
		{"alice", "2.77", zoned, `{"zone": "nova"}`},
		{"alice", "2.91", `{"unshelve": null}`, `{}`},
		{"alice", "2.91", unpin, `{"zone": ""}`},
		{"root", "2.91", hosted, `{"host": "empty-1"}`},
		{"root", "2.91", both, `{"host": "empty-1", "zone": "nova"}`},
	} {
		offloaded("nova")
		c.play(act(k.token, k.version, k.body, 202, ""))
		got := c.query(`SELECT COALESCE(o.input->'destination', '{}')::text FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id WHERE s.id = $1`, id)
		if got != k.want {
			t.Errorf("%s at %s: to %s, want %s", k.body, k.version, got, k.want)
		}
	}
	c.settle(id, "shelved")
	early := func(version, body string) step {
		return act("root", version, body, 409, conflict("Specifying an availability zone or a host when unshelving server \""+id+
			"\" with status \"shelved\" is not supported. The server status must be SHELVED_OFFLOADED."))
	}
	c.play(early("2.77", zoned), early("2.91", unpin), early("2.91", hosted))
	offloaded("elsewhere")
	c.play(
		act("alice", "2.77", `{"unshelve": {"availability_zone": "nowhere"}}`, 400, invalid("The requested availability zone is not available")),
		act("alice", "2.77", `{"unshelve": {"availability_zone": null}}`, 400, ""),
		act("alice", "2.77", `{"unshelve": {}}`, 400, ""),
		act("alice", "2.90", hosted, 400, ""),
		act("alice", "2.91", hosted, 403, forbidden("os_compute_api:os-shelve:unshelve_to_host")),
		act("root", "2.91", `{"unshelve": {"host": "none"}}`, 400, invalid("Compute host none could not be found.")),
		act("root", "2.91", hosted, 409, conflict(`Host "empty-1" is not in the availability zone "elsewhere".`)),
	)
	if got := c.holder(id); got != "- -" {
		t.Errorf("refused, and yet %s", got)
	}
}
