package compute_test

// Disks of a create request, against what Cinder and Glance say of their sources.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
)

// Volumes, and a snapshot, that Cinder has; their names say what they are.
const (
	available   = "aaaaaaaa-0000-4000-8000-000000000001"
	inUse       = "aaaaaaaa-0000-4000-8000-000000000002"
	shared      = "aaaaaaaa-0000-4000-8000-000000000003"
	notBootable = "aaaaaaaa-0000-4000-8000-000000000004"
	ofLargeGB   = "aaaaaaaa-0000-4000-8000-000000000005"
	snapshot    = "bbbbbbbb-0000-4000-8000-000000000001"
	absent      = "cccccccc-0000-4000-8000-000000000001"
	queued      = "dddddddd-0000-4000-8000-000000000001"
)

var errAbsent = faults.New(faults.NotFound, "NotFound", "there is no such thing")

func (neighbour) Volume(_ context.Context, _ identity.Identity, id string) (*openstack.Volume, error) {
	v, ok := map[string]openstack.Volume{
		available:   {Status: "available", SizeGB: 3, Bootable: "true", ImageMetadata: map[string]string{"image_id": image, "hw_disk_bus": "scsi"}},
		inUse:       {Status: "in-use", SizeGB: 1, Bootable: "true"},
		shared:      {Status: "in-use", SizeGB: 1, Bootable: "true", Multiattach: true},
		notBootable: {Status: "available", SizeGB: 1, Bootable: "false"},
		ofLargeGB:   {Status: "available", SizeGB: 1, Bootable: "true", ImageMetadata: map[string]string{"min_ram": "4096"}},
	}[id]
	if !ok {
		return nil, errAbsent
	}
	v.ID = id
	return &v, nil
}

func (neighbour) Snapshot(_ context.Context, _ identity.Identity, id string) (*openstack.Volume, error) {
	if id != snapshot {
		return nil, errAbsent
	}
	return &openstack.Volume{ID: id, Status: "available", SizeGB: 7, VolumeID: available}, nil
}

func (neighbour) VolumeTypes(context.Context, identity.Identity) (map[string]string, error) {
	return map[string]string{"fast": "fast", "f-id": "fast"}, nil
}

func (neighbour) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	switch id {
	case image:
		return &openstack.Image{ID: id, Status: "active", MinDiskGB: 2}, nil
	case queued:
		return &openstack.Image{ID: id, Status: "queued"}, nil
	}
	return nil, errAbsent
}

func mapping(entries ...string) string {
	return `, "networks": "none", "block_device_mapping_v2": [` + strings.Join(entries, ", ") + `]`
}

func root(source, id string, more string) string {
	return fmt.Sprintf(`{"source_type": %q, "uuid": %q, "destination_type": "volume", "boot_index": 0%s}`, source, id, more)
}

