package baremetal

// What a node's disks are to be made of: PUT /nodes/{node}/states/raid, and what can be
// said of a logical disk.

import (
	"encoding/json"
	"net/http"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// logicalDisk is what can be said of one.
var logicalDisk = map[string]string{
	"raid_level":               "Level of the RAID: JBOD, 0, 1, 2, 5, 6, 1+0, 5+0 or 6+0. Required.",
	"size_gb":                  "Size in GiB, or MAX for whatever is left. Required.",
	"volume_name":              "Name of the volume; one is made up if there is none. Optional.",
	"is_root_volume":           "Whether the instance starts from it; at most one says so. Optional.",
	"share_physical_disks":     "Whether other logical disks may have parts of its physical disks. Optional.",
	"disk_type":                "Kind of its physical disks, hdd or ssd; any if it isn't said. Optional.",
	"interface_type":           "How its physical disks are attached, by sata, scsi or sas; any if it isn't said. Optional.",
	"number_of_physical_disks": "How many physical disks it is made of; as few as its level needs if it isn't said. Optional.",
	"controller":               "The controller that makes it; the driver chooses one if it isn't said. Optional.",
	"physical_disks":           "The physical disks that it is made of; the driver chooses them if they aren't said. Optional.",
}

// listDiskProperties answers GET /drivers/{driver}/raid/logical_disk_properties.
func (a *API) listDiskProperties(r *rest.Request) (*rest.Response, error) {
	if _, err := a.Hardware.Type(r.Param("driver")); err != nil {
		return nil, err
	}
	return rest.JSON(logicalDisk), nil
}

// setRAID answers PUT /nodes/{node}/states/raid: the row says what the disks are to be
// made of, for the steps that make them. An empty object forgets it.
func (a *API) setRAID(r *rest.Request) (*rest.Response, error) {
	wanted, ok := r.Body().(*pyjson.Object)
	if !ok {
		return nil, invalid("Expected types %s for %s: %s", "<class 'dict'>", "target_raid_config", pyjson.Repr(r.Body()))
	}
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, "baremetal:node:set_raid_state")
		if err == nil {
			err = unheld(n)
		}
		if err == nil && len(wanted.Keys()) > 0 {
			err = mayRAID(n, wanted)
		}
		if err != nil {
			return err
		}
		if n.TargetRAIDConfig, err = json.Marshal(wanted); err != nil {
			return err
		}
		return baremetal.Nodes.Update(r.Context(), tx, n)
	})
}

// mayRAID says whether a node's disks can be made of that.
func mayRAID(n *baremetal.Node, wanted *pyjson.Object) error {
	if name := nodes.Interfaces(n)["raid"]; name == "" || name == "no-raid" {
		return refusal(http.StatusNotFound, faults.As(hardware.Unsupported(n.Driver, "raid")).Message)
	}
	all, err := bodies()
	if err != nil {
		return err
	}
	if f := all["target_raid_config"].schema.Validate(wanted); f != nil {
		return invalid("RAID config validation error: %s", f.Message)
	}
	list, _ := wanted.Get("logical_disks")
	disks, _ := list.([]any)
	roots := 0
	for _, d := range disks {
		disk, _ := d.(*pyjson.Object)
		if has(disk, "physical_disks") && !has(disk, "controller") {
			return invalid("RAID config validation error: 'controller' is a dependency of 'physical_disks'")
		}
		if by, _ := disk.Get("interface_type"); by == "scsi" && nodes.Interfaces(n)["raid"] == "redfish" {
			return faults.New(faults.Invalid, "InvalidParameterValue", "interface type `scsi` not supported by Redfish RAID")
		}
		if root, _ := disk.Get("is_root_volume"); root == true {
			roots++
		}
	}
	if roots > 1 {
		return faults.New(faults.Invalid, "InvalidParameterValue", "Raid config cannot have more than one root volume. %d root volumes were specified", roots)
	}
	return nil
}
