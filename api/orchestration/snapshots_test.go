package orchestration_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	store_ "holdfast.dev/internal/store/orchestration"
)

// settled has a stack be what an operation that has ended makes of it, for which no
// control worker is there.
func (c *cloud) settled(id, action, status string) {
	c.Helper()
	err := c.db.InTx(c.Context(), func(tx store.Tx) error {
		if _, err := tx.Exec(c.Context(), `UPDATE engine.operations SET finished_at = now(), result = 'done' WHERE resource_id = $1`, id); err != nil {
			return err
		}
		if _, err := tx.Exec(c.Context(), `UPDATE orchestration.stacks SET operation_id = NULL, next_operation_id = NULL WHERE id = $1`, id); err != nil {
			return err
		}
		return store_.Publish(c.Context(), tx, id, steps.StackOutcome{Action: action, Status: status, Reason: "Stack " + action + " completed successfully"})
	})
	if err != nil {
		c.Fatal(err)
	}
}

const copiedBody = `{"stack_name": "NAME", "parameters": {"secret": "hush"}, "files": {"f": "text"}, "template": {
	"heat_template_version": "2021-04-16", "parameters": {"secret": {"type": "string", "hidden": true}},
	"resources": {
		"disk": {"type": "OS::Cinder::Volume", "properties": {"size": 1, "image": "cirros"}},
		"guest": {"type": "OS::Nova::Server", "properties": {"flavor": "small", "image": "cirros"}},
		"other": {"type": "OS::Nova::Server", "properties": {"flavor": "small", "image": "cirros"}}}}}`