// What can't be is refused in the original's words, and nothing is written.
func TestCreateRefusesDisks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	const withImage = `, "imageRef": "` + image + `"`
	const local = `{"source_type": "image", "destination_type": "local", "uuid": "` + image + `", "boot_index": 0}`
	const bad = "Block Device Mapping is Invalid: "
	c.query(`INSERT INTO compute.flavors (id, name, vcpus, memory_mb, root_gb, ephemeral_gb, swap_mb) VALUES ('full', 'full', 1, 64, 5, 4, 512) RETURNING id`)
	full := func(entries ...string) string {
		return strings.Replace(server(withImage+mapping(append([]string{local}, entries...)...)), `"flavorRef": "1"`, `"flavorRef": "full"`, 1)
	}
	old := func(entry string) string {
		return server(`, "networks": "none", "block_device_mapping": [` + entry + `]`)
	}
	ephemeral := func(more string) string {
		return `{"source_type": "blank", "destination_type": "local"` + more + `}`
	}
	const tooLarge = "Ephemeral disks requested are larger than the instance type allows. If no size is given in one block device mapping, flavor ephemeral size will be used."
	reserve := func(id, status string) string {
		return "Invalid volume: Invalid input received: Invalid volume: Volume " + id + " status must be available or downloading to reserve, but the current status is " + status + "."
	}
	for _, k := range []struct{ version, body, want string }{
		{"2.37", server(mapping(root("volume", absent, ""))), bad + "failed to get volume " + absent + "."},
		{"2.37", server(mapping(root("volume", available, ""), `{"source_type": "volume", "uuid": "`+absent+`"}`)), "Volume " + absent + " could not be found."},
		{"2.37", server(mapping(root("snapshot", absent, ""))), "Snapshot " + absent + " could not be found."},
		{"2.37", server(mapping(root("volume", available, ""), `{"source_type": "snapshot", "uuid": "`+absent+`"}`)), bad + "failed to get snapshot " + absent + "."},
		{"2.37", server(mapping(root("image", absent, `, "volume_size": 2`))), bad + "failed to get image " + absent + "."},
		{"2.37", server(mapping(root("volume", notBootable, ""))), "Block Device " + notBootable + " is not bootable."},
		{"2.37", server(mapping(root("volume", inUse, ""))), reserve(inUse, "in-use")},
		{"2.60", server(mapping(root("volume", available, ""), `{"source_type": "volume", "uuid": "`+available+`"}`)), reserve(available, "reserved")},
		{"2.59", server(mapping(root("volume", shared, ""))), "Multiattach volumes are only supported starting with compute API version 2.60."},
		{"2.37", server(`, "max_count": 2` + mapping(root("volume", available, ""))), "Cannot attach one or more volumes to multiple instances"},
		{"2.37", server(mapping(root("volume", ofLargeGB, ""))), "Flavor's memory is too small for requested image."},
		{"2.37", server(mapping(root("image", image, `, "volume_size": 1`))),
			"Volume is smaller than the minimum size specified in image metadata. Volume size is 1073741824 bytes, minimum size is 2147483648 bytes."},
		{"2.37", server(mapping(root("image", queued, `, "volume_size": 1`))), "Image " + queued + " is not active."},
		{"2.67", server(mapping(root("image", image, `, "volume_size": 2, "volume_type": "slow"`))), "Volume type slow could not be found."},
		{"2.67", server(mapping(root("volume", available, `, "volume_type": "fast"`))), bad + "Specifying volume type to existing volume is not supported."},
		{"2.67", server(withImage + mapping(local, ephemeral(`, "volume_type": "fast"`))), bad + "Specifying a volume_type with destination_type=local is not supported."},
		{"2.37", server(mapping(root("volume", available, `, "disk_bus": "none"`))), "Block Device Mapping is Invalid."},
		{"2.37", full(`{"source_type": "volume", "uuid": "` + available + `", "device_name": "/dev/vda"}`),
			"The volume cannot be assigned the same device name as the root device vda"},
		{"2.37", full(ephemeral(""), ephemeral("")), tooLarge},
		{"2.37", full(ephemeral(`, "volume_size": 3`), ephemeral(`, "volume_size": 2`)), tooLarge},
		{"2.37", full(ephemeral(`, "guest_format": "swap", "volume_size": 513`)), "Swap drive requested is larger than instance type allows."},
		{"2.37", full(ephemeral(`, "guest_format": "swap", "volume_size": 1`), ephemeral(`, "guest_format": "swap", "volume_size": 1`)), bad + "More than one swap drive requested."},
		{"2.37", full(ephemeral(`, "volume_size": 1`), ephemeral(`, "volume_size": 1`)), bad + "You specified more local devices than the limit allows"},
		{"2.37", old(`{"device_name": "vdb"}`), bad + "Unrecognized legacy format."},
		{"2.37", old(`{"device_name": "vdb", "volume_id": "` + available + `"}`), bad + "Boot sequence for the instance and image/block device mapping combination is not valid."},
	} {
		c.play(step{"alice+", k.version, "POST", "/servers", k.body, 400, invalid(k.want)})
	}
	if got := c.query(`SELECT (SELECT count(*) FROM compute.servers) || ' ' || (SELECT count(*) FROM compute.block_devices) || ' ' || (SELECT count(*) FROM engine.operations)`); got != "0 0 0" {
		t.Errorf("%s rows were left", got)
	}
}

// What can be is written with the sizes, types and names that it will have.
func TestCreateWritesDisks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	const blank = `{"source_type": "blank", "destination_type": "volume", "volume_size": 1, "device_name": "/dev/vdq"}`
	for _, k := range []struct{ version, body, want string }{
		{"2.37", server(mapping(root("volume", available, `, "delete_on_termination": true`), blank)), "volume " + available + " 3 /dev/sda ends, blank 1 /dev/sdb"},
		{"2.60", server(mapping(root("volume", shared, ""))), "volume " + shared + " 1 /dev/vda"},
		{"2.37", server(mapping(root("snapshot", snapshot, ""))), "snapshot 7 /dev/sda"},
		{"2.37", server(mapping(root("snapshot", snapshot, `, "volume_size": 9`))), "snapshot 9 /dev/sda"},
		{"2.67", server(mapping(root("image", image, `, "volume_size": 2, "volume_type": "f-id"`), blank)), "image 2 fast /dev/vda, blank 1 /dev/vdb"},
		{"2.37", server(`, "networks": "none", "block_device_mapping": [{"device_name": "vda", "volume_id": "` + available + `"}]`), "volume " + available + " 3 /dev/vda"},
	} {
		status, body, _ := c.ask("alice+", k.version, "POST", "/servers", k.body)
		if status != 202 {
			t.Errorf("%s: %d %v", k.body, status, body)
			continue
		}
		got := c.query(`SELECT string_agg(concat_ws(' ', source_type, NULLIF(volume_id, ''), volume_size_gb, NULLIF(volume_type, ''), device_name, CASE WHEN delete_on_termination THEN 'ends' END), ', ' ORDER BY position)
			FROM compute.block_devices WHERE server_id = $1`, body["server"].(map[string]any)["id"])
		if got != k.want {
			t.Errorf("%s\n got %s\nwant %s", k.body, got, k.want)
		}
	}
}
