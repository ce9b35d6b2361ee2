package raid

// What a node's logical disks are to be, as its row or a step says.

import (
	"encoding/json"
	"math"
	"strings"

	"holdfast.dev/internal/faults"
)

// Disk is a logical disk as it is wanted; what isn't said any will do.
type Disk struct {
	Level string
	// Bytes is its size; 0 is whatever is left.
	Bytes int64
	Name  string
	// Root says that the instance starts from it.
	Root bool
	// Shares says that other logical disks may have parts of its drives.
	Shares bool
	// Media and Protocol are those of its drives, Count how many there are.
	Media, Protocol string
	Count           int
	// Controller makes it, if there is one that is called so, and Drives are what it is
	// made of, by their ids there.
	Controller string
	Drives     []string
}

// maxDisks bounds the logical disks of a machine.
const maxDisks = 256

// Read reads a target. Errors: Invalid.
func Read(target json.RawMessage) ([]Disk, error) {
	var said struct {
		Disks []struct {
			Level      string   `json:"raid_level"`
			Size       any      `json:"size_gb"`
			Name       string   `json:"volume_name"`
			Root       bool     `json:"is_root_volume"`
			Shares     bool     `json:"share_physical_disks"`
			Media      string   `json:"disk_type"`
			Protocol   string   `json:"interface_type"`
			Count      int      `json:"number_of_physical_disks"`
			Controller string   `json:"controller"`
			Drives     []string `json:"physical_disks"`
		} `json:"logical_disks"`
	}
	if err := json.Unmarshal(target, &said); err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "InvalidParameterValue", "RAID config validation error: it isn't made of logical disks")
	}
	if len(said.Disks) == 0 || len(said.Disks) > maxDisks {
		return nil, invalid("RAID config validation error: there are %d logical disks, at least one and at most %d are expected", len(said.Disks), maxDisks)
	}
	disks := make([]Disk, len(said.Disks))
	for i, d := range said.Disks {
		disks[i] = Disk{d.Level, 0, d.Name, d.Root, d.Shares, d.Media, d.Protocol, d.Count, d.Controller, d.Drives}
		size, number := d.Size.(float64)
		switch {
		case levels[d.Level].redfish == "":
			return nil, failed("RAID level %s is not supported by the driver. Supported RAID levels: %s", d.Level, strings.Join(names, ", "))
		case d.Size == "MAX" && len(d.Drives) == 0:
			return nil, invalid("create_configuration called with invalid target_raid_configuration: 'physical_disks' is missing from logical_disk while 'size_gb'='MAX' was requested")
		case d.Protocol == "scsi":
			return nil, invalid("interface type `scsi` not supported by Redfish RAID")
		case number && (size < 1 || size > 1<<30 || size != math.Trunc(size)), !number && d.Size != "MAX":
			return nil, invalid("RAID config validation error: size_gb %v is no size", d.Size)
		case number:
			disks[i].Bytes = int64(size) << 30
		}
	}
	return disks, nil
}

func invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, "InvalidParameterValue", format, args...)
}

// failed is the fault of a driver.
func failed(format string, args ...any) error {
	return faults.New(faults.Invalid, "RedfishError", "Redfish exception occurred. Error: "+format, args...)
}
