package compute

// The disks that a request's image describes: that of a server of volumes has no
// data of its own, but says of which snapshots its disks are to be made.

import (
	"encoding/json"
	"slices"

	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

// describedDevices adds what the image describes to the devices of the request. Of
// two of one name the request's is taken, and an image that describes a disk to
// boot from isn't booted from itself.
func describedDevices(image *openstack.Image, asked []compute.BlockDevice) ([]compute.BlockDevice, error) {
	described, err := readDescribed(image)
	if err != nil || len(described) == 0 {
		return asked, err
	}
	boots := func(d compute.BlockDevice) bool { return d.Boots() }
	if slices.ContainsFunc(described, boots) {
		asked = slices.DeleteFunc(asked, func(d compute.BlockDevice) bool { return d.Boots() && d.SourceType == "image" })
	}
	for _, d := range described {
		named := func(other compute.BlockDevice) bool {
			return d.DeviceName != "" && servers.BareName(other.DeviceName) == servers.BareName(d.DeviceName)
		}
		if !slices.ContainsFunc(asked, named) {
			asked = append(asked, d)
		}
	}
	return asked, nil
}

func readDescribed(image *openstack.Image) (devices []compute.BlockDevice, err error) {
	if image == nil || image.Properties["block_device_mapping"] == "" {
		return nil, nil
	}
	var mapping []blockDevice
	if json.Unmarshal([]byte(image.Properties["block_device_mapping"]), &mapping) != nil {
		return nil, badDevice("Unrecognized legacy format.")
	}
	if newer, _ := parseTruth(image.Properties["bdm_v2"]); !newer {
		if mapping, err = today(mapping, ""); err != nil {
			return nil, err
		}
	}
	for _, m := range mapping {
		if isTrue(m.NoDevice) {
			continue
		}
		if m.UUID == "" {
			m.UUID = map[string]string{"snapshot": m.SnapshotID, "volume": m.VolumeID, "image": m.ImageID}[m.SourceType]
		}
		d, err := m.device(true)
		if err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	return devices, nil
}
