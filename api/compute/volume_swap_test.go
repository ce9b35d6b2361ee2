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
)

// migrations is Cinder while it migrates volumes.
type migrations struct {
	compute.Neighbours
	volumes map[string]*openstack.Volume
}

func (m *migrations) Volume(_ context.Context, _ identity.Identity, id string) (*openstack.Volume, error) {
	if v := m.volumes[id]; v != nil {
		v.ID = id
		return v, nil
	}
	return nil, faults.New(faults.NotFound, "NotFound", "none")
}

const (
	oldVolume = "bbbbbbbb-0000-4000-8000-000000000011"
	newVolume = "bbbbbbbb-0000-4000-8000-000000000012"
)

// swappable is a server with a volume that Cinder migrates to another.
func swappable(t *testing.T) (c *cloud, services *migrations, id string) {
	t.Helper()
	services = &migrations{}
	c = newCloud(t, func(a *compute.API) { a.Neighbours = services })
	c.addHost()
	id = c.create("alice", "web")
	c.shareable(id, "active")
	c.query(`INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id, attachment_id, device_name, volume_size_gb)
		VALUES ($1, 9, 'volume', 'volume', $2, 'a', '/dev/vdq', 1) RETURNING volume_id`, id, oldVolume)
	services.volumes = map[string]*openstack.Volume{
		oldVolume: {Status: "in-use", SizeGB: 1, MigrationStatus: "migrating", Attachments: []openstack.VolumeAttachment{{ServerID: id}}},
		newVolume: {Status: "available", SizeGB: 2, MigrationStatus: "target:" + oldVolume},
	}
	return c, services, id
}

func swapStep(id, version, volume, to string, status int, want string) step {
	return step{"root+", version, "PUT", "/servers/" + id + "/os-volume_attachments/" + volume, fmt.Sprintf(`{"volumeAttachment": {"volumeId": %q}}`, to), status, want}
}

// A volume is swapped as each microversion has it, once; the row names the new one.
func TestSwapVolume(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2.1", "2.84", "2.85", "2.101"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c, _, id := swappable(t)
			c.play(swapStep(id, version, oldVolume, newVolume, 202, ""),
				swapStep(id, version, oldVolume, newVolume, 400, fault("badRequest", "400", "Invalid volume: volume "+newVolume+" is already attached to instances: "+id)))
			if got := c.query(`SELECT format('%s %s %s %s', volume_id, attachment_id, swap_volume_id, swap_replaced) FROM compute.block_devices WHERE server_id = $1 AND volume_id <> ''`, id); got != oldVolume+" a "+newVolume+" f" {
				t.Errorf("the row is %s", got)
			}
			if got := c.query(`SELECT format('%s %s %s %s', kind, input->>'volume_id', input->>'new_volume_id', (SELECT string_agg(kind || ' ' || ref, ',') FROM engine.operation_effects e WHERE e.operation_id = o.id))
				FROM engine.operations o WHERE resource_id = $1 AND kind = 'server.swap-volume'`, id); got != "server.swap-volume "+oldVolume+" "+newVolume+" new-volume "+newVolume {
				t.Errorf("the operation is %s", got)
			}
			if got := c.query(`SELECT COALESCE(task_state, '') || COALESCE(operation_id, '') FROM compute.servers WHERE id = $1`, id); got != "" {
				t.Errorf("the server shows %q", got)
			}
			if _, body, _ := c.ask("alice", "2.1", "GET", "/servers/"+id+"/os-instance-actions", ""); body["instanceActions"].([]any)[0].(map[string]any)["action"] != "swap_volume" {
				t.Errorf("the actions are %v", body)
			}
		})
	}
}

