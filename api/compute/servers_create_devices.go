package compute

// What a create request says of disks, read entry by entry:
// block_device_mapping_v2, and the older block_device_mapping as what it means
// today. servers_create_disks.go holds the entries against each other,
// servers_create_sources.go against Cinder and Glance.

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

// blockDevice is an entry of either mapping.
type blockDevice struct {
	SourceType      string          `json:"source_type"`
	DestinationType string          `json:"destination_type"`
	UUID            string          `json:"uuid"`
	VirtualName     string          `json:"virtual_name"`
	VolumeID        string          `json:"volume_id"`
	SnapshotID      string          `json:"snapshot_id"`
	ImageID         string          `json:"image_id"`
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

// rootDevice is what the root disk is called where the image says nothing.
const rootDevice = "vda"

// policyAttachVolume is for whoever gives a mapping, of volumes or not.
const policyAttachVolume = "os_compute_api:servers:create:attach_volume"

// readDevices are the server's disks in the order of the request; a server of
// an image alone has none of its own.
func readDevices(r *rest.Request, asked *createRequest) ([]compute.BlockDevice, error) {
	mapping, err := asked.Devices, error(nil)
	if len(asked.OldDevices) > 0 {
		mapping, err = today(asked.OldDevices, asked.ImageRef)
	}
	if err != nil || len(mapping) == 0 {
		return nil, err
	}
	var devices []compute.BlockDevice
	for _, m := range mapping {
		if isTrue(m.NoDevice) {
			continue
		}
		d, err := m.device(asked.ImageRef != "")
		if err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	return devices, r.Enforce(policyAttachVolume, nil)
}

// isTrue says whether Python takes a value for true.
func isTrue(value json.RawMessage) bool {
	return !slices.Contains([]string{"", "null", "false", "0", `""`, "[]", "{}"}, string(value))
}

// virtualDisk names disks without a source in the older mapping.
var virtualDisk = regexp.MustCompile(`^(swap|ephemeral(\d|[1-9]\d+))$`)

// today is an older mapping in the newer form. The entry that is called like the
// root disk boots, otherwise the image.
func today(old []blockDevice, image reference) ([]blockDevice, error) {
	now, boots := make([]blockDevice, 0, len(old)+1), false
	for _, d := range old {
		d.BootIndex = nil
		switch {
		case virtualDisk.MatchString(d.VirtualName):
			d.SourceType, d.DestinationType, d.Ends = "blank", "local", true
			if d.VirtualName == swapFormat {
				d.GuestFormat = swapFormat
			}
		case d.SnapshotID != "":
			d.SourceType, d.DestinationType, d.UUID = "snapshot", "volume", d.SnapshotID
		case d.VolumeID != "":
			d.SourceType, d.DestinationType, d.UUID = "volume", "volume", d.VolumeID
		case !isTrue(d.NoDevice):
			return nil, badDevice("Unrecognized legacy format.")
		}
		if d.DestinationType == "volume" && servers.BareName(d.DeviceName) == rootDevice {
			d.BootIndex, boots = json.RawMessage("0"), true
		}
		now = append(now, d)
	}
	if image != "" && !boots {
		root := blockDevice{SourceType: "image", DestinationType: "local", UUID: string(image), BootIndex: json.RawMessage("0"), Ends: true}
		now = slices.Insert(now, 0, root)
	}
	return now, nil
}

func badDevice(format string, args ...any) error {
	return faults.New(faults.Invalid, "InvalidBDMFormat", "Block Device Mapping is Invalid: "+format, args...)
}

// What devices are made of, and where they lie; empty is what suits the source.
var (
	sourceTypes      = []string{"blank", "image", "snapshot", "volume"}
	destinationTypes = []string{"", "local", "volume"}
)

// device reads one entry by itself: a request's has met the schema, an image's may
// say anything.
func (m blockDevice) device(withImage bool) (d compute.BlockDevice, err error) {
	d = compute.BlockDevice{
		SourceType: m.SourceType, DestinationType: m.DestinationType, DeviceName: m.DeviceName, DeviceType: m.DeviceType,
		DiskBus: m.DiskBus, GuestFormat: m.GuestFormat, Tag: m.Tag, DeleteOnTermination: bool(m.Ends),
	}
	if m.VolumeSize != nil {
		if *m.VolumeSize < 0 || *m.VolumeSize > math.MaxInt32 {
			return d, badDevice("Invalid volume_size.")
		}
		d.VolumeSizeGB = int(*m.VolumeSize)
	}
	if m.VolumeType != nil {
		d.VolumeType = *m.VolumeType
	}
	if d.BootIndex, err = m.bootIndex(); err != nil {
		return d, err
	}
	switch {
	case d.SourceType == "blank" && m.UUID != "":
		return d, badDevice("Invalid device UUID.")
	case d.SourceType != "blank" && m.UUID == "":
		return d, badDevice("Missing device UUID.")
	case !slices.Contains(sourceTypes, d.SourceType):
		return d, badDevice("Invalid source_type field.")
	case !slices.Contains(destinationTypes, d.DestinationType):
		return d, badDevice("Invalid destination_type field.")
	}
	if d.DestinationType == "" {
		d.DestinationType = "local"
		if d.SourceType == "volume" || d.SourceType == "snapshot" {
			d.DestinationType = "volume"
		}
	}
	d.SourceID = m.UUID
	if d.SourceType == "volume" {
		d.SourceID, d.VolumeID = "", m.UUID
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
	case d.VolumeType != "" && d.DestinationType != "volume":
		return badDevice("Specifying a volume_type with destination_type=local is not supported.")
	case d.VolumeType != "" && d.SourceType == "volume":
		return badDevice("Specifying volume type to existing volume is not supported.")
	}
	return nil
}
