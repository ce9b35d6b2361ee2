package compute

// What a create request says of disks: block_device_mapping_v2, and the older
// block_device_mapping as what it means today.

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/compute"
)

// blockDevice is an entry of either mapping.
type blockDevice struct {
	SourceType      string          `json:"source_type"`
	DestinationType string          `json:"destination_type"`
	UUID            string          `json:"uuid"`
	ImageID         string          `json:"image_id"`
	VolumeID        string          `json:"volume_id"`
	SnapshotID      string          `json:"snapshot_id"`
	VolumeSize      *whole          `json:"volume_size"`
	VolumeType      *string         `json:"volume_type"`
	BootIndex       json.RawMessage `json:"boot_index"`
	DeviceName      string          `json:"device_name"`
	DeviceType      string          `json:"device_type"`
	DiskBus         string          `json:"disk_bus"`
	GuestFormat     string          `json:"guest_format"`
	Tag             string          `json:"tag"`
	Ends            truth           `json:"delete_on_termination"`
	NoDevice        json.RawMessage `json:"no_device"`
}

// maxLocalDisks is how many disks on the host a server may have
// (max_local_block_devices).
const maxLocalDisks = 3

// blockDevices are the server's disks in the order of the request; a server of
// an image alone has none of its own.
func (a *API) blockDevices(r *rest.Request, asked *createRequest, flavor *compute.Flavor) ([]compute.BlockDevice, error) {
	mapping := asked.Devices
	if len(asked.OldDevices) > 0 {
		mapping = today(asked.OldDevices, asked.ImageRef)
	}
	var devices []compute.BlockDevice
	for _, m := range mapping {
		if len(m.NoDevice) > 0 && string(m.NoDevice) != "null" {
			continue
		}
		d, err := m.device(asked.ImageRef != "")
		if err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	if err := checkBoot(devices, asked.ImageRef != ""); err != nil {
		return nil, err
	}
	if err := checkSizes(devices, flavor); err != nil {
		return nil, err
	}
	for i := range devices {
		if err := a.checkSource(r, &devices[i], asked.count); err != nil {
			return nil, err
		}
	}
	return devices, nil
}

// today is an older mapping in the newer form: each entry is a volume, or one
// made of a snapshot; the first boots where there is no image.
func today(old []blockDevice, image reference) []blockDevice {
	now := make([]blockDevice, 0, len(old)+1)
	if image != "" {
		now = append(now, blockDevice{SourceType: "image", DestinationType: "local", UUID: string(image), BootIndex: json.RawMessage("0"), Ends: true})
	}
	for i, d := range old {
		d.SourceType, d.DestinationType = "volume", "volume"
		if d.VolumeID == "" && d.SnapshotID != "" {
			d.SourceType = "snapshot"
		}
		if d.VolumeID == "" && d.SnapshotID == "" {
			d.SourceType, d.DestinationType = "blank", "local"
		}
		if image == "" && i == 0 {
			d.BootIndex = json.RawMessage("0")
		}
		now = append(now, d)
	}
	return now
}

func badDevice(format string, args ...any) error {
	return faults.New(faults.Invalid, "InvalidBDMFormat", "Block Device Mapping is Invalid: "+format, args...)
}

// device reads one entry by itself.
func (m blockDevice) device(withImage bool) (d compute.BlockDevice, err error) {
	d = compute.BlockDevice{
		SourceType: m.SourceType, DestinationType: m.DestinationType, DeviceName: m.DeviceName, DeviceType: m.DeviceType,
		DiskBus: m.DiskBus, GuestFormat: m.GuestFormat, Tag: m.Tag, DeleteOnTermination: bool(m.Ends),
	}
	if m.VolumeSize != nil {
		d.VolumeSizeGB = int(*m.VolumeSize)
	}
	if m.VolumeType != nil {
		d.VolumeType = *m.VolumeType
	}
	if d.BootIndex, err = m.bootIndex(); err != nil {
		return d, err
	}
	if d.SourceType == "" {
		return d, badDevice("Invalid source_type field.")
	}
	id := m.UUID
	for _, given := range []string{m.ImageID, m.VolumeID, m.SnapshotID} {
		if id == "" {
			id = given
		}
	}
	switch {
	case d.SourceType == "blank" && id != "":
		return d, badDevice("Invalid device UUID.")
	case d.SourceType != "blank" && id == "":
		return d, badDevice("Missing device UUID.")
	}
	if d.DestinationType == "" {
		d.DestinationType = "local"
		if d.SourceType == "volume" || d.SourceType == "snapshot" {
			d.DestinationType = "volume"
		}
	}
	d.SourceID = id
	if d.SourceType == "volume" {
		d.SourceID, d.VolumeID = "", id
	}
	return d, m.checkKind(d, withImage)
}

// bootIndex: none, null and negative are not booted from.
func (m blockDevice) bootIndex() (*int, error) {
	if len(m.BootIndex) == 0 || string(m.BootIndex) == "null" {
		return nil, nil
	}
	var n whole
	if err := n.UnmarshalJSON(m.BootIndex); err != nil {
		return nil, badDevice("Boot index is invalid.")
	}
	if n < 0 {
		return nil, nil
	}
	index := int(n)
	return &index, nil
}

// checkKind refuses sources and destinations that don't go together.
func (m blockDevice) checkKind(d compute.BlockDevice, withImage bool) error {
	switch {
	case d.DestinationType == "local" && (d.SourceType == "volume" || d.SourceType == "snapshot"):
		return badDevice("Mapping %s to local is not supported.", d.SourceType)
	case d.DestinationType == "local" && d.SourceType == "image" && (!withImage || d.BootIndex == nil || *d.BootIndex != 0):
		return badDevice("Mapping image to local is not supported.")
	case d.DestinationType == "volume" && d.SourceType == "image" && d.VolumeSizeGB == 0:
		return badDevice("Images with destination_type 'volume' need to have a non-zero size specified")
	case d.DestinationType == "volume" && d.SourceType == "blank" && d.VolumeSizeGB == 0:
		return badDevice("Blank volumes (source: 'blank', dest: 'volume') need to have non-zero size")
	case d.VolumeType != "" && d.DestinationType != "volume":
		return badDevice("Specifying a volume_type with destination_type=local is not supported.")
	}
	return nil
}

// checkBoot: the indexes to boot by are 0 and on without a gap. Without any
// device the image boots.
func checkBoot(devices []compute.BlockDevice, withImage bool) error {
	var indexes []int
	for _, d := range devices {
		if d.BootIndex != nil {
			indexes = append(indexes, *d.BootIndex)
		}
	}
	slices.Sort(indexes)
	right := len(indexes) > 0 || len(devices) == 0 && withImage
	for i, index := range indexes {
		right = right && i == index
	}
	if !right {
		return badDevice("Boot sequence for the instance and image/block device mapping combination is not valid.")
	}
	return nil
}

// checkSizes holds what is on the host's disk against the flavor.
func checkSizes(devices []compute.BlockDevice, flavor *compute.Flavor) error {
	local, ephemeral, swap := 0, int64(0), int64(0)
	for _, d := range devices {
		if d.DestinationType != "local" {
			continue
		}
		local++
		switch {
		case d.SourceType == "blank" && d.GuestFormat == "swap":
			swap += int64(d.VolumeSizeGB)
		case d.SourceType == "blank":
			ephemeral += int64(d.VolumeSizeGB)
		}
	}
	switch {
	case local > maxLocalDisks:
		return badDevice("You specified more local devices than the limit allows")
	case ephemeral > flavor.EphemeralGB:
		return faults.New(faults.Invalid, "InvalidBDMEphemeralSize",
			"Ephemeral disks requested are larger than the instance type allows. If no size is given in one block device mapping, flavor ephemeral size will be used.")
	case swap > flavor.SwapMB:
		return faults.New(faults.Invalid, "InvalidBDMSwapSize", "Swap drive requested is larger than instance type allows.")
	}
	return nil
}

// checkSource asks Cinder and Glance for what a device is made of.
func (a *API) checkSource(r *rest.Request, d *compute.BlockDevice, count counts) error {
	if d.DestinationType != "volume" {
		return nil
	}
	if err := r.Enforce("os_compute_api:servers:create:attach_volume", nil); err != nil {
		return err
	}
	if !a.reachable(r.Identity) {
		return nil
	}
	var err error
	switch d.SourceType {
	case "volume":
		return a.checkVolume(r, d, count)
	case "snapshot":
		_, err = a.Neighbours.Snapshot(r.Context(), r.Identity, d.SourceID)
	case "image":
		_, err = a.Neighbours.Image(r.Context(), r.Identity, d.SourceID)
	}
	if faults.Is(err, faults.NotFound) {
		return badDevice("failed to get %s %s.", d.SourceType, d.SourceID)
	}
	return err
}

func (a *API) checkVolume(r *rest.Request, d *compute.BlockDevice, count counts) error {
	volume, err := a.Neighbours.Volume(r.Context(), r.Identity, d.VolumeID)
	switch {
	case faults.Is(err, faults.NotFound):
		return badDevice("failed to get volume %s.", d.VolumeID)
	case err != nil:
		return err
	case count.most > 1 && !volume.Multiattach:
		return faults.New(faults.Invalid, "VolumeForMany", "Cannot attach one or more volumes to multiple instances")
	case volume.Status != "available" && !(volume.Multiattach && volume.Status == "in-use"):
		return faults.New(faults.Invalid, "InvalidVolume",
			"Invalid volume: volume '%s' status must be 'available'. Currently in '%s'", d.VolumeID, volume.Status)
	case d.BootIndex != nil && *d.BootIndex == 0 && strings.EqualFold(volume.Bootable, "false"):
		return faults.New(faults.Invalid, "InvalidBDMVolumeNotBootable", "Block Device %s is not bootable.", d.VolumeID)
	}
	return nil
}

// bootsFromVolume says whether the root disk is Cinder's.
func bootsFromVolume(devices []compute.BlockDevice) bool {
	return slices.ContainsFunc(devices, func(d compute.BlockDevice) bool {
		return d.IsVolume() && d.BootIndex != nil && *d.BootIndex == 0
	})
}
