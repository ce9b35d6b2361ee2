package baremetal

// Chassis: groups of nodes.

import (
	"encoding/json"
	"time"

	"holdfast.dev/internal/faults"
)

// Chassis is a row of baremetal.chassis; fields as in Node.
type Chassis struct {
	UUID        string          `json:"uuid" write:"once"`
	Description *string         `json:"description"`
	Extra       json.RawMessage `json:"extra"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   *time.Time      `json:"updated_at"`
}

// AllChassis are the chassis.
var AllChassis = newTable("baremetal.chassis", "ChassisNotFound", "Chassis %s could not be found.", map[string]func(*Chassis) error{
	"chassis_uuid_key": func(c *Chassis) error {
		return faults.New(faults.Conflict, "ChassisAlreadyExists", "A chassis with UUID %s already exists.", c.UUID)
	},
	"nodes_chassis_fkey": func(c *Chassis) error {
		return faults.New(faults.Invalid, "ChassisNotEmpty", "Cannot complete the requested action because chassis %s contains nodes.", c.UUID)
	},
})
