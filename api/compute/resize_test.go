package compute_test

import (
	"fmt"
	"slices"
	"testing"

	compute "holdfast.dev/api/compute"
)

const otherHostID = "0a0a0a0a-0000-4000-8000-00000000000b"

// resized has a server wait for its resize from a host to be confirmed.
func (c *cloud) resized(id, from string) {
	c.t.Helper()
	c.settle(id, "resized")
	c.unmoved(id)
	c.query(`INSERT INTO compute.migrations (uuid, server_id, project_id, user_id, operation_id, migration_type, status, source_host_id, source_host,
			old_flavor, new_flavor, old_vcpus, old_memory_mb, old_disk_gb, new_vcpus, new_memory_mb, new_disk_gb, old_vm_state, leftover)
		SELECT gen_random_uuid(), id, project_id, user_id, 'gone', 'resize', 'finished', $2, 'old', flavor, flavor, vcpus, memory_mb, disk_gb, vcpus, memory_mb, disk_gb, 'active', true
		FROM compute.servers WHERE id = $1 RETURNING uuid::text`, id, from)
}

// unmoved ends whatever move the server makes.
func (c *cloud) unmoved(id string) {
	c.t.Helper()
	c.query(`WITH over AS (UPDATE compute.migrations SET status = 'error' WHERE server_id = $1 AND open RETURNING 1) SELECT count(*)::text FROM over`, id)
}

