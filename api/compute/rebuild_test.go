package compute_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	computestore "holdfast.dev/internal/store/compute"
)

// Images of the rebuilds.
const (
	newer    = "70a599e0-31e7-49b7-b260-868f441e8611"
	inactive = "70a599e0-31e7-49b7-b260-868f441e8612"
	tooLarge = "70a599e0-31e7-49b7-b260-868f441e8613"
	thirsty  = "70a599e0-31e7-49b7-b260-868f441e8614"
)

// shelf is Glance and Cinder as far as rebuilds go.
type shelf struct {
	neighbour
	status string
}

func (*shelf) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	all := map[string]*openstack.Image{
		newer:    {Status: "active", Properties: map[string]string{"os_distro": "newer"}},
		inactive: {Status: "queued"},
		tooLarge: {Status: "active", SizeBytes: 1 << 50},
		thirsty:  {Status: "active", MinRAMMB: 1 << 30},
	}
	if all[id] == nil {
		return nil, faults.New(faults.NotFound, "ImageNotFound", "none")
	}
	all[id].ID = id
	return all[id], nil
}

func (s *shelf) Volume(_ context.Context, _ identity.Identity, id string) (*openstack.Volume, error) {
	return &openstack.Volume{ID: id, Status: s.status, ImageMetadata: map[string]string{"image_id": newer}}, nil
}

// rebuildAct is a request to rebuild a server.
func rebuildAct(id, token, version, body string, status int, want string) step {
	return step{token, version, "POST", "/servers/" + id + "/action", `{"rebuild": ` + body + `}`, status, want}
}

func TestRebuild(t *testing.T) {
	t.Parallel()
	services := &shelf{status: "in-use"}
	c := newCloud(t, func(a *compute.API) { a.Neighbours = services })
	c.addHost()
	id := c.create("alice", "web")
	act := func(token, version, body string, status int, want string) step {
		return rebuildAct(id, token, version, body, status, want)
	}
	plain := `{"imageRef": "` + newer + `"}`
	row := preconditions(t)["rebuild"]
	allowed, _ := of[[]string](t, row.VMStates, "")
	for _, vm := range vmStates {
		c.settle(id, vm)
		s := act("alice", "2.1", plain, 202, "")
		if !slices.Contains(allowed, vm) {
			s.status, s.want = 409, conflict(fmt.Sprintf("Cannot 'rebuild' instance %s while it is in vm_state %s", id, vm))
		}
		c.play(s)
		if got, want := c.holder(id), "server.rebuild rebuilding"; s.status == 202 && got != want {
			t.Errorf("rebuild of %s: %s, want %s", vm, got, want)
		}
	}
	c.settle(id, "active")
	c.query(`UPDATE compute.servers SET task_state = 'rebooting' WHERE id = $1 RETURNING id::text`, id)
	c.play(act("alice", "2.1", plain, 409, conflict("Cannot 'rebuild' instance "+id+" while it is in task_state rebooting")))
	c.settle(id, "active")
	c.query(`UPDATE compute.servers SET launched_at = NULL WHERE id = $1 RETURNING id::text`, id)
	c.play(act("alice", "2.1", plain, 409, conflict("Instance "+id+" is in an invalid state for 'rebuild'")))
	c.settle(id, "active")
	c.play(
		act("reader", "2.1", plain, 403, forbidden("os_compute_api:servers:rebuild")),
		act("bob", "2.1", plain, 404, notFound("Instance "+id+" could not be found.")),
		act("alice", "2.1", `{}`, 400, ""),
		act("alice", "2.57", `{"imageRef": "`+newer+`", "personality": []}`, 400, ""),
		act("alice", "2.18", `{"imageRef": "`+newer+`", "description": "d"}`, 400, ""),
		act("alice", "2.89", `{"imageRef": "`+newer+`", "hostname": "web-2"}`, 400, ""),
		act("alice", "2.93", `{"imageRef": "`+newer+`", "hostname": "web.example.org"}`, 400, ""),
		act("alice", "2.54", `{"imageRef": "`+newer+`", "key_name": "none"}`, 400, invalid("Invalid key_name provided.")),
		act("alice+", "2.1", `{"imageRef": "`+nowhere+`"}`, 400, invalid("Cannot find image for rebuild")),
		act("alice+", "2.1", `{"imageRef": "`+inactive+`"}`, 400, invalid("Image "+inactive+" is not active.")),
		act("alice+", "2.1", `{"imageRef": "`+thirsty+`"}`, 400, invalid("Flavor's memory is too small for requested image.")),
		act("alice+", "2.1", `{"imageRef": "`+tooLarge+`"}`, 400, ""),
		act("alice", "2.1", `{"imageRef": "`+newer+`", "metadata": {`+manyItems(129)+`}}`, 403, ""),
	)
	c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
	c.play(act("alice", "2.1", plain, 409, conflict("Instance "+id+" is locked")))
	c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)
	if got := c.query(`SELECT count(*)::text FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL`, id); got != "0" {
		t.Errorf("refusals have left %s operations", got)
	}
}

func manyItems(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`"k%d": "v"`, i)
	}
	return strings.Join(items, ", ")
}

