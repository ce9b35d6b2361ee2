package compute_test

import (
	"fmt"
	"slices"
	"testing"
)

// liveMigrate asks for a live migration of a server.
func liveMigrate(id, token, version, body string, status int, want string) step {
	return step{token, version, "POST", "/servers/" + id + "/action", `{"os-migrateLive": ` + body + `}`, status, want}
}

const anywhere = `{"host": null, "block_migration": "auto"}`

// In every state: accepted, or refused in the contract's words.
func TestLiveMigrateInEveryState(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	row := preconditions(t)["os-migrateLive"]
	allowed, _ := of[[]string](t, row.VMStates, "")
	id := c.create("alice", "web")
	for _, vm := range vmStates {
		c.query(`WITH gone AS (DELETE FROM compute.migrations RETURNING 1) SELECT count(*)::text FROM gone`)
		c.settle(id, vm)
		if !slices.Contains(allowed, vm) {
			c.play(liveMigrate(id, "root", "2.68", anywhere, 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", row.Name, id, vm))))
			continue
		}
		c.play(liveMigrate(id, "root", "2.68", anywhere, 202, ""))
		if got := c.holder(id); got != "server.live-migrate migrating" {
			t.Errorf("of %s: %s", vm, got)
		}
		c.play(liveMigrate(id, "root", "2.68", anywhere, 409, conflict("Cannot 'os-migrateLive' instance "+id+" while it is in task_state migrating")))
	}
}

// What each version takes, and what it refuses.
func TestLiveMigrateVersions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	for version, body := range map[string]string{
		"2.1":  `{"host": "host-1", "block_migration": "false", "disk_over_commit": true}`,
		"2.24": `{"host": null, "block_migration": true, "disk_over_commit": "False"}`,
		"2.25": `{"host": "host-1", "block_migration": "auto"}`,
		"2.30": `{"host": "host-1", "block_migration": true, "force": true}`,
		"2.67": `{"host": "host-1", "block_migration": "auto", "force": "false"}`,
		"2.68": `{"host": "host-1", "block_migration": "auto"}`,
	} {
		id := c.create("alice", "web")
		c.settle(id, "active")
		c.play(liveMigrate(id, "root", version, body, 202, ""))
		if got := c.holder(id); got != "server.live-migrate migrating" {
			t.Errorf("at %s: %s", version, got)
		}
	}
	forced := c.query(`SELECT count(*)::text FROM engine.operations WHERE kind = 'server.live-migrate' AND input->>'force' = 'true'`)
	if forced != "3" { // those with a host that ask nobody: before 2.30, and where it is said
		t.Errorf("%s requests were forced", forced)
	}
	id := c.create("alice", "web")
	c.settle(id, "active")
	for version, body := range map[string]string{
		"2.1":  `{"host": null, "block_migration": "auto", "disk_over_commit": false}`,
		"2.24": `{"host": null, "block_migration": false}`,
		"2.25": `{"host": null, "block_migration": false, "disk_over_commit": false}`,
		"2.29": `{"host": null, "block_migration": false, "force": false}`,
		"2.68": `{"host": "host-1", "block_migration": false, "force": false}`,
		"2.30": `{"block_migration": false}`,
		"2.60": `{"host": 7, "block_migration": false}`,
	} {
		c.play(liveMigrate(id, "root", version, body, 400, ""))
	}
	c.play(
		liveMigrate(id, "root", "2.30", `{"host": null, "block_migration": "auto", "force": true}`, 400, invalid("Can't force to a non-provided destination")),
		liveMigrate(id, "root", "2.1", `{"host": "nowhere", "block_migration": false, "disk_over_commit": false}`, 400, invalid("Compute host nowhere could not be found.")),
		liveMigrate(id, "root", "2.68", `{"host": "nowhere", "block_migration": "auto"}`, 400, invalid("Compute host nowhere could not be found.")),
		liveMigrate(id, "alice", "2.68", anywhere, 403, forbidden("os_compute_api:os-migrate-server:migrate_live")),
		liveMigrate("none", "root", "2.68", anywhere, 404, notFound("Instance none could not be found.")),
	)
	if got := c.holder(id); got != "- -" {
		t.Errorf("what was refused has changed it: %s", got)
	}
	c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
	c.play(liveMigrate(id, "alice", "2.68", anywhere, 403, ""))
}

// A live migration is shown while it is under way; it is aborted and forced to
// complete by version and status (contracts: errors.json).
func TestAbortAndForceComplete(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	c.play(liveMigrate(id, "root", "2.68", anywhere, 202, ""))
	number := c.query(`SELECT id::text FROM compute.migrations WHERE open`)
	of := "/servers/" + id + "/migrations/"
	abort := func(token, version, which string, status int, want string) step {
		return step{token, version, "DELETE", of + which, "", status, want}
	}
	force := func(token, version, which string, status int, want string) step {
		return step{token, version, "POST", of + which + "/action", `{"force_complete": null}`, status, want}
	}
	in := func(status string) {
		c.query(`UPDATE compute.migrations SET status = $1 WHERE open RETURNING status`, status)
	}
	state := func(status, method string) string {
		return invalid("Migration " + number + " state of instance " + id + " is " + status + ". Cannot " + method + " while the migration is in this state.")
	}
	in("queued")
	c.play(
		abort("root", "2.23", number, 404, ""),
		abort("root", "2.24", number, 400, state("queued", "abort live migration")),
		abort("root", "2.64", number, 400, state("queued", "abort live migration")),
		abort("alice", "2.65", number, 403, forbidden("os_compute_api:servers:migrations:delete")),
		abort("root", "2.65", "999999", 404, notFound("Migration 999999 not found for instance "+id)),
		force("root", "2.21", number, 404, ""),
		force("root", "2.22", number, 400, state("queued", "force_complete")),
		force("alice", "2.22", number, 403, forbidden("os_compute_api:servers:migrations:force_complete")),
		force("root", "2.22", "999999", 400, invalid("Migration 999999 not found for instance "+id)),
	)
	in("running")
	c.play(force("root", "2.22", number, 202, ""))
	if got := c.query(`SELECT forced::text FROM compute.migrations WHERE open`); got != "true" {
		t.Errorf("forced is %s", got)
	}
	in("post-migrating")
	c.play(abort("root", "2.80", number, 400, state("post-migrating", "abort live migration")))
	in("running")
	// No workflow has begun it: it ends on the spot.
	c.play(abort("root", "2.24", number, 202, ""))
	if got := c.query(`SELECT status FROM compute.migrations WHERE id::text = $1`, number); got != "cancelled" {
		t.Errorf("the migration is %s", got)
	}
	if got := c.holder(id); got != "- -" {
		t.Errorf("after the abort it is held: %s", got)
	}
	for _, action := range []string{"live-migration", "live_migration_force_complete", "live_migration_cancel"} {
		_, body, _ := c.ask("root", "2.21", "GET", "/servers/"+id+"/os-instance-actions", "")
		if !slices.ContainsFunc(body["instanceActions"].([]any), func(a any) bool { return a.(map[string]any)["action"] == action }) {
			t.Errorf("there is no action %s: %v", action, body)
		}
	}
	c.play(abort("root", "2.80", number, 409, conflict("Cannot 'abort live migration' instance "+id+" while it is in task_state None")))
}

// A migration is aborted in the statuses that its version names, and in no other; one of
// another server, or that is no live migration, never is.
func TestAbortInEveryStatus(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	c.play(liveMigrate(id, "root", "2.68", anywhere, 202, ""))
	number := c.query(`SELECT id::text FROM compute.migrations WHERE open`)
	old := c.query(`INSERT INTO compute.migrations (uuid, server_id, project_id, user_id, operation_id, migration_type, status, source_host_id, source_host,
			old_flavor, new_flavor, old_vcpus, old_memory_mb, old_disk_gb, new_vcpus, new_memory_mb, new_disk_gb, old_vm_state, leftover)
		SELECT gen_random_uuid(), server_id, project_id, user_id, 'gone', 'resize', 'confirmed', source_host_id, source_host, old_flavor, new_flavor,
			old_vcpus, old_memory_mb, old_disk_gb, new_vcpus, new_memory_mb, new_disk_gb, old_vm_state, false FROM compute.migrations WHERE open RETURNING id::text`)
	other := c.create("alice", "other")
	c.settle(other, "active")
	abort := func(server, which, version string, status int, want string) step {
		return step{"root", version, "DELETE", "/servers/" + server + "/migrations/" + which, "", status, want}
	}
	refused := func(which, status string) string {
		return invalid("Migration " + which + " state of instance " + id + " is " + status + ". Cannot abort live migration while the migration is in this state.")
	}
	for _, status := range []string{"accepted", "queued", "preparing", "running", "post-migrating", "completed", "cancelled", "failed", "error"} {
		c.query(`UPDATE compute.migrations SET status = $1 WHERE id::text = $2 RETURNING status`, status, number)
		for version, may := range map[string][]string{"2.24": {"running"}, "2.64": {"running"}, "2.65": {"running", "queued", "preparing"}, "2.104": {"running", "queued", "preparing"}} {
			if !slices.Contains(may, status) {
				c.play(abort(id, number, version, 400, refused(number, status)))
			}
		}
	}
	c.query(`UPDATE compute.migrations SET status = 'running' WHERE id::text = $1 RETURNING status`, number)
	c.play(
		abort(id, old, "2.24", 400, refused(old, "confirmed")),
		abort(id, "0x1", "2.24", 404, notFound("Migration 0x1 not found for instance "+id)),
		abort(other, number, "2.24", 409, conflict("Cannot 'abort live migration' instance "+other+" while it is in task_state None")),
	)
	c.query(`UPDATE compute.servers SET task_state = 'migrating' WHERE id = $1 RETURNING id::text`, other)
	c.play(abort(other, number, "2.24", 404, notFound("Migration "+number+" not found for instance "+other)))
	if got := c.query(`SELECT status FROM compute.migrations WHERE id::text = $1`, number); got != "running" {
		t.Errorf("what was refused has made it %s", got)
	}
}
