package baremetal

// Volumes of nodes: what nodes are known by to who serves volumes, and the volumes that
// they have there.

import (
	"encoding/json"
	"time"

	"holdfast.dev/internal/faults"
)

// VolumeConnector is a row of baremetal.volume_connectors; fields as in Node.
type VolumeConnector struct {
	UUID        string          `json:"uuid" write:"once"`
	NodeUUID    string          `json:"node_uuid"`
	Type        string          `json:"type"`
	ConnectorID string          `json:"connector_id"`
	Extra       json.RawMessage `json:"extra"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   *time.Time      `json:"updated_at"`
}

// VolumeConnectors are the connectors.
var VolumeConnectors = newTable("baremetal.volume_connectors", "VolumeConnectorNotFound", "Volume connector %s could not be found.", map[string]func(*VolumeConnector) error{
	"volume_connectors_uuid_key": func(c *VolumeConnector) error {
		return faults.New(faults.Conflict, "VolumeConnectorAlreadyExists", "A volume connector with UUID %s already exists.", c.UUID)
	},
	"volume_connectors_id_key": func(c *VolumeConnector) error {
		return faults.New(faults.Conflict, "VolumeConnectorTypeAndIdAlreadyExists", "A volume connector with type %s and connector ID %s already exists.", c.Type, c.ConnectorID)
	},
})

// VolumeTarget is a row of baremetal.volume_targets; fields as in Node.
type VolumeTarget struct {
	UUID       string          `json:"uuid" write:"once"`
	NodeUUID   string          `json:"node_uuid"`
	VolumeType string          `json:"volume_type"`
	BootIndex  int32           `json:"boot_index"`
	VolumeID   string          `json:"volume_id"`
	Properties json.RawMessage `json:"properties"`
	// Secrets are those of Properties, sealed; nil for none.
	Secrets   []byte          `json:"-" column:"secrets"`
	Extra     json.RawMessage `json:"extra"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt *time.Time      `json:"updated_at"`
}

// VolumeTargets are the targets.
var VolumeTargets = newTable("baremetal.volume_targets", "VolumeTargetNotFound", "Volume target %s could not be found.", map[string]func(*VolumeTarget) error{
	"volume_targets_uuid_key": func(t *VolumeTarget) error {
		return faults.New(faults.Conflict, "VolumeTargetAlreadyExists", "A volume target with UUID %s already exists.", t.UUID)
	},
	"volume_targets_boot_key": func(t *VolumeTarget) error {
		return faults.New(faults.Conflict, "VolumeTargetBootIndexAlreadyExists", "A volume target with boot index '%d' for the same node already exists.", t.BootIndex)
	},
})
