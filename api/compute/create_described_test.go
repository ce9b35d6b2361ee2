package compute_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
)

// describing is a Glance whose image has these properties.
type describing struct {
	neighbour
	properties map[string]string
}

func (n describing) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	return &openstack.Image{ID: id, Status: "active", Properties: n.properties}, nil
}

// A server of an image that describes disks has these, but for those that its
// request says otherwise of.
func TestImagesThatDescribeDisks(t *testing.T) {
	t.Parallel()
	const (
		root = `{"source_type": "snapshot", "destination_type": "volume", "snapshot_id": "` + snapshot + `", "volume_id": null, "image_id": null, "volume_size": 8, "volume_type": null,
			"boot_index": 0, "device_name": "/dev/vda", "device_type": "disk", "disk_bus": "virtio", "guest_format": null, "delete_on_termination": true, "no_device": null, "tag": null}`
		data = `{"source_type": "volume", "destination_type": "volume", "volume_id": "` + available + `", "boot_index": null, "device_name": "/dev/vdb", "delete_on_termination": false}`

		rootMade = `{"snapshot", "volume", "` + snapshot + `", 8, 0, "vda", true}`
		dataMade = `{"volume", "volume", "` + available + `", 3, null, "vdb", false}`
	)
	v2 := func(devices ...string) map[string]string {
		return map[string]string{"bdm_v2": "True", "block_device_mapping": "[" + strings.Join(devices, ", ") + "]"}
	}
	asks := func(devices ...string) string {
		return `, "block_device_mapping_v2": [` + strings.Join(devices, ", ") + `]`
	}
	local := `{"source_type": "image", "destination_type": "local", "uuid": "` + image + `", "boot_index": 0}`
	for name, of := range map[string]struct {
		properties map[string]string
		asks       string
		status     int
		want       string // the fault, or the devices
	}{
		"none":                     {map[string]string{}, "", 202, ``},
		"a root and another":       {v2(root, data), "", 202, rootMade + dataMade},
		"of the older form":        {map[string]string{"block_device_mapping": `[{"device_name": "vda", "snapshot_id": "` + snapshot + `", "delete_on_termination": true}]`}, "", 202, `{"snapshot", "volume", "` + snapshot + `", 7, 0, "vda", true}`},
		"the client's own root":    {v2(root), asks(local), 202, rootMade},
		"another in its place":     {v2(root, data), asks(local, `{"source_type": "blank", "destination_type": "volume", "volume_size": 1, "device_name": "vdb"}`), 202, `{"blank", "volume", "", 1, null, "vdb", false}` + rootMade},
		"beside it":                {v2(root), asks(local, `{"source_type": "blank", "destination_type": "volume", "volume_size": 1}`), 202, `{"blank", "volume", "", 1, null, "vdb", false}` + rootMade},
		"without a device":         {v2(root, `{"device_name": "/dev/vdb", "no_device": true}`), "", 202, rootMade},
		"a snapshot that is gone":  {v2(strings.ReplaceAll(root, snapshot, absent)), "", 400, invalid("Block Device Mapping is Invalid: failed to get snapshot " + absent + ".")},
		"a volume for two":         {v2(root, data), `, "max_count": 2`, 400, invalid("Cannot attach one or more volumes to multiple instances")},
		"no JSON":                  {map[string]string{"bdm_v2": "True", "block_device_mapping": "x"}, "", 400, invalid("Block Device Mapping is Invalid: Unrecognized legacy format.")},
		"a size below zero":        {v2(strings.ReplaceAll(root, `"volume_size": 8`, `"volume_size": -1`)), "", 400, invalid("Block Device Mapping is Invalid: Invalid volume_size.")},
		"a size beyond all":        {v2(strings.ReplaceAll(root, `"volume_size": 8`, `"volume_size": 2147483648`)), "", 400, invalid("Block Device Mapping is Invalid: Invalid volume_size.")},
		"a kind of source unknown": {v2(strings.ReplaceAll(root, `"source_type": "snapshot"`, `"source_type": "x", "uuid": "x"`)), "", 400, invalid("Block Device Mapping is Invalid: Invalid source_type field.")},
		"a destination unknown":    {v2(strings.ReplaceAll(root, `"destination_type": "volume"`, `"destination_type": "x"`)), "", 400, invalid("Block Device Mapping is Invalid: Invalid destination_type field.")},
		"more than one may have": {v2(slices.Repeat([]string{`{"source_type": "blank", "destination_type": "volume", "volume_size": 1}`}, 257)...), "", 403,
			fault("forbidden", "403", "The maximum allowed number of disk devices (256) to attach to a single instance has been exceeded.")},
		"as many as one may have, and the image's": {v2(slices.Repeat([]string{`{"source_type": "blank", "destination_type": "volume", "volume_size": 1}`}, 256)...), "", 403,
			fault("forbidden", "403", "The maximum allowed number of disk devices (256) to attach to a single instance has been exceeded.")},
		"a source that there isn't": {v2(`{"source_type": "snapshot", "destination_type": "volume", "boot_index": 0}`), "", 400, invalid("Block Device Mapping is Invalid: Missing device UUID.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, func(a *compute.API) { a.Neighbours = describing{properties: of.properties} })
			fault := of.want
			if of.status == 202 {
				fault = ""
			}
			c.play(step{"alice+", "2.60", "POST", "/servers", server(`, "networks": "none", "imageRef": "` + image + `"` + of.asks), of.status, fault})
			got := c.query(`SELECT COALESCE(string_agg(format('{"%s", "%s", "%s", %s, %s, "%s", %s}', source_type, destination_type, CASE source_type WHEN 'volume' THEN volume_id ELSE source_id END,
				volume_size_gb, COALESCE(boot_index::text, 'null'), device_name, delete_on_termination::text), '' ORDER BY position), '') FROM compute.block_devices`)
			if of.status == 202 && strings.ReplaceAll(got, "/dev/", "") != of.want {
				t.Errorf("devices\n%s\nwant\n%s", got, of.want)
			}
			if made := c.query(`SELECT count(*)::text FROM compute.servers`); of.status != 202 && made != "0" {
				t.Errorf("refused, and %s servers", made)
			}
		})
	}
}