// A snapshot is taken of a stack that is at rest, shows what it has, and is restored
// and deleted once it is whole.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	status, answer, _ := c.ask("alice", "POST", "/stacks", strings.ReplaceAll(copiedBody, "NAME", "one"))
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	at := "/stacks/one/" + id + "/snapshots"
	if status, answer, _ := c.ask("alice", "POST", at, `{}`); status != 409 || answer["error"].(map[string]any)["message"] != "Stack one already has an action (CREATE) in progress." {
		t.Errorf("%d %v", status, answer)
	}
	c.settled(id, "CREATE", "COMPLETE")
	var sample map[string]any
	contracttest.Read(t, "orchestration/samples/stack-snapshot-response.json", &sample)
	status, taken, _ := c.ask("alice", "POST", at, `{"name": "then"}`)
	if status != 200 || taken["name"] != "then" || taken["action"] != "CREATE" || taken["status"] != "IN_PROGRESS" || taken["status_reason"] != nil {
		t.Fatalf("%d %v", status, taken)
	}
	for key := range sample {
		if _, has := taken[key]; !has {
			t.Errorf("it has no %s", key)
		}
	}
	one := at + "/" + taken["id"].(string)
	for _, row := range []struct{ method, path, message string }{
		{"DELETE", one, "Deleting in-progress snapshot is not supported."}, {"POST", one + "/restore", "Restoring incomplete snapshot is not supported."}} {
		if status, answer, _ := c.ask("alice", row.method, row.path, ""); status != 400 || answer["error"].(map[string]any)["type"] != "NotSupported" ||
			answer["error"].(map[string]any)["message"] != row.message {
			t.Errorf("%s: %d %v", row.path, status, answer)
		}
	}
	c.copied(taken["id"].(string))
	c.settled(id, "SNAPSHOT", "COMPLETE")
	_, answer, _ = c.ask("reader", "GET", one, "")
	shown := answer["snapshot"].(map[string]any)
	data := shown["data"].(map[string]any)
	if shown["status"] != "COMPLETE" || shown["status_reason"] != "Stack SNAPSHOT completed successfully" || data["status"] != "COMPLETE" || data["action"] != "SNAPSHOT" ||
		data["resources"].(map[string]any)["guest"].(map[string]any)["resource_data"].(map[string]any)["snapshot_image_id"] != "an image" {
		t.Errorf("%v", answer)
	}
	if _, answer, _ := c.ask("reader", "GET", at, ""); len(answer["snapshots"].([]any)) != 1 {
		t.Errorf("%v", answer)
	}
	if status, answer, _ := c.ask("alice", "POST", one+"/restore", ""); status != 202 || answer["title"] != "Accepted" {
		t.Errorf("%d %v", status, answer)
	}
	_, answer, _ = c.ask("alice", "GET", "/stacks/one/"+id+"/template", "")
	resources := answer["resources"].(map[string]any)
	for name, want := range map[string]map[string]any{"disk": {"size": 1.0, "backup_id": "a backup"}, "guest": {"flavor": "small", "image": "an image"}, "other": {"flavor": "small", "image": "cirros"}} {
		if got := resources[name].(map[string]any)["properties"].(map[string]any); len(got) != len(want) || got["image"] != want["image"] || got["backup_id"] != want["backup_id"] {
			t.Errorf("%s is restored as %v", name, got)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", "/stacks/one/"+id, ""); answer["stack"].(map[string]any)["stack_status"] != "RESTORE_IN_PROGRESS" {
		t.Errorf("%v", answer)
	}
	// What the stack is made of stays.
	if status, answer, _ := c.ask("alice", "DELETE", one, ""); status != 409 || answer["error"].(map[string]any)["message"] != "Stack one already has an action (RESTORE) in progress." {
		t.Errorf("%d %v", status, answer)
	}
	if _, answer, _ := c.ask("alice", "GET", one, ""); answer["snapshot"].(map[string]any)["action"] != "CREATE" {
		t.Errorf("%v", answer)
	}
	// Else it goes whatever the stack does, and asking twice is asking once.
	if status, answer, _ := c.ask("alice", "POST", "/stacks/one/"+id+"/actions", `{"check": null}`); status != 200 {
		t.Errorf("%d %v", status, answer)
	}
	for range 2 {
		if status, answer, _ := c.ask("alice", "DELETE", one, ""); status != 204 {
			t.Errorf("%d %v", status, answer)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", one, ""); answer["snapshot"].(map[string]any)["action"] != "DELETE" || answer["snapshot"].(map[string]any)["status_reason"] != "Snapshot delete started" {
		t.Errorf("%v", answer)
	}
	c.offers.Lock()
	defer c.offers.Unlock()
	if n := len(slices.DeleteFunc(slices.Clone(c.offers.ids), func(op string) bool { return !strings.HasPrefix(op, "snapshot/") })); n != 1 {
		t.Errorf("%d deletions of snapshots were offered", n)
	}
}

// copied has a snapshot have copies of a guest and a disk.
func (c *cloud) copied(snapshot string) {
	c.Helper()
	var rows []*store_.ResourceSnapshot
	for name, of := range map[string]*value.Map{"guest": value.NewMap(stacks.SnapshotImage, "an image"), "disk": value.NewMap(stacks.SnapshotBackup, "a backup"), "other": {}} {
		row := &store_.ResourceSnapshot{SnapshotID: snapshot, Name: name, Type: "T", Mark: name, Action: "SNAPSHOT", Status: "COMPLETE", Metadata: "{}"}
		if err := (&stacks.Kept{Data: &value.Map{}, Copy: of}).Seal(row, c.api.Secrets); err != nil {
			c.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := c.db.InTx(c.Context(), func(tx store.Tx) error { return store_.PutResourceSnapshots(c.Context(), tx, rows) }); err != nil {
		c.Fatal(err)
	}
}

// What is malformed, strange or too much changes nothing.
func TestSnapshotsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	c.settled(id, "CREATE", "COMPLETE")
	at := "/stacks/one/" + id + "/snapshots"
	var mine string
	for range 2 {
		status, answer, _ := c.ask("alice", "POST", at, `{"name": null}`)
		if status != 200 || answer["name"] != nil {
			t.Fatalf("%d %v", status, answer)
		}
		mine = answer["id"].(string)
		c.settled(id, "SNAPSHOT", "COMPLETE")
	}
	two := c.create("two")
	const nobody = "00000000-1111-4111-8111-111111111111"
	for _, row := range []struct {
		token, method, path, body string
		status                    int
		class, message            string
	}{
		{"alice", "POST", at, `{}`, 400, "RequestLimitExceeded", "Request limit exceeded: You have reached the maximum snapshots per stack, 2. Please delete some snapshots."},
		{"alice", "POST", at, ``, 400, "HTTPBadRequest", ""},
		{"alice", "POST", at, `[]`, 400, "HTTPBadRequest", ""},
		{"alice", "POST", at, `{"name": {"a": 1}}`, 400, "HTTPBadRequest", "The name of a snapshot is a text."},
		{"alice", "POST", at, `{"name": "` + strings.Repeat("n", 256) + `"}`, 400, "HTTPBadRequest", "The name of a snapshot has at most 255 characters."},
		{"alice", "GET", at + "/" + nobody, "", 404, "SnapshotNotFound", "The Snapshot (" + nobody + ") for Stack (one) could not be found."},
		{"alice", "DELETE", at + "/nobody", "", 404, "SnapshotNotFound", "The Snapshot (nobody) for Stack (one) could not be found."},
		{"alice", "POST", at + "/" + nobody + "/restore", "", 404, "SnapshotNotFound", ""},
		{"alice", "GET", "/stacks/two/" + two + "/snapshots/" + mine, "", 404, "SnapshotNotFound", ""},
		{"alice", "GET", "/stacks/two/" + id + "/snapshots", "", 404, "EntityNotFound", "The Stack (two) could not be found."},
		{"reader", "POST", at, `{}`, 403, "Forbidden", ""},
		{"reader", "DELETE", at + "/" + mine, "", 403, "Forbidden", ""},
		{"reader", "POST", at + "/" + mine + "/restore", "", 403, "Forbidden", ""},
		{"bob", "GET", "/v1/p2" + at, "", 404, "EntityNotFound", ""},
		{"bob", "DELETE", "/v1/p2" + at + "/" + mine, "", 404, "EntityNotFound", ""},
		{"bob", "POST", "/v1/p2" + at + "/" + mine + "/restore", "", 404, "EntityNotFound", ""},
		{"bob", "POST", at, `{}`, 403, "HTTPForbidden", ""},
	} {
		status, answer, _ := c.ask(row.token, row.method, row.path, row.body)
		fault, _ := answer["error"].(map[string]any)
		if status != row.status || fault["type"] != row.class || row.message != "" && fault["message"] != row.message {
			t.Errorf("%s %s %.40s: %d %v", row.method, row.path, row.body, status, answer)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", at, ""); len(answer["snapshots"].([]any)) != 2 {
		t.Errorf("%v", answer)
	}
}
