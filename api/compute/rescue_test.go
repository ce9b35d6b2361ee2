package compute_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	computestore "holdfast.dev/internal/store/compute"
)

// Images of the rescues.
const (
	tools        = "70a599e0-31e7-49b7-b260-868f441e8601"
	stable       = "70a599e0-31e7-49b7-b260-868f441e8602"
	fromSnapshot = "70a599e0-31e7-49b7-b260-868f441e8603"
	nowhere      = "70a599e0-31e7-49b7-b260-868f441e8604"
)

// repository is Glance and Cinder as far as rescues go.
type repository struct {
	compute.Neighbours
	status string
}

func (repository) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	properties := map[string]map[string]string{tools: {}, stable: {"hw_rescue_bus": "usb", "hw_rescue_device": "disk"}, fromSnapshot: {"block_device_mapping": "[{}]"}}
	if properties[id] == nil {
		return nil, faults.New(faults.NotFound, "ImageNotFound", "none")
	}
	return &openstack.Image{ID: id, Status: "active", Properties: properties[id]}, nil
}

func (n repository) Volume(_ context.Context, _ identity.Identity, id string) (*openstack.Volume, error) {
	return &openstack.Volume{ID: id, Status: n.status}, nil
}

func TestRescue(t *testing.T) {
	t.Parallel()
	services := &repository{status: "in-use"}
	c := newCloud(t, func(a *compute.API) { a.Neighbours = services })
	c.addHost()
	id := c.create("alice", "web")
	act := func(token, version, body string, status int, want string) step {
		return step{token, version, "POST", "/servers/" + id + "/action", body, status, want}
	}
	input := func() string {
		return c.query(`SELECT o.kind || ' ' || (o.input->>'image_id') || ' ' || s.task_state FROM compute.servers s JOIN engine.operations o ON o.id = s.operation_id WHERE s.id = $1`, id)
	}
	for _, vm := range vmStates {
		c.settle(id, vm)
		s := act("alice", "2.1", `{"rescue": null}`, 200, "")
		if !slices.Contains([]string{"active", "stopped", "error"}, vm) {
			s.status, s.want = 409, conflict(fmt.Sprintf("Cannot 'rescue' instance %s while it is in vm_state %s", id, vm))
		}
		c.play(s)
		if got, want := c.holder(id), "server.rescue rescuing"; s.status == 200 && got != want {
			t.Errorf("rescue of %s: %s, want %s", vm, got, want)
		}
	}
	c.settle(id, "active")
	c.play(act("alice+", "2.1", `{"rescue": {"adminPass": "secret", "rescue_image_ref": "`+tools+`"}}`, 200, `{"adminPass": "secret"}`))
	if got := input(); got != "server.rescue "+tools+" rescuing" {
		t.Error(got)
	}
	boot, err := computestore.GetBootData(t.Context(), c.db.Pool, c.box, id)
	if err != nil || boot.AdminPassword != "secret" {
		t.Errorf("the guest is told %q (%v)", boot.AdminPassword, err)
	}
	c.play(act("alice", "2.1", `{"rescue": null}`, 409, conflict("Cannot 'rescue' instance "+id+" while it is in task_state rescuing")))
	c.settle(id, "active")
	unsupported := func(image string) string { return invalid("Requested rescue image '" + image + "' is not supported") }
	c.play(
		act("alice+", "2.1", `{"rescue": {"rescue_image_ref": "`+nowhere+`"}}`, 400, unsupported(nowhere)),
		act("alice+", "2.1", `{"rescue": {"rescue_image_ref": "`+fromSnapshot+`"}}`, 400, unsupported(fromSnapshot)),
		act("reader", "2.1", `{"rescue": null}`, 403, forbidden("os_compute_api:os-rescue")),
		act("bob", "2.1", `{"rescue": null}`, 404, notFound("Instance "+id+" could not be found.")),
	)
	c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
	c.play(act("alice", "2.1", `{"rescue": null}`, 409, conflict("Instance "+id+" is locked")))
	c.query(`UPDATE compute.servers SET locked = false WHERE id = $1 RETURNING id::text`, id)

	// Volumes have to be in use, and a root that is one stays where it is.
	(&world{cloud: c}).plug(id)
	services.status = "error"
	c.play(act("alice+", "2.1", `{"rescue": null}`, 409,
		conflict("Invalid volume: volume '6b7c1b8e-6e27-4d43-a5a7-8b1f3f7d0003' status must be 'in-use'. Currently in 'error' status")))
	services.status = "in-use"
	c.query(`UPDATE compute.servers SET image_id = '' WHERE id = $1 RETURNING id::text`, id)
	refused := func(why string) string { return invalid("Instance " + id + " cannot be rescued: " + why) }
	byStable := `{"rescue": {"rescue_image_ref": "` + stable + `"}}`
	c.play(
		act("alice+", "2.87", `{"rescue": null}`, 400, refused("Cannot rescue a volume-backed instance")),
		act("alice+", "2.86", byStable, 400, refused("Cannot rescue a volume-backed instance")),
		act("alice+", "2.87", byStable, 400, refused("Host unable to rescue a volume-backed instance")),
	)
	c.query(`UPDATE compute.hosts SET inventory = '{"details": {"traits": ["COMPUTE_RESCUE_BFV"]}}' WHERE id = $1 RETURNING name`, hostID)
	c.play(act("alice+", "2.87", byStable, 200, ""))
	if got := input(); got != "server.rescue "+stable+" rescuing" {
		t.Error(got)
	}
}