// What is refused, in the original's order and words.
func TestSwapRefused(t *testing.T) {
	t.Parallel()
	c, services, id := swappable(t)
	invalid := func(text string) string { return fault("badRequest", "400", "Invalid volume: "+text) }
	for _, k := range []struct {
		name   string
		change func(old, new *openstack.Volume)
		want   string
		status int
	}{
		{"a volume that isn't migrated", func(old, _ *openstack.Volume) { old.MigrationStatus = "" }, conflict("volume " + oldVolume + " is not migrating; this API should only be called by Cinder"), 409},
		{"one that has been", func(old, _ *openstack.Volume) { old.MigrationStatus = "success" }, conflict("volume " + oldVolume + " is not migrating; this API should only be called by Cinder"), 409},
		{"another server's", func(old, _ *openstack.Volume) { old.Attachments[0].ServerID = absent }, invalid("Old volume is attached to a different instance."), 400},
		{"a new one that is used", func(_, new *openstack.Volume) { new.Attachments = []openstack.VolumeAttachment{{ServerID: absent}} }, invalid("New volume must be detached in order to swap."), 400},
		{"a smaller one", func(old, _ *openstack.Volume) { old.SizeGB = 3 }, invalid("New volume must be the same size or larger."), 400},
		{"a shared one", func(old, _ *openstack.Volume) {
			old.Attachments = append(old.Attachments, openstack.VolumeAttachment{ServerID: absent})
		}, fault("badRequest", "400", "Swapping multi-attach volumes with more than one read/write attachment is not supported."), 400},
		{"one that is another's target", func(_, new *openstack.Volume) { new.MigrationStatus = "target:" + absent }, invalid("Destination has migration_status target:" + absent + ", expected target:" + oldVolume + "."), 400},
		{"one that isn't available", func(_, new *openstack.Volume) { new.Status = "error" },
			invalid("Invalid input received: Invalid volume: Volume " + newVolume + " status must be available or downloading to reserve, but the current status is error."), 400},
	} {
		old, new := *services.volumes[oldVolume], *services.volumes[newVolume]
		old.Attachments = slices.Clone(old.Attachments)
		was := services.volumes
		k.change(&old, &new)
		services.volumes = map[string]*openstack.Volume{oldVolume: &old, newVolume: &new}
		t.Log(k.name)
		c.play(swapStep(id, "2.1", oldVolume, newVolume, k.status, k.want))
		services.volumes = was
	}
	stranger := "bbbbbbbb-0000-4000-8000-000000000013"
	c.play(
		swapStep(id, "2.1", absent, newVolume, 404, notFound("Volume "+absent+" could not be found.")),
		swapStep(id, "2.1", oldVolume, absent, 400, fault("badRequest", "400", "Volume "+absent+" could not be found.")),
		swapStep(absent, "2.1", oldVolume, newVolume, 404, notFound("Instance "+absent+" could not be found.")),
		swapStep(id, "2.1", oldVolume, oldVolume, 400, invalid("New volume must be detached in order to swap.")),
		step{"alice+", "2.1", "PUT", "/servers/" + id + "/os-volume_attachments/" + oldVolume, `{"volumeAttachment": {"volumeId": "` + newVolume + `"}}`, 403, ""},
	)
	services.volumes[stranger] = &openstack.Volume{Status: "in-use", SizeGB: 1, MigrationStatus: "migrating", Attachments: []openstack.VolumeAttachment{{ServerID: id}}}
	c.play(
		swapStep(id, "2.1", stranger, newVolume, 404, notFound("No volume Block Device Mapping with id "+stranger+".")),
		swapStep(id, "2.85", stranger, newVolume, 404, notFound("No volume Block Device Mapping with id "+stranger+".")),
	)
	if got := c.query(`SELECT count(*)::text FROM engine.operations WHERE resource_id = $1 AND kind = 'server.swap-volume'`, id); got != "0" {
		t.Errorf("%s operations", got)
	}
	c.play(swapStep(id, "2.1", oldVolume, newVolume, 202, ""))
	third := "bbbbbbbb-0000-4000-8000-000000000014"
	services.volumes[third] = &openstack.Volume{Status: "available", SizeGB: 1}
	c.play(swapStep(id, "2.1", oldVolume, third, 400, invalid("volume "+oldVolume+" is being swapped for volume "+newVolume)))
}

// In every state the contract's row accepts or refuses, in its words.
func TestSwapMeetsTheContract(t *testing.T) {
	t.Parallel()
	row := others(t)["swap volume"]
	allowed, _ := of[[]string](t, row.VMStates, "")
	c, _, id := swappable(t)
	again := func(vm string) {
		c.settle(id, vm)
		c.query(`WITH gone AS (UPDATE compute.block_devices SET swap_volume_id = '' WHERE server_id = $1 RETURNING 1) SELECT count(*)::text FROM gone`, id)
	}
	for _, vm := range vmStates {
		again(vm)
		s := swapStep(id, "2.1", oldVolume, newVolume, 202, "")
		if !slices.Contains(allowed, vm) {
			s.status, s.want = 409, conflict(fmt.Sprintf("Cannot 'swap_volume' instance %s while it is in vm_state %s", id, vm))
		}
		c.play(s)
	}
	again("active")
	c.query(`UPDATE compute.servers SET task_state = 'rebooting' WHERE id = $1 RETURNING id::text`, id)
	c.play(swapStep(id, "2.1", oldVolume, newVolume, 409, conflict("Cannot 'swap_volume' instance "+id+" while it is in task_state rebooting")))
	again("active")
	c.query(`UPDATE compute.servers SET locked = true WHERE id = $1 RETURNING id::text`, id)
	c.play(swapStep(id, "2.1", oldVolume, newVolume, 202, "")) // an administrator may all the same
}
