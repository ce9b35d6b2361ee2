package compute_test

// What a request has written goes again if its operation never begins.

import (
	"context"
	"strings"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	computestore "holdfast.dev/internal/store/compute"
)

// unbegun is how an operation of each kind is asked for, of a server in which
// state; without a body it is a DELETE.
var unbegun = map[operations.Kind]struct {
	vm, token, body string
}{
	operations.ServerSoftDelete:    {"active", "alice", ""},
	operations.ServerRestore:       {"soft-delete", "alice", `{"restore": null}`},
	operations.ServerDelete:        {"active", "alice", `{"forceDelete": null}`},
	operations.ServerStart:         {"stopped", "alice", `{"os-start": null}`},
	operations.ServerStop:          {"active", "alice", `{"os-stop": null}`},
	operations.ServerReboot:        {"active", "alice", `{"reboot": {"type": "SOFT"}}`},
	operations.ServerHardReboot:    {"active", "alice", `{"reboot": {"type": "HARD"}}`},
	operations.ServerPause:         {"active", "alice", `{"pause": null}`},
	operations.ServerUnpause:       {"paused", "alice", `{"unpause": null}`},
	operations.ServerSuspend:       {"active", "alice", `{"suspend": null}`},
	operations.ServerResume:        {"suspended", "alice", `{"resume": null}`},
	operations.ServerRescue:        {"active", "alice", `{"rescue": null}`},
	operations.ServerUnrescue:      {"rescued", "alice", `{"unrescue": null}`},
	operations.ServerRebuild:       {"active", "alice", `{"rebuild": {"imageRef": "` + image + `", "name": "other"}}`},
	operations.ServerResize:        {"active", "alice", `{"resize": {"flavorRef": "twice"}}`},
	operations.ServerMigrate:       {"active", "root", `{"migrate": null}`},
	operations.ServerConfirmResize: {"resized", "alice", `{"confirmResize": null}`},
	operations.ServerRevertResize:  {"resized", "alice", `{"revertResize": null}`},
	operations.ServerCrashDump:     {"active", "alice", `{"trigger_crash_dump": null}`},
	operations.ServerShelveOffload: {"shelved", "root", `{"shelveOffload": null}`},
	operations.ServerUnshelve:      {"shelved", "alice", `{"unshelve": null}`},
	operations.ServerEvacuate:      {"active", "root", `{"evacuate": {}}`},
	operations.ServerLiveMigrate:   {"active", "root", `{"os-migrateLive": ` + anywhere + `}`},
}

// elsewhere are the kinds that are not in that table, and why.
var elsewhere = map[operations.Kind]string{
	operations.ServerBuild:           "of what was never built nothing was true before",
	operations.ServerResetState:      "it is an operation only where it takes over from another, or confirms a move; its request writes nothing then",
	operations.ServerAttachVolume:    "a device that was to come: TestVolumesMeetTheContract and internal/engine",
	operations.ServerDetachVolume:    "its request writes nothing",
	operations.ServerAttachInterface: "as a volume",
	operations.ServerDetachInterface: "its request writes nothing",
}

// written is all that requests write of a server, but for what says who has it.
func (c *cloud) written(id string) string {
	c.t.Helper()
	return c.query(`SELECT jsonb_pretty(jsonb_build_object(
		'server', to_jsonb(s) - '{operation_id,next_operation_id,generation,updated_at,soft_deleted_at}'::text[],
		'kept', s.soft_deleted_at IS NOT NULL,
		'moves', (SELECT jsonb_agg(to_jsonb(m) - 'updated_at' ORDER BY m.id) FROM compute.migrations m WHERE m.server_id = s.id AND m.open),
		'ports', (SELECT jsonb_agg(to_jsonb(p) ORDER BY p.position) FROM compute.server_ports p WHERE p.server_id = s.id),
		'devices', (SELECT jsonb_agg(to_jsonb(d) ORDER BY d.position) FROM compute.block_devices d WHERE d.server_id = s.id),
		'charged', (SELECT to_jsonb(u) - 'updated_at' FROM compute.quota_usages u WHERE u.project_id = s.project_id)))
		FROM compute.servers s WHERE s.id = $1`, id)
}

