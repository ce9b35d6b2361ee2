package baremetal_test

import (
	"fmt"
	"testing"
)

// What a node's disks are to be made of is checked and kept.
func TestTargetRAID(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	fake, none, held := c.enroll("root", `{"driver": "fake-hardware"}`), c.enroll("root", `{"driver": "ipmi"}`), c.enroll("root", `{"driver": "fake-hardware"}`)
	redfish := c.enroll("root", `{"driver": "redfish", "raid_interface": "redfish"}`)
	c.set(held, "reservation", "conductor-1")
	for _, o := range []struct {
		node, version, body string
		status              int
		says                string
	}{
		{fake, "1.11", `{}`, 406, ""},
		{fake, "1.12", `[]`, 400, "Expected types <class 'dict'> for target_raid_config: []"},
		{fake, "1.115", `{"disks": 1}`, 400, ""},
		{fake, "1.115", `{"logical_disks": [{"raid_level": "7", "size_gb": 1}]}`, 400, "RAID config validation error: '7' is not one of ['JBOD', '0', '1', '2', '5', '6', '1+0', '5+0', '6+0']"},
		{fake, "1.115", `{"logical_disks": [{"raid_level": "1", "size_gb": 1, "number_of_physical_disks": 0}]}`, 400, "RAID config validation error: 0 is less than or equal to the minimum of 0"},
		{fake, "1.115", `{"logical_disks": [{"raid_level": "1", "size_gb": 1, "is_root_volume": true}, {"raid_level": "1", "size_gb": "MAX", "is_root_volume": true}]}`, 400,
			"Raid config cannot have more than one root volume. 2 root volumes were specified"},
		{fake, "1.115", `{"logical_disks": [{"raid_level": "1", "size_gb": 1, "physical_disks": ["a", "b"]}]}`, 400, "RAID config validation error: 'controller' is a dependency of 'physical_disks'"},
		{none, "1.115", `{"logical_disks": [{"raid_level": "1", "size_gb": 1}]}`, 404, "Driver ipmi does not support raid (disabled or not implemented)."},
		{none, "1.115", `{}`, 204, ""},
		{redfish, "1.115", `{"logical_disks": [{"raid_level": "1", "size_gb": 1, "interface_type": "scsi"}]}`, 400, "interface type `scsi` not supported by Redfish RAID"},
		{redfish, "1.115", `{"logical_disks": [{"raid_level": "1", "size_gb": 1, "interface_type": "sas"}]}`, 204, ""},
		{held, "1.115", `{}`, 409, "Node " + held + " is locked by host conductor-1, please retry after the current operation is completed."},
		{fake, "1.12", `{"logical_disks": [{"raid_level": "1", "size_gb": "MAX"}]}`, 204, ""},
	} {
		got := c.ask("root", o.version, "PUT", "/v1/nodes/"+o.node+"/states/raid", o.body)
		if got.status != o.status || o.says != "" && got.fault != o.says {
			t.Errorf("%s at %s: %d %q", o.body, o.version, got.status, got.fault)
		}
	}
	if shown := c.ask("root", "1.115", "GET", "/v1/nodes/"+fake+"/states", "").body["target_raid_config"]; fmt.Sprint(shown) != "map[logical_disks:[map[raid_level:1 size_gb:MAX]]]" {
		t.Errorf("%v", shown)
	}
	if got := c.ask("root", "1.115", "GET", "/v1/drivers/redfish/raid/logical_disk_properties", ""); got.status != 200 || len(got.body) != 10 {
		t.Errorf("%d %v", got.status, got.body)
	}
	for version, status := range map[string]int{"1.11": 406, "1.12": 200} {
		if got := c.ask("root", version, "GET", "/v1/drivers/redfish/raid/logical_disk_properties", ""); got.status != status {
			t.Errorf("%s: %d", version, got.status)
		}
	}
}
