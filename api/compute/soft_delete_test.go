package compute_test

import (
	"fmt"
	"slices"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/store"
	computestore "holdfast.dev/internal/store/compute"
)

func keepsDeleted(a *compute.API) { a.SoftDelete = true }

// holder is the kind of what a server's row names as its holder or its next,
// and the task.
func (c *cloud) holder(id string) string {
	return c.query(`SELECT COALESCE((SELECT kind FROM engine.operations o WHERE o.id = COALESCE(s.next_operation_id, s.operation_id)), '-') || ' ' || COALESCE(task_state, '-')
		FROM compute.servers s WHERE id = $1`, id)
}

// What users delete is set aside in every state, if there is something to
// restore; what an administrator forces is deleted.
func TestDeletesAreSoft(t *testing.T) {
	t.Parallel()
	c := newCloud(t, keepsDeleted)
	c.addHost()
	id := c.create("alice", "web")
	remove := step{"alice", "2.1", "DELETE", "/servers/" + id, "", 204, ""}
	for _, vm := range vmStates {
		want := "server.soft-delete soft-deleting"
		if vm == "resized" {
			want = "server.delete deleting"
		}
		c.settle(id, vm)
		c.play(remove)
		if got := c.holder(id); got != want {
			t.Errorf("a delete of %s: %s, want %s", vm, got, want)
		}
	}
	for name, but := range map[string]string{
		"never launched": `UPDATE compute.servers SET launched_at = NULL WHERE id = $1 RETURNING id::text`,
		"on no host":     `UPDATE compute.servers SET host_id = NULL WHERE id = $1 RETURNING id::text`,
	} {
		c.settle(id, "error")
		c.query(but, id)
		c.play(remove)
		if got := c.holder(id); got != "server.delete deleting" {
			t.Errorf("%s: %s", name, got)
		}
	}
	c.settle(id, "active")
	c.play(remove, remove) // the second joins
	if got := c.holder(id); got != "server.soft-delete soft-deleting" {
		t.Errorf("asked twice: %s", got)
	}
	c.play(step{"alice", "2.1", "POST", "/servers/" + id + "/action", `{"forceDelete": null}`, 202, ""})
	if got := c.holder(id); got != "server.delete deleting" {
		t.Errorf("forced: %s", got)
	}
	c.settle(id, "active")
	c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
	c.play(step{"alice", "2.1", "DELETE", "/servers/" + id, "", 409, conflict("Instance " + id + " is locked")})
}

// A restore is charged again, or refused.
func TestRestore(t *testing.T) {
	t.Parallel()
	c := newCloud(t, keepsDeleted)
	c.addHost()
	id := c.create("alice", "web")
	act := func(token string, status int, want string) step {
		return step{token, "2.1", "POST", "/servers/" + id + "/action", `{"restore": null}`, status, want}
	}
	for _, vm := range slices.DeleteFunc(slices.Clone(vmStates), func(vm string) bool { return vm == "soft-delete" }) {
		c.settle(id, vm)
		c.play(act("alice", 409, conflict(fmt.Sprintf("Cannot 'restore' instance %s while it is in vm_state %s", id, vm))))
	}
	used := func() string {
		return c.query(`SELECT instances || ' ' || cores || ' ' || ram_mb FROM compute.quota_usages WHERE project_id = 'a11ce'`)
	}
	aside := func(but string) {
		t.Helper()
		c.settle(id, "soft-delete")
		c.query(`UPDATE compute.servers SET soft_deleted_at = now() WHERE id = $1 RETURNING id::text`, id)
		c.query(`UPDATE compute.quota_usages SET instances = 0, cores = 0, ram_mb = 0 WHERE project_id = 'a11ce' RETURNING project_id`)
		if but != "" {
			c.query(but, id)
		}
	}
	limit := func(n int64) {
		t.Helper()
		if err := c.db.InTx(t.Context(), func(tx store.Tx) error { return computestore.SetLimit(t.Context(), tx, "a11ce", "instances", n) }); err != nil {
			t.Fatal(err)
		}
	}
	aside("")
	c.play(act("alice", 202, ""))
	if got := c.holder(id) + " " + used(); got != "server.restore restoring 1 1 512" {
		t.Errorf("restored: %s", got)
	}
	c.play(act("alice", 409, conflict("Cannot 'restore' instance "+id+" while it is in task_state restoring")))
	aside(`UPDATE compute.servers SET host_id = NULL WHERE id = $1 RETURNING id::text`)
	c.play(act("alice", 202, ""))
	if got := c.query(`SELECT vm_state FROM compute.servers WHERE id = $1 AND soft_deleted_at IS NULL`, id) + " " + c.holder(id) + " " + used(); got != "active - - 1 1 512" {
		t.Errorf("on no host: %s", got)
	}
	aside("")
	limit(0)
	c.play(
		act("alice", 403, fault("forbidden", "403", "Quota exceeded for instances: Requested 1, but already used 0 of 0 instances")),
		act("reader", 403, forbidden("os_compute_api:os-deferred-delete:restore")),
		act("bob", 404, notFound("Instance "+id+" could not be found.")),
	)
	if got := c.holder(id) + " " + used(); got != "- - 0 0 0" {
		t.Errorf("refused: %s", got)
	}
	aside(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`)
	c.play(act("alice", 409, conflict("Instance "+id+" is locked")))
}

// Lists leave out what is soft-deleted, and administrators may ask for it.
func TestListsOfWhatIsSoftDeleted(t *testing.T) {
	t.Parallel()
	c := newCloud(t, keepsDeleted)
	c.addHost()
	here, aside, gone := c.create("alice", "here"), c.create("alice", "aside"), c.create("alice", "gone")
	c.settle(here, "active")
	c.settle(aside, "soft-delete")
	c.query(`UPDATE compute.servers SET deleted_at = now(), vm_state = 'deleted', operation_id = NULL WHERE id = $1 RETURNING id::text`, gone)
	for query, want := range map[string][]string{
		"":                                    {"here"},
		"&soft_deleted=true":                  {"aside", "here"},
		"&deleted=true":                       {"aside", "gone"},
		"&deleted=true&soft_deleted=false":    {"gone"},
		"&changes-since=2020-01-01T00:00:00Z": {"aside", "gone", "here"},
	} {
		_, body, _ := c.ask("root", "2.1", "GET", "/servers?all_tenants=1"+query, "")
		var names []string
		for _, s := range body["servers"].([]any) {
			names = append(names, s.(map[string]any)["name"].(string))
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%q lists %v, want %v", query, names, want)
		}
	}
	if _, body, _ := c.ask("alice", "2.1", "GET", "/servers/"+aside, ""); body["server"].(map[string]any)["status"] != "SOFT_DELETED" {
		t.Errorf("shown as %v", body)
	}
}