// unbegun asks for an operation of the kind of a server that is where it starts,
// and gives what was written of the server before.
func (c *cloud) unbegun(id string, kind operations.Kind) (before string) {
	c.t.Helper()
	row := unbegun[kind]
	before = c.written(id)
	method, path := "POST", "/servers/"+id+"/action"
	if row.body == "" {
		method, path = "DELETE", "/servers/"+id
	}
	if status, body, _ := c.ask(row.token, "2.68", method, path, row.body); status >= 300 {
		c.t.Fatalf("%s: %d %v", kind, status, body)
	}
	return before
}

// settledAs has the server be where an operation of the kind starts, with nothing
// of what was done to it before.
func (c *cloud) settledAs(id string, kind operations.Kind) {
	c.t.Helper()
	vm := unbegun[kind].vm
	c.settle(id, vm)
	c.unmoved(id)
	if vm == "resized" {
		c.resized(id, otherHostID)
	}
	c.query(`UPDATE compute.servers SET soft_deleted_at = CASE WHEN $2 THEN now() END WHERE id = $1 RETURNING id::text`, id, vm == "soft-delete")
	c.query(`UPDATE compute.quota_usages SET instances = $1, cores = $1, ram_mb = $1 * 512 RETURNING project_id`, map[bool]int{true: 0, false: 1}[vm == "soft-delete"])
	c.query(`UPDATE compute.hosts SET forced_down = $2 WHERE id = $1 RETURNING name`, hostID, kind == operations.ServerEvacuate)
}

// withdrawable is a cloud with a server for such operations.
func withdrawable(t *testing.T) (c *cloud, id string) {
	t.Helper()
	c = newCloud(t, func(a *compute.API) { a.SoftDelete = true })
	c.addHost()
	c.addHostNamed(otherHostID, "other")
	c.play(step{"root", "2.1", "POST", "/flavors", `{"flavor": {"name": "twice", "id": "twice", "ram": 1024, "vcpus": 2, "disk": 1}}`, 200, ""})
	return c, c.create("alice", "web")
}

// Whatever is cancelled before it begins has changed nothing, and can be asked for
// again.
func TestWhatNeverBeginsLeavesNothing(t *testing.T) {
	t.Parallel()
	c, id := withdrawable(t)
	for _, spec := range operations.All() {
		if spec.Resource != operations.Server || spec.Recovers() || spec.Prepared || elsewhere[spec.Kind] != "" {
			continue
		}
		if unbegun[spec.Kind].vm == "" {
			t.Fatalf("nothing says how a %s is asked for", spec.Kind)
		}
		c.settledAs(id, spec.Kind)
		for range 2 {
			before := c.unbegun(id, spec.Kind)
			c.cancelHolder(id)
			if after := c.written(id); after != before {
				t.Errorf("%s, cancelled before it began, has left\n%s\nof\n%s", spec.Kind, after, before)
			}
		}
	}
}

// cancelHolder cancels the operation that has the server.
func (c *cloud) cancelHolder(id string) {
	c.t.Helper()
	op := c.query(`SELECT operation_id FROM compute.servers WHERE id = $1`, id)
	e := engine.New(c.db, computestore.Resource())
	err := c.db.InTx(context.Background(), func(tx store.Tx) error {
		_, err := e.RequestCancel(context.Background(), tx, op, "tester")
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// Whatever takes the place of an operation that has not begun, and is cancelled in
// turn, has left nothing of the first either.
func TestWhatIsReplacedLeavesNothing(t *testing.T) {
	t.Parallel()
	c, id := withdrawable(t)
	for _, first := range []operations.Kind{operations.ServerResize, operations.ServerMigrate, operations.ServerLiveMigrate, operations.ServerRevertResize, operations.ServerEvacuate} {
		c.settledAs(id, first)
		before := c.unbegun(id, first)
		c.play(step{"root", "2.1", "POST", "/servers/" + id + "/action", `{"os-resetState": {"state": "active"}}`, 202, ""})
		if got, _, _ := strings.Cut(c.holder(id), " "); got != string(operations.ServerResetState) {
			t.Fatalf("a %s that has not begun is replaced by %s", first, got)
		}
		c.cancelHolder(id)
		if after := c.written(id); after != before {
			t.Errorf("%s, replaced before it began, has left\n%s\nof\n%s", first, after, before)
		}
	}
}
