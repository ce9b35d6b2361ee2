package compute_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"holdfast.dev/internal/contracttest"
)

// others are the rows of the contract's other_operations.
func others(t *testing.T) map[string]contractAction {
	t.Helper()
	var all struct {
		Others []contractAction `json:"other_operations"`
	}
	contracttest.Read(t, "compute/action-preconditions.json", &all)
	rows := map[string]contractAction{}
	for _, a := range all.Others {
		rows[a.Action] = a
	}
	return rows
}

// shareable makes of a server what an operation that shares it needs.
func (c *cloud) shareable(id, vmState string) {
	c.t.Helper()
	c.settle(id, vmState)
	c.query(`WITH gone AS (DELETE FROM compute.block_devices WHERE server_id = $1 AND attachment_id = '' RETURNING 1) SELECT count(*)::text FROM gone`, id)
}

// A volume is given to a server as each microversion has it, once.
func TestAttachVolume(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.shareable(id, "active")
	path := "/servers/" + id + "/os-volume_attachments"
	attach := func(version, volume, more string, status int, want string) step {
		return step{"alice", version, "POST", path, fmt.Sprintf(`{"volumeAttachment": {"volumeId": %q%s}}`, volume, more), status, want}
	}
	is := func(volume, device, more string) string {
		return fmt.Sprintf(`{"volumeAttachment": {"id": %q, "volumeId": %q, "serverId": %q, "device": %q%s}}`, volume, volume, id, device, more)
	}
	volume := func(n int) string { return fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", n) }
	c.play(
		attach("2.1", volume(1), "", 200, is(volume(1), "/dev/vdb", "")),
		attach("2.1", volume(2), `, "device": "/dev/vdz"`, 200, is(volume(2), "/dev/vdc", "")),
		attach("2.1", volume(3), `, "device": null`, 200, is(volume(3), "/dev/vdd", "")),
		attach("2.70", volume(4), `, "tag": "data"`, 200, is(volume(4), "/dev/vde", `, "tag": "data"`)),
		attach("2.79", volume(5), `, "delete_on_termination": "yes"`, 200, is(volume(5), "/dev/vdf", `, "tag": null, "delete_on_termination": true`)),
		attach("2.89", volume(6), "", 200, is(volume(6), "/dev/vdg", `, "tag": null, "delete_on_termination": false`)),
		attach("2.101", volume(7), "", 202, ""),
		attach("2.1", volume(1), "", 400, fault("badRequest", "400", "Invalid volume: volume "+volume(1)+" is already attached to instances: "+id)),
		attach("2.1", volume(8), `, "tag": "data"`, 400, ""),
		attach("2.1", "no-uuid", "", 400, ""),
		attach("2.1", volume(8), `, "device": "sda"`, 400, ""),
		step{"bob", "2.1", "POST", path, `{"volumeAttachment": {"volumeId": "` + volume(8) + `"}}`, 404, notFound("Instance " + id + " could not be found.")},
		step{"reader", "2.1", "POST", path, `{"volumeAttachment": {"volumeId": "` + volume(8) + `"}}`, 403, ""},
	)
	if got := c.query(`SELECT string_agg(kind || COALESCE(start_after::text IS NOT NULL, false), ',') FROM
		(SELECT kind, start_after FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL ORDER BY created_at, id LIMIT 2) o`, id); got != "server.attach-volumetrue,server.attach-volumefalse" {
		t.Errorf("the operations are %s", got)
	}
	if got := c.query(`SELECT COALESCE(task_state, '') || COALESCE(operation_id, '') FROM compute.servers WHERE id = $1`, id); got != "" {
		t.Errorf("the server shows %q", got)
	}
}

// A server has so many disks and no more.
func TestMoreVolumesThanOneMayHave(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.shareable(id, "active")
	// The disk that it boots from, these, and one.
	c.query(`WITH made AS (INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, attachment_id, device_name, volume_size_gb)
		SELECT $1, n, 'volume', 'volume', 'cccccccc-0000-4000-8000-' || lpad(n::text, 12, '0'), 'a', '', 1 FROM generate_series(101, 354) n RETURNING 1)
		SELECT count(*)::text FROM made`, id)
	attach := func(n, status int, want string) step {
		return step{"alice", "2.101", "POST", "/servers/" + id + "/os-volume_attachments", fmt.Sprintf(`{"volumeAttachment": {"volumeId": "bbbbbbbb-0000-4000-8000-%012d"}}`, n), status, want}
	}
	c.play(attach(1, 202, ""),
		attach(2, 403, fault("forbidden", "403", "The maximum allowed number of disk devices (256) to attach to a single instance has been exceeded.")))
}

// In every state the contract's rows accept or refuse, in its words.
func TestVolumesMeetTheContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	const data = "bbbbbbbb-0000-4000-8000-000000000001"
	attached := func() {
		c.query(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, attachment_id, device_name)
			VALUES ($1, 9, 'volume', 'volume', $2, 'a', '/dev/vdq') ON CONFLICT DO NOTHING`+" RETURNING volume_id", id, data)
	}
	path := "/servers/" + id + "/os-volume_attachments"
	rows := others(t)
	for _, k := range []struct {
		name, method, path, body string
		done                     int
	}{
		{"attach volume", "POST", path, `{"volumeAttachment": {"volumeId": "` + inUse + `"}}`, 200},
		{"detach volume", "DELETE", path + "/" + data, "", 202},
	} {
		row := rows[k.name]
		name := map[string]string{"attach volume": "attach_volume", "detach volume": "detach_volume"}[k.name]
		allowed, _ := of[[]string](t, row.VMStates, "")
		c.shareable(id, "active")
		if k.method == "DELETE" {
			attached()
		}
		for _, vm := range vmStates {
			c.shareable(id, vm)
			s := step{"alice", "2.20", k.method, k.path, k.body, k.done, ""}
			if !slices.Contains(allowed, vm) {
				s.status, s.want = 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", name, id, vm))
			}
			c.play(s)
			if vm == "shelved" || vm == "shelved_offloaded" {
				c.shareable(id, vm)
				s.version, s.status, s.want = "2.19", 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", name, id, vm))
				c.play(s)
			}
		}
		c.shareable(id, "active")
		c.query(`UPDATE compute.servers SET task_state = 'rebooting' WHERE id = $1 RETURNING id::text`, id)
		c.play(step{"alice", "2.1", k.method, k.path, k.body, 409, conflict(fmt.Sprintf("Cannot '%s' instance %s while it is in task_state rebooting", name, id))})
		c.shareable(id, "active")
		c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
		c.play(step{"alice", "2.1", k.method, k.path, k.body, 409, conflict("Instance " + id + " is locked")})
		c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)
	}
	c.shareable(id, "active")
	c.play(
		step{"alice", "2.1", "DELETE", path + "/" + absent, "", 404, notFound("Instance " + id + " is not attached to volume " + absent)},
		step{"bob", "2.1", "DELETE", path + "/" + data, "", 404, ""},
		step{"reader", "2.1", "DELETE", path + "/" + data, "", 403, ""},
	)
	c.query(`UPDATE compute.hosts SET last_seen = now() - interval '1 hour' WHERE id = $1 RETURNING id::text`, hostID)
	c.play(step{"alice", "2.1", "DELETE", path + "/" + data, "", 409, conflict("Service is unavailable at this time.")})
	c.query(`UPDATE compute.block_devices SET boot_index = 0 WHERE volume_id = $1 RETURNING volume_id`, data)
	c.play(step{"alice", "2.1", "DELETE", path + "/" + data, "", 400, fault("badRequest", "400", "Cannot detach a root device volume")})
}

// What of an attachment can be changed, and what can't.
func TestUpdateAttachment(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	const data = "bbbbbbbb-0000-4000-8000-000000000001"
	c.query(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, attachment_id, device_name, tag)
		VALUES ($1, 9, 'volume', 'volume', $2, 'a', '/dev/vdq', 'old') RETURNING volume_id`, id, data)
	path := "/servers/" + id + "/os-volume_attachments/"
	put := func(token, version, volume, more string, status int, want string) step {
		return step{token, version, "PUT", path + volume, `{"volumeAttachment": {"volumeId": "` + data + `"` + more + `}}`, status, want}
	}
	bad := func(name string) string {
		return fault("badRequest", "400", "The "+name+" property is not mutable")
	}
	c.play(
		put("alice", "2.85", data, `, "delete_on_termination": true`, 202, ""),
		put("alice", "2.85", data, `, "id": "`+data+`", "serverId": "`+id+`", "device": "/dev/vdq", "tag": "old"`, 202, ""),
		put("alice", "2.85", data, `, "id": "`+absent+`"`, 400, bad("id")),
		put("alice", "2.85", data, `, "serverId": "`+absent+`"`, 400, bad("serverId")),
		put("alice", "2.85", data, `, "device": "/dev/vda"`, 400, bad("device")),
		put("alice", "2.85", data, `, "tag": "new"`, 400, bad("tag")),
		put("alice", "2.85", absent, "", 403, ""),
		put("alice", "2.84", data, "", 403, ""),
		put("root", "2.84", data, "", 409, conflict("volume "+data+" is not migrating; this API should only be called by Cinder")),
		put("root", "2.85", absent, "", 404, notFound("No volume Block Device Mapping with id "+absent+".")),
	)
	if got := c.query(`SELECT delete_on_termination::text FROM compute.block_devices WHERE volume_id = $1`, data); got != "true" {
		t.Errorf("it ends with its server: %s", got)
	}
}

// Row 25 of the anchors, LP 1937375: requests for one volume at the same moment
// leave one block device.
func TestAnchor25DuplicateBlockDevices(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	id := c.create("alice", "web")
	c.shareable(id, "active")
	var mu sync.Mutex
	codes := map[int]int{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			status, _, _ := c.ask("alice", "2.1", "POST", "/servers/"+id+"/os-volume_attachments", `{"volumeAttachment": {"volumeId": "`+inUse+`"}}`)
			mu.Lock()
			defer mu.Unlock()
			codes[status]++
		})
	}
	group.Wait()
	if codes[200] != 1 || codes[400] != 7 {
		t.Errorf("answers by status: %v", codes)
	}
	if got := c.query(`SELECT count(*)::text FROM compute.block_devices WHERE server_id = $1`, id); got != "1" {
		t.Errorf("%s block devices", got)
	}
}
