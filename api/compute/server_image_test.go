package compute_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// imageBodies are requests for an image by their action.
var imageBodies = map[string]string{
	"createImage":  `{"createImage": {"name": "snap", "metadata": {"colour": "blue"}}}`,
	"createBackup": `{"createBackup": {"name": "b", "backup_type": "daily", "rotation": "2"}}`,
}

// Both actions in every vm_state: accepted with the contract's task, or refused
// in its words; what is refused leaves no image.
func TestImageActionsMeetTheContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	rows := preconditions(t)
	for action, body := range imageBodies {
		row := rows[action]
		allowed, _ := of[[]string](t, row.VMStates, "")
		task, _ := of[string](t, row.Task, "")
		ask := func(token string, status int, want string) {
			t.Helper()
			c.play(step{token, "2.45", "POST", "/servers/" + id + "/action", body, status, want})
		}
		for _, vm := range vmStates {
			c.settle(id, vm)
			if !slices.Contains(allowed, vm) {
				ask("alice+", 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", row.Name, id, vm)))
				continue
			}
			ask("alice+", 202, "")
			if got := c.query(`SELECT COALESCE(task_state, '') FROM compute.servers WHERE id = $1`, id); got != task {
				t.Errorf("%s of %s: task %q, want %q", action, vm, got, task)
			}
			ask("alice+", 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in task_state %s", row.Name, id, task)))
		}
		c.settle(id, "active")
		c.query(`UPDATE compute.servers SET launched_at = NULL WHERE id = $1 RETURNING id::text`, id)
		ask("alice+", 409, conflict(fmt.Sprintf("Instance %s is in an invalid state for '%s'", id, row.Name)))
		c.settle(id, "active")
		ask("bob+", 404, notFound("Instance "+id+" could not be found."))
		ask("reader+", 403, "")
		// Without a catalog there is no Glance to ask.
		ask("alice", 503, "")
		// A lock keeps nobody from an image.
		c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
		ask("alice+", 202, "")
		c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)
	}
}

// What Glance is asked to make, what the operation is told, and the answer
// before and since 2.45.
func TestImagesOfServers(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.query(`UPDATE compute.servers SET image_properties = '{"hw_disk_bus": "virtio", "min_disk": "0", "min_ram": "64", "owner": "x", "cache_in_nova": "y",
		"disk_format": "raw", "container_format": "bare"}' WHERE id = $1 RETURNING id::text`, id)
	for _, k := range []struct {
		token, version, action string
		located                bool
		want                   map[string]any
	}{
		{"alice+", "2.44", "createImage", true, map[string]any{"name": "snap", "visibility": "private", "image_type": "snapshot", "user_id": "alice", "colour": "blue"}},
		{"alice+", "2.45", "createImage", false, map[string]any{"name": "snap", "visibility": "private", "image_type": "snapshot", "user_id": "alice", "colour": "blue"}},
		{"root+", "2.45", "createImage", false, map[string]any{"name": "snap", "visibility": "shared", "image_type": "snapshot", "user_id": "root", "colour": "blue", "shared with": "a11ce"}},
		{"alice+", "2.1", "createBackup", true, map[string]any{"name": "b", "visibility": "private", "image_type": "backup", "user_id": "alice", "backup_type": "daily"}},
		{"alice+", "2.45", "createBackup", false, map[string]any{"name": "b", "visibility": "private", "image_type": "backup", "user_id": "alice", "backup_type": "daily"}},
	} {
		c.settle(id, "active")
		status, body, header := c.ask(k.token, k.version, "POST", "/servers/"+id+"/action", imageBodies[k.action])
		at, shown := header.Get("Location"), body["image_id"]
		if status != 202 || (at != "") != k.located || (shown != nil) == k.located {
			t.Fatalf("%s at %s: %d %v, Location %q", k.action, k.version, status, body, at)
		}
		made := at[strings.LastIndex(at, "/")+1:]
		if shown != nil {
			made = shown.(string)
		}
		document, _ := images.Load(made)
		for name, value := range map[string]any{"id": made, "disk_format": "qcow2", "container_format": "bare", "min_disk": int64(1), "min_ram": int64(64),
			"hw_disk_bus": "virtio", "instance_uuid": id, "base_image_ref": image} {
			k.want[name] = value
		}
		if !reflect.DeepEqual(document, k.want) {
			t.Errorf("%s: Glance was asked for %v, want %v", k.action, document, k.want)
		}
		var input map[string]any
		if err := json.Unmarshal([]byte(c.query(`SELECT o.input::text FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id WHERE s.id = $1`, id)), &input); err != nil {
			t.Fatal(err)
		}
		if input["image_id"] != made || input["of_volumes"] != nil || (input["rotation"] == 2.0) != (k.action == "createBackup") {
			t.Errorf("%s: the operation is told %v", k.action, input)
		}
		if got := c.query(`SELECT e.kind || ' ' || e.ref || ' ' || e.state FROM compute.servers s JOIN engine.operation_effects e ON e.operation_id = s.operation_id
			WHERE s.id = $1`, id); got != "image "+made+" done" {
			t.Errorf("the ledger begins with %s", got)
		}
	}
	c.settle(id, "active")
	status, _, header := c.ask("alice+", "2.1", "POST", "/servers/"+id+"/action", `{"createBackup": {"name": "b", "backup_type": "daily", "rotation": 0}}`)
	if status != 202 || header.Get("Location") != "" {
		t.Errorf("a backup of which none stays: %d at %q", status, header.Get("Location"))
	}
	c.settle(id, "active")
	c.play(
		step{"alice+", "2.45", "POST", "/servers/" + id + "/action", `{"createImage": {"name": "refused"}}`, 403, forbiddenText("The image service refuses the image.")},
		step{"root", "2.1", "PUT", "/os-quota-sets/a11ce", `{"quota_set": {"metadata_items": 0}}`, 200, ""},
		step{"alice+", "2.38", "POST", "/servers/" + id + "/action", imageBodies["createImage"], 403, forbiddenText("Image metadata limit exceeded")},
		step{"alice+", "2.39", "POST", "/servers/" + id + "/action", imageBodies["createImage"], 202, ""},
	)
}

// A server that boots from a volume has images that stand on snapshots, and no
// backups.
func TestImagesOfVolumes(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.query(`UPDATE compute.servers SET image_id = '' WHERE id = $1 RETURNING id::text`, id)
	c.query(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, boot_index, attachment_id)
		VALUES ($1, 0, 'volume', 'volume', 'v', 0, 'a') RETURNING volume_id`, id)
	c.settle(id, "active")
	c.play(step{"alice+", "2.45", "POST", "/servers/" + id + "/action", imageBodies["createBackup"], 400, invalid("Backup is not supported for volume-backed instances.")})
	_, body, _ := c.ask("alice+", "2.45", "POST", "/servers/"+id+"/action", imageBodies["createImage"])
	document, _ := images.Load(body["image_id"])
	want := map[string]any{"id": body["image_id"], "name": "snap", "visibility": "private", "disk_format": "qcow2", "container_format": "bare",
		"min_disk": int64(1), "min_ram": int64(0), "colour": "blue"}
	if !reflect.DeepEqual(document, want) {
		t.Errorf("Glance was asked for %v, want %v", document, want)
	}
	if got := c.query(`SELECT o.input->>'of_volumes' FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id WHERE s.id = $1`, id); got != "true" {
		t.Errorf("of volumes: %s", got)
	}
}

func forbiddenText(text string) string { return fault("forbidden", "403", text) }
