package baremetal

// Nodes: the machines.

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store"
)

// Node is a row of baremetal.nodes; a field has the name that clients know it
// by. A text that is nil is null to them. Objects are JSON as it is kept: what is
// secret in DriverInfo, InstanceInfo and DriverInternalInfo is masked, and sealed
// in Secrets.
type Node struct {
	UUID           string  `json:"uuid" write:"once"`
	Name           *string `json:"name"`
	InstanceUUID   *string `json:"instance_uuid"`
	InstanceName   *string `json:"instance_name"`
	ChassisUUID    *string `json:"chassis_uuid"`
	ParentNode     *string `json:"parent_node"`
	Owner          *string `json:"owner"`
	Lessee         *string `json:"lessee"`
	Description    *string `json:"description"`
	ResourceClass  *string `json:"resource_class"`
	Shard          *string `json:"shard"`
	ConductorGroup string  `json:"conductor_group"`
	AllocationUUID *string `json:"allocation_uuid" write:"once"`
	// Conductor is who works on the node's requests: of those alive of its group that
	// know its driver always the same one; nil if there is none.
	Conductor *string `json:"conductor" sql:"(SELECT c.hostname FROM baremetal.conductors c WHERE c.conductor_group = t.conductor_group AND t.driver = ANY (c.drivers) AND c.updated_at > now() - c.down_after ORDER BY md5(c.hostname || t.uuid::text) LIMIT 1)"`

	Driver              string  `json:"driver"`
	BIOSInterface       *string `json:"bios_interface"`
	BootInterface       *string `json:"boot_interface"`
	ConsoleInterface    *string `json:"console_interface"`
	DeployInterface     *string `json:"deploy_interface"`
	FirmwareInterface   *string `json:"firmware_interface"`
	InspectInterface    *string `json:"inspect_interface"`
	ManagementInterface *string `json:"management_interface"`
	NetworkInterface    *string `json:"network_interface"`
	PowerInterface      *string `json:"power_interface"`
	RAIDInterface       *string `json:"raid_interface"`
	RescueInterface     *string `json:"rescue_interface"`
	StorageInterface    *string `json:"storage_interface"`
	VendorInterface     *string `json:"vendor_interface"`

	DriverInfo         json.RawMessage `json:"driver_info"`
	InstanceInfo       json.RawMessage `json:"instance_info"`
	Secrets            []byte          `json:"-" column:"secrets"`
	DriverInternalInfo json.RawMessage `json:"driver_internal_info"`
	Properties         json.RawMessage `json:"properties"`
	Extra              json.RawMessage `json:"extra"`
	NetworkData        json.RawMessage `json:"network_data"`
	RAIDConfig         json.RawMessage `json:"raid_config"`
	TargetRAIDConfig   json.RawMessage `json:"target_raid_config"`

	ProvisionState       provision.State `json:"provision_state" write:"once"`
	TargetProvisionState *string         `json:"target_provision_state" write:"once"`
	ProvisionUpdatedAt   *time.Time      `json:"provision_updated_at" write:"once"`
	PowerState           *string         `json:"power_state" write:"once"`
	TargetPowerState     *string         `json:"target_power_state" write:"once"`
	CleanStep            json.RawMessage `json:"clean_step" write:"once"`
	DeployStep           json.RawMessage `json:"deploy_step" write:"once"`
	ServiceStep          json.RawMessage `json:"service_step" write:"once"`
	LastError            *string         `json:"last_error" write:"once"`
	Fault                *string         `json:"fault"`
	Health               *string         `json:"health" write:"once"`
	BootMode             *string         `json:"boot_mode"`
	SecureBoot           *bool           `json:"secure_boot"`
	InspectionStartedAt  *time.Time      `json:"inspection_started_at" write:"once"`
	InspectionFinishedAt *time.Time      `json:"inspection_finished_at" write:"once"`

	AutomatedClean    *bool   `json:"automated_clean"`
	ConsoleEnabled    bool    `json:"console_enabled"`
	DisablePowerOff   bool    `json:"disable_power_off"`
	Maintenance       bool    `json:"maintenance"`
	MaintenanceReason *string `json:"maintenance_reason"`
	Protected         bool    `json:"protected"`
	ProtectedReason   *string `json:"protected_reason"`
	Retired           bool    `json:"retired"`
	RetiredReason     *string `json:"retired_reason"`

	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt *time.Time `json:"updated_at"`

	// ConductorAffinity is who has worked on the node last, OperationID what has it
	// now, be anybody at work on it or not, and NextOperationID what waits for that to
	// end.
	ConductorAffinity *string `json:"-" column:"conductor_affinity" write:"once"`
	OperationID       *string `json:"-" column:"operation_id" write:"once"`
	NextOperationID   *string `json:"-" column:"next_operation_id" write:"once"`
	// Reservation is who works on the node; nil if nobody does.
	Reservation *string  `json:"reservation" write:"once"`
	Traits      []string `json:"traits" sql:"ARRAY(SELECT trait FROM baremetal.node_traits WHERE node_uuid = t.uuid ORDER BY trait)"`
}