// The four actions in every vm_state, and refused in the contract's words.
func TestMovesMeetTheContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	c.addHostNamed(otherHostID, "other")
	c.play(step{"root", "2.1", "POST", "/flavors", `{"flavor": {"name": "twice", "id": "twice", "ram": 1024, "vcpus": 2, "disk": 1}}`, 200, ""})
	id := c.create("alice", "web")
	for _, k := range []struct {
		action, token, body, holder, status string
		code                                int
	}{
		{"resize", "alice", `{"resize": {"flavorRef": "twice"}}`, "server.resize resize_prep", "resize pre-migrating", 202},
		{"migrate", "root", `{"migrate": null}`, "server.migrate resize_prep", "migration pre-migrating", 202},
		{"confirmResize", "alice", `{"confirmResize": null}`, "server.confirm-resize -", "resize confirming", 204},
		{"revertResize", "alice", `{"revertResize": null}`, "server.revert-resize resize_reverting", "resize reverting", 202},
	} {
		row := preconditions(t)[k.action]
		allowed, _ := of[[]string](t, row.VMStates, "")
		act := func(token string, status int, want string) step {
			return step{token, "2.1", "POST", "/servers/" + id + "/action", k.body, status, want}
		}
		settle := func(vm string) {
			if c.resized(id, otherHostID); vm != "resized" {
				c.settle(id, vm)
				c.unmoved(id)
			}
		}
		for _, vm := range vmStates {
			settle(vm)
			if !slices.Contains(allowed, vm) {
				c.play(act(k.token, 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", row.Name, id, vm))))
				continue
			}
			c.play(act(k.token, k.code, ""))
			if got := c.holder(id); got != k.holder {
				t.Errorf("%s of %s: %s", k.action, vm, got)
			}
			if got := c.query(`SELECT migration_type || ' ' || status FROM compute.migrations WHERE server_id = $1 AND open`, id); got != k.status {
				t.Errorf("%s of %s: its migration is %s", k.action, vm, got)
			}
		}
		vm := allowed[0]
		settle(vm)
		c.query(`UPDATE compute.servers SET task_state = 'rebooting' WHERE id = $1 RETURNING id::text`, id)
		c.play(act(k.token, 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in task_state rebooting", row.Name, id))))
		settle(vm)
		c.query(`UPDATE compute.servers SET launched_at = NULL WHERE id = $1 RETURNING id::text`, id)
		c.play(act(k.token, 409, conflict(fmt.Sprintf("Instance %s is in an invalid state for '%s'", id, row.Name))))
		settle(vm)
		if k.token == "alice" {
			c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
			c.play(act("alice", 409, conflict("Instance "+id+" is locked")))
			c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)
			c.play(act("bob", 404, notFound("Instance "+id+" could not be found.")))
		}
		c.play(act("reader", 403, ""))
		if row.Host != "none" {
			c.query(`WITH old AS (UPDATE compute.hosts SET last_seen = now() - interval '1 hour' RETURNING 1) SELECT count(*)::text FROM old`)
			c.play(act(k.token, 409, conflict("Service is unavailable at this time.")))
			c.query(`WITH new AS (UPDATE compute.hosts SET last_seen = now() RETURNING 1) SELECT count(*)::text FROM new`)
		}
		if vm == "resized" {
			c.unmoved(id)
			c.play(act(k.token, 400, invalid("Instance has not been resized.")))
		} else {
			c.query(`UPDATE compute.servers SET host_id = NULL WHERE id = $1 RETURNING id::text`, id)
			c.play(act(k.token, 409, conflict("Instance "+id+" is not ready")))
		}
	}
}

// What a resize asks for: refused in the original's words, or charged and written
// down; the server's own size changes when it has been moved.
func TestResizeRequests(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(a *compute.API) { a.Neighbours = &shelf{} })
	c.addHost()
	for _, flavor := range []string{`"name": "twice", "id": "2000", "ram": 1024, "vcpus": 2, "disk": 1`, `"name": "huge", "id": "huge", "ram": 64, "vcpus": 4000, "disk": 1`,
		`"name": "diskless", "id": "diskless", "ram": 64, "vcpus": 1, "disk": 0`} {
		c.play(step{"root", "2.1", "POST", "/flavors", `{"flavor": {` + flavor + `}}`, 200, ""})
	}
	id := c.create("alice", "web")
	c.settle(id, "active")
	resize := func(token, body string, status int, want string) step {
		return step{token, "2.1", "POST", "/servers/" + id + "/action", `{"resize": ` + body + `}`, status, want}
	}
	own := c.query(`SELECT flavor->>'id' FROM compute.servers WHERE id = $1`, id)
	c.play(
		resize("alice", `{}`, 400, ""),
		resize("alice", `{"flavorRef": "2000", "more": 1}`, 400, ""),
		resize("alice", `{"flavorRef": "2000", "OS-DCF:diskConfig": "SOME"}`, 400, ""),
		resize("alice", `{"flavorRef": "none"}`, 400, invalid("Flavor none could not be found.")),
		resize("alice", `{"flavorRef": "`+own+`"}`, 400, invalid("When resizing, instances must change flavor!")),
		resize("alice", `{"flavorRef": "diskless"}`, 400, invalid("Server disk was unable to be resized because: Resize to zero disk flavor is not allowed.")),
		resize("alice", `{"flavorRef": "huge"}`, 403, ""),
	)
	c.query(`UPDATE compute.servers SET image_properties = '{"auto_disk_config": "Disabled"}' WHERE id = $1 RETURNING id::text`, id)
	c.play(resize("alice", `{"flavorRef": "2000", "OS-DCF:diskConfig": "AUTO"}`, 400, ""))
	c.query(`UPDATE compute.servers SET image_id = $2 WHERE id = $1 RETURNING id::text`, id, tooLarge)
	c.play(resize("alice+", `{"flavorRef": "2000"}`, 400, ""))
	if got := c.query(`SELECT count(*)::text FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL`, id); got != "0" {
		t.Errorf("refusals have left %s operations", got)
	}
	c.query(`UPDATE compute.servers SET image_id = $2 WHERE id = $1 RETURNING id::text`, id, nowhere)
	c.play(resize("alice+", `{"flavorRef": 2000, "OS-DCF:diskConfig": "MANUAL"}`, 202, ""))
	if got := c.query(`SELECT concat_ws(' ', s.flavor->>'id', m.new_flavor->>'id', m.new_vcpus, m.new_disk_config, m.user_id = s.user_id, u.cores - s.vcpus) FROM compute.servers s
		JOIN compute.migrations m ON m.server_id = s.id JOIN compute.quota_usages u ON u.project_id = s.project_id WHERE s.id = $1`, id); got != own+" 2000 2 MANUAL t 1" {
		t.Errorf("accepted: %s", got)
	}
}

// Since 2.56 a migration may name its host, by a rule of its own.
func TestMigrateToAHost(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	c.addHostNamed(otherHostID, "other")
	home := c.query(`SELECT name FROM compute.hosts WHERE id = $1`, hostID)
	id := c.create("alice", "web")
	c.settle(id, "active")
	migrate := func(token, version, body string, status int, want string) step {
		return step{token, version, "POST", "/servers/" + id + "/action", `{"migrate": ` + body + `}`, status, want}
	}
	c.play(
		migrate("alice", "2.1", `null`, 403, forbidden("os_compute_api:os-migrate-server:migrate")),
		migrate("alice", "2.56", `{"host": "other"}`, 403, forbidden("os_compute_api:os-migrate-server:migrate")),
		migrate("root", "2.56", `{"host": "nowhere"}`, 400, invalid("Compute host nowhere could not be found.")),
		migrate("root", "2.56", `{"host": "`+home+`"}`, 400, invalid("Cannot migrate to the host where the server exists.")),
		migrate("root", "2.56", `{"host": ""}`, 400, ""),
		migrate("root", "2.56", `{"else": "other"}`, 400, ""),
	)
	for version, body := range map[string]string{"2.1": `{"host": "nowhere"}`, "2.55": `"any"`, "2.56": `null`, "2.57": `{"host": null}`, "2.58": `{"host": "other"}`} {
		c.settle(id, "active")
		c.unmoved(id)
		c.play(migrate("root", version, body, 202, ""))
		want := map[string]string{"2.58": "other"}[version]
		if got := c.query(`SELECT COALESCE(input->>'host', '') FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL`, id); got != want {
			t.Errorf("at %s: to %q, want %q", version, got, want)
		}
	}
}