// The answer shows what the server will be; the row is as it was until then, and
// what its guest is told waits sealed beside what it was told.
func TestRebuildAnswers(t *testing.T) {
	t.Parallel()
	c := newCloud(t, func(a *compute.API) { a.Neighbours = &shelf{status: "in-use"} })
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	c.play(step{"alice", "2.2", "POST", "/os-keypairs", `{"keypair": {"name": "key"}}`, 201, ""})
	status, body, header := c.ask("alice+", "2.94", "POST", "/servers/"+id+"/action", `{"rebuild": {"imageRef": "`+newer+`", "name": "anew", "adminPass": "seekr3t",
		"metadata": {"a": "b"}, "description": null, "key_name": "key", "user_data": "aGVsbG8=", "trusted_image_certificates": ["c"], "hostname": "anew.example.org",
		"accessIPv4": "192.0.2.9", "OS-DCF:diskConfig": "MANUAL", "preserve_ephemeral": true}}`)
	if status != 202 || !strings.HasSuffix(header.Get("Location"), "/servers/"+id) {
		t.Fatalf("%d %v, Location %q", status, body, header.Get("Location"))
	}
	shown := body["server"].(map[string]any)
	for field, want := range map[string]any{"name": "anew", "adminPass": "seekr3t", "key_name": "key", "user_data": "aGVsbG8=", "status": "REBUILD",
		"OS-EXT-SRV-ATTR:hostname": "anew.example.org", "accessIPv4": "192.0.2.9", "OS-DCF:diskConfig": "MANUAL", "description": nil} {
		if got, there := shown[field]; !there || got != want {
			t.Errorf("%s is shown as %v", field, got)
		}
	}
	if got := shown["image"].(map[string]any)["id"]; got != newer {
		t.Errorf("the image is shown as %v", got)
	}
	if got := c.query(`SELECT name || ' ' || image_id FROM compute.servers WHERE id = $1`, id); got != "web "+image {
		t.Errorf("the row says %q already", got)
	}
	if boot, err := computestore.GetBootData(t.Context(), c.db.Pool, c.box, id); err != nil || boot.KeyName != "" || boot.UserData != nil {
		t.Errorf("the guest is told %+v already (%v)", boot, err)
	}
	if got := c.query(`SELECT input::text FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL`, id); strings.Contains(got, "seekr3t") || strings.Contains(got, "aGVsbG8=") {
		t.Errorf("secrets stand in the operation: %s", got)
	}
	c.query(`UPDATE engine.operations SET step = 'guest' WHERE resource_id = $1 AND finished_at IS NULL RETURNING id`, id)
	server, boot, err := computestore.AsItStarts(t.Context(), c.db.Pool, c.box, id)
	if err != nil || server.Name != "anew" || server.ImageID != newer || boot.AdminPassword != "seekr3t" || boot.KeyName != "key" || string(boot.UserData) != "hello" || len(boot.RandomSeed) == 0 {
		t.Errorf("at its start the guest is told %+v of %+v (%v)", boot, server, err)
	}
	c.settle(id, "active")
	status, body, _ = c.ask("alice+", "2.94", "POST", "/servers/"+id+"/action", `{"rebuild": {"imageRef": "`+newer+`", "key_name": null, "user_data": null}}`)
	if status != 202 || body["server"].(map[string]any)["user_data"] != nil || body["server"].(map[string]any)["key_name"] != nil {
		t.Errorf("key and user data taken away: %d %v", status, body)
	}
	for version, fields := range map[string][]string{"2.1": {}, "2.54": {"key_name"}, "2.57": {"key_name", "user_data"}} {
		c.settle(id, "active")
		_, body, _ := c.ask("alice+", version, "POST", "/servers/"+id+"/action", `{"rebuild": {"imageRef": "`+newer+`"}}`)
		shown := body["server"].(map[string]any)
		for _, field := range []string{"key_name", "user_data"} {
			if _, there := shown[field]; there != slices.Contains(fields, field) {
				t.Errorf("%s: %s is shown: %t", version, field, there)
			}
		}
		if _, there := shown["OS-EXT-STS:task_state"]; there || shown["adminPass"] == "" {
			t.Errorf("%s shows %v", version, shown)
		}
	}
}

// The volume that a server boots from is filled anew; before the original did so, the
// server could be rebuilt from the image that the volume was made of.
func TestRebuildOfVolumes(t *testing.T) {
	t.Parallel()
	services := &shelf{status: "in-use"}
	c := newCloud(t, func(a *compute.API) { a.Neighbours = services })
	c.addHost()
	id := c.create("alice", "web")
	c.settle(id, "active")
	(&world{cloud: c}).plug(id)
	c.query(`UPDATE compute.servers SET image_id = '' WHERE id = $1 RETURNING id::text`, id)
	c.query(`UPDATE compute.block_devices SET boot_index = 0 WHERE server_id = $1 RETURNING volume_id`, id)
	act := func(version, body string, status int, want string) step {
		return rebuildAct(id, "alice+", version, body, status, want)
	}
	plain := `{"imageRef": "` + newer + `"}`
	different := func(image string) string {
		return invalid("Image " + image + " is unacceptable: Unable to rebuild with a different image for a volume-backed server.")
	}
	c.play(
		act("2.92", `{"imageRef": "`+image+`"}`, 400, different(image)),
		act("2.63", `{"imageRef": "`+newer+`", "trusted_image_certificates": ["c"]}`, 400, invalid("Image certificate validation is not supported for volume-backed servers.")),
	)
	services.status = "error"
	c.play(act("2.92", plain, 400, invalid("Invalid volume: volume '6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0003' status must be 'in-use'. Currently in 'error' status")))
	services.status = "in-use"
	c.play(act("2.92", plain, 202, ""))
	if got := c.query(`SELECT COALESCE(input->>'image_id', '-') FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL`, id); got != "-" {
		t.Errorf("the root disk is to be made of %s", got)
	}
	c.settle(id, "active")
	c.play(act("2.93", plain, 202, ""))
	const input = `SELECT concat_ws(' ', input->>'volume_id', input->>'volume_image', input->>'image_id') FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL`
	if got, want := c.query(input, id), "6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0003 "+newer; got != want {
		t.Errorf("to be filled: %s, want %s", got, want)
	}
}