// Position is where the node is in its life.
func (n *Node) Position() provision.Position {
	p := provision.Position{State: n.ProvisionState}
	if n.TargetProvisionState != nil {
		p.Target = provision.State(*n.TargetProvisionState)
	}
	return p
}

// Nodes are the nodes.
var Nodes = newTable("baremetal.nodes", "NodeNotFound", "Node %s could not be found.", map[string]func(*Node) error{
	"nodes_uuid_key": func(n *Node) error {
		return faults.New(faults.Conflict, "NodeAlreadyExists", "A node with UUID %s already exists.", n.UUID)
	},
	"nodes_name_key": func(n *Node) error {
		return faults.New(faults.Conflict, "DuplicateName", "A node with name %s already exists.", text(n.Name))
	},
	"nodes_instance_uuid_key": func(n *Node) error {
		return faults.New(faults.Conflict, "InstanceAssociated",
			"Instance %s is already associated with a node, it cannot be associated with this other node %s", text(n.InstanceUUID), n.UUID)
	},
	"nodes_chassis_fkey": func(n *Node) error {
		return faults.New(faults.Invalid, "ChassisNotFound", "Chassis %s could not be found.", text(n.ChassisUUID))
	},
	"nodes_parent_fkey": func(n *Node) error {
		return faults.New(faults.Invalid, "NodeNotFound", "Node %s could not be found.", text(n.ParentNode))
	},
})

func text(s *string) string {
	if s == nil {
		return "None"
	}
	return *s
}

// HasChildren says whether other nodes are part of a node.
func HasChildren(ctx context.Context, q store.Queryer, nodeUUID string) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM baremetal.nodes WHERE parent_node = $1)`, nodeUUID).Scan(&has)
	return has, store.Translate(err)
}

// SetTraits replaces a node's traits.
func SetTraits(ctx context.Context, tx store.Tx, nodeUUID string, traits []string) error {
	if err := RemoveTraits(ctx, tx, nodeUUID); err != nil {
		return err
	}
	return AddTraits(ctx, tx, nodeUUID, traits...)
}

// AddTraits adds traits that the node may have already.
func AddTraits(ctx context.Context, tx store.Tx, nodeUUID string, traits ...string) error {
	_, err := tx.Exec(ctx, `INSERT INTO baremetal.node_traits (node_uuid, trait) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`, nodeUUID, traits)
	return store.Translate(err)
}

// RemoveTraits takes all of a node's traits away.
func RemoveTraits(ctx context.Context, tx store.Tx, nodeUUID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.node_traits WHERE node_uuid = $1`, nodeUUID)
	return store.Translate(err)
}

// RemoveTrait takes one away; faults.NotFound if the node doesn't have it.
func RemoveTrait(ctx context.Context, tx store.Tx, nodeUUID, trait string) error {
	tag, err := tx.Exec(ctx, `DELETE FROM baremetal.node_traits WHERE node_uuid = $1 AND trait = $2`, nodeUUID, trait)
	if err == nil && tag.RowsAffected() == 0 {
		return faults.New(faults.NotFound, "NodeTraitNotFound", "Node %s doesn't have a trait '%s'", nodeUUID, trait)
	}
	return store.Translate(err)
}

// NodeIDs gives the ids of nodes that are named by ids or names, in that order;
// of a project, empty for any. Errors: NotFound.
func NodeIDs(ctx context.Context, q store.Queryer, idents []string, project string) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT uuid, name FROM baremetal.nodes WHERE (uuid::text = ANY ($1) OR name = ANY ($1)) AND ($2 = '' OR owner = $2 OR lessee = $2)`, idents, project)
	if err != nil {
		return nil, store.Translate(err)
	}
	found, err := collect(rows, func(n *Node) []any { return []any{&n.UUID, &n.Name} })
	if err != nil {
		return nil, err
	}
	by := map[string]string{}
	for _, n := range found {
		if by[n.UUID] = n.UUID; n.Name != nil {
			by[*n.Name] = n.UUID
		}
	}
	ids, missing := []string{}, []string{}
	for _, ident := range idents {
		if id, ok := by[ident]; ok {
			ids = append(ids, id)
		} else {
			missing = append(missing, ident)
		}
	}
	if len(missing) > 0 {
		return nil, faults.New(faults.NotFound, "NodeNotFound", "Nodes cannot be found: %s", strings.Join(missing, ", "))
	}
	return ids, nil
}
