package compute_test

import (
	"fmt"
	"slices"
	"testing"

	computestore "holdfast.dev/internal/store/compute"
)

// An evacuation in every vm_state and with any task, as the contract has it, and
// what its request may say at each version.
func TestEvacuate(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	c.addHostNamed("0d1d3b3c-6f2c-4a43-8a11-0a4a3e3f5d02", "empty-1")
	id := c.create("alice", "web")
	name := c.query(`SELECT name FROM compute.hosts WHERE id = $1`, hostID)
	down := func(is bool) {
		c.query(`UPDATE compute.hosts SET forced_down = $2 WHERE id = $1 RETURNING name`, hostID, is)
	}
	settle := func(vm string) {
		t.Helper()
		c.settle(id, vm)
		c.query(`WITH over AS (UPDATE compute.migrations SET status = 'error' WHERE server_id = $1 AND open RETURNING 1) SELECT count(*)::text FROM over`, id)
	}
	act := func(token, version, body string, status int, want string) step {
		return step{token, version, "POST", "/servers/" + id + "/action", body, status, want}
	}
	const plain = `{"evacuate": {}}`
	settle("active")
	c.play(act("root", "2.14", plain, 400, invalid("Compute service of "+name+" is still in use.")))
	down(true)
	row := preconditions(t)["evacuate"]
	allowed, _ := of[[]string](t, row.VMStates, "")
	if _, anything := of[[]string](t, row.TaskStates, ""); !anything {
		t.Errorf("the contract allows task states %s", row.TaskStates)
	}
	for _, vm := range vmStates {
		settle(vm)
		s := act("root", "2.14", plain, 200, "")
		if !slices.Contains(allowed, vm) {
			s.status, s.want = 409, conflict(fmt.Sprintf("Cannot 'evacuate' instance %s while it is in vm_state %s", id, vm))
		}
		c.play(s)
		if got := c.holder(id); s.status == 200 && got != "server.evacuate rebuilding" {
			t.Errorf("of %s: %s", vm, got)
		}
	}

	shown := func() string {
		return c.query(`SELECT o.input::text || ' ' || m.status || ' ' || m.migration_type || ' ' || m.source_host || ' ' || m.dest_host
			FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id JOIN compute.migrations m ON m.operation_id = o.id WHERE s.id = $1`, id)
	}
	for _, k := range []struct{ version, body, answer, want string }{
		{"2.1", `{"evacuate": {"onSharedStorage": "False", "adminPass": "secret"}}`, `{"adminPass": "secret"}`, `{"on_shared_storage": false} accepted evacuation ` + name + ` `},
		{"2.13", `{"evacuate": {"onSharedStorage": true}}`, `{"adminPass": null}`, `{"on_shared_storage": true} accepted evacuation ` + name + ` `},
		{"2.28", `{"evacuate": {"host": "empty-1"}}`, "", `{"host": "empty-1"} accepted evacuation ` + name + ` empty-1`},
		{"2.29", `{"evacuate": {"host": "empty-1", "force": "True"}}`, "", `{"host": "empty-1"} accepted evacuation ` + name + ` empty-1`},
		{"2.95", plain, "", `{"stopped": true} accepted evacuation ` + name + ` `},
	} {
		settle("active")
		c.play(act("root", k.version, k.body, 200, k.answer))
		if got := shown(); got != k.want {
			t.Errorf("%s at %s: %s, want %s", k.body, k.version, got, k.want)
		}
	}
	settle("active")
	c.play(act("root", "2.14", `{"evacuate": {"adminPass": "told"}}`, 200, ""))
	if boot, err := computestore.GetBootData(t.Context(), c.db.Pool, c.box, id); err != nil || boot.AdminPassword != "told" {
		t.Errorf("the guest is told %q (%v)", boot.AdminPassword, err)
	}

	// One that is asked for again is joined; a stop that hangs there is taken over.
	c.play(act("root", "2.14", plain, 200, ""))
	settle("active")
	down(false)
	c.play(act("alice", "2.1", `{"os-stop": null}`, 202, ""))
	down(true)
	c.play(act("root", "2.14", plain, 200, ""))
	if got := c.holder(id); got != "server.evacuate rebuilding" {
		t.Errorf("over a stop: %s", got)
	}

	settle("active")
	c.play(
		act("root", "2.1", plain, 400, ""),
		act("root", "2.1", `{"evacuate": {"onSharedStorage": true, "adminPass": "x"}}`, 400, invalid("admin password can't be changed on existing disk")),
		act("root", "2.14", `{"evacuate": {"onSharedStorage": true}}`, 400, ""),
		act("root", "2.29", `{"evacuate": {"force": true}}`, 400, invalid("Can't force to a non-provided destination")),
		act("root", "2.68", `{"evacuate": {"host": "empty-1", "force": true}}`, 400, ""),
		act("root", "2.14", `{"evacuate": {"host": "none"}}`, 404, notFound("Compute host none not found.")),
		act("root", "2.14", `{"evacuate": {"host": "`+name+`"}}`, 400, invalid("The target host can't be the same one.")),
		act("alice", "2.14", plain, 403, forbidden("os_compute_api:os-evacuate")),
	)
	c.query(`UPDATE compute.servers SET launched_at = NULL WHERE id = $1 RETURNING id::text`, id)
	c.play(act("root", "2.14", plain, 409, conflict("Instance "+id+" is in an invalid state for 'evacuate'")))
	if got := c.holder(id); got != "- -" {
		t.Errorf("refused, and yet %s", got)
	}
}
