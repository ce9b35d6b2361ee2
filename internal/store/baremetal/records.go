package baremetal

// Records of nodes: their history, what inspections found, BIOS settings and
// firmware. Clients only read them.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// NodeEvent is a row of baremetal.node_history; fields as in Node.
type NodeEvent struct {
	UUID                 string    `json:"uuid"`
	Severity             string    `json:"severity"`
	EventType            *string   `json:"event_type"`
	Event                string    `json:"event"`
	Conductor            *string   `json:"conductor"`
	User                 *string   `json:"user" column:"\"user\""`
	Project              *string   `json:"project"`
	State                *string   `json:"state"`
	TargetProvisionState *string   `json:"target_provision_state"`
	DurationSeconds      *int64    `json:"duration_seconds"`
	CreatedAt            time.Time `json:"created_at"`
}

// NodeEvents is the history of all nodes.
var NodeEvents = newTable[NodeEvent]("baremetal.node_history", "NodeHistoryNotFound", "Node history record %s could not be found.", nil)

// longestHistory is how many events of a node are kept (node_history_max_entries).
const longestHistory = 300

// eventTypes are the words by which the history names what went wrong in an
// operation of a kind; others are unknown, as in the original.
var eventTypes = map[operations.Kind]string{
	operations.NodeManage:   "verify",
	operations.NodeProvide:  "cleaning",
	operations.NodeClean:    "cleaning",
	operations.NodeDeploy:   "deploying",
	operations.NodeRebuild:  "deploying",
	operations.NodeUndeploy: "unprovision",
	operations.NodeInspect:  "introspection",
	operations.NodeAdopt:    "adoption",
	operations.NodeRescue:   "rescue",
	operations.NodeUnrescue: "rescue",
	operations.NodeService:  "servicing",
}

// remember writes an error in a node's history, as of the operation that has the
// node; the cleaning that follows the end of an instance is one of its own. The oldest
// events give way.
func remember(ctx context.Context, tx store.Tx, nodeUUID, event string) error {
	return rememberAs(ctx, tx, nodeUUID, event, "")
}

// rememberAs is remember of an event of a type of its own; empty is that of the operation.
func rememberAs(ctx context.Context, tx store.Tx, nodeUUID, event, kind string) error {
	_, err := tx.Exec(ctx, `WITH oldest AS (
			DELETE FROM baremetal.node_history WHERE node_uuid = $1 AND id <= (
				SELECT id FROM baremetal.node_history WHERE node_uuid = $1 ORDER BY id DESC OFFSET $3 LIMIT 1))
		INSERT INTO baremetal.node_history (node_uuid, severity, event, event_type, conductor, "user", project, state, target_provision_state, duration_seconds)
		SELECT n.uuid, 'ERROR', $2, CASE WHEN $5::text <> '' THEN $5::text WHEN n.provision_state IN ('cleaning', 'clean wait') THEN 'cleaning' ELSE COALESCE($4::jsonb ->> o.kind, 'UNKNOWN') END, n.reservation, NULLIF(o.user_id, ''), NULLIF(o.project_id, ''), n.provision_state, n.target_provision_state,
			EXTRACT(epoch FROM now() - n.provision_updated_at)::bigint
		FROM baremetal.nodes n LEFT JOIN engine.operations o ON o.id = n.operation_id WHERE n.uuid = $1`, nodeUUID, event, longestHistory-1, eventTypes, kind)
	if err != nil {
		return fmt.Errorf("history of node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}

// BIOSSetting is a row of baremetal.bios_settings; fields as in Node.
type BIOSSetting struct {
	Name            string     `json:"name"`
	Value           *string    `json:"value"`
	AttributeType   *string    `json:"attribute_type"`
	AllowableValues []string   `json:"allowable_values"`
	LowerBound      *int64     `json:"lower_bound"`
	MaxLength       *int64     `json:"max_length"`
	MinLength       *int64     `json:"min_length"`
	ReadOnly        *bool      `json:"read_only"`
	ResetRequired   *bool      `json:"reset_required"`
	Unique          *bool      `json:"unique" column:"\"unique\""`
	UpperBound      *int64     `json:"upper_bound"`
	CreatedAt       time.Time  `json:"created_at"`
	UpdatedAt       *time.Time `json:"updated_at"`
}

var biosSettings = newTable[BIOSSetting]("baremetal.bios_settings", "", "", nil)

// FirmwareComponent is a row of baremetal.firmware_components; fields as in Node.
type FirmwareComponent struct {
	Component          string     `json:"component"`
	InitialVersion     string     `json:"initial_version"`
	CurrentVersion     *string    `json:"current_version"`
	LastVersionFlashed *string    `json:"last_version_flashed"`
	Vendor             *string    `json:"vendor"`
	Model              *string    `json:"model"`
	SerialNumber       *string    `json:"serial_number"`
	CreatedAt          time.Time  `json:"created_at"`
	UpdatedAt          *time.Time `json:"updated_at"`
}

var firmwareComponents = newTable[FirmwareComponent]("baremetal.firmware_components", "", "", nil)

// BIOSSettings gives a node's settings by name.
func BIOSSettings(ctx context.Context, q store.Queryer, nodeUUID string) ([]*BIOSSetting, error) {
	return biosSettings.all(ctx, q, "t.node_uuid = $1 ORDER BY t.name", nodeUUID)
}

// FirmwareComponents gives a node's components by name.
func FirmwareComponents(ctx context.Context, q store.Queryer, nodeUUID string) ([]*FirmwareComponent, error) {
	return firmwareComponents.all(ctx, q, "t.node_uuid = $1 ORDER BY t.component", nodeUUID)
}

// all gives the rows for which a condition holds.
func (t *Table[T]) all(ctx context.Context, q store.Queryer, where string, args ...any) ([]*T, error) {
	rows, err := q.Query(ctx, `SELECT `+t.selected()+` FROM `+t.name+` t WHERE `+where, args...)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, t.targets)
}

// NodesByPorts gives the ids of the nodes that have one of the hardware addresses.
func NodesByPorts(ctx context.Context, q store.Queryer, macs []string) ([]string, error) {
	return nodeIDs(ctx, q, `SELECT DISTINCT node_uuid FROM baremetal.ports WHERE address = ANY ($1) LIMIT 2`, orNone(macs))
}

// NodesToBeFound gives the ids of the nodes that are waited for with one of the hardware
// addresses, by ports or by what their BMCs have told.
func NodesToBeFound(ctx context.Context, q store.Queryer, macs []string) ([]string, error) {
	return nodeIDs(ctx, q, `SELECT node_uuid FROM baremetal.ports WHERE address = ANY ($1)
		UNION SELECT node_uuid FROM baremetal.findings WHERE addresses && $1 LIMIT 2`, orNone(macs))
}

// NodesByBMC gives the ids of the nodes whose ramdisk is waited for and whose BMC has one
// of the addresses.
func NodesByBMC(ctx context.Context, q store.Queryer, addresses []string) ([]string, error) {
	return nodeIDs(ctx, q, `SELECT uuid FROM baremetal.nodes WHERE provision_state = 'inspect wait' AND driver_internal_info -> 'lookup_bmc_addresses' ?| $1
		ORDER BY uuid LIMIT 1000`, orNone(addresses))
}

func nodeIDs(ctx context.Context, q store.Queryer, query string, addresses []string) ([]string, error) {
	rows, err := q.Query(ctx, query, addresses)
	if err != nil {
		return nil, store.Translate(err)
	}
	found, err := collect(rows, func(n *Node) []any { return []any{&n.UUID} })
	ids := make([]string, len(found))
	for i, n := range found {
		ids[i] = n.UUID
	}
	return ids, err
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Inventory is what an inspection found on a node.
type Inventory struct {
	Inventory  json.RawMessage `json:"inventory"`
	PluginData json.RawMessage `json:"plugin_data"`
}

// KeepInventory writes what was found on a node, in the place of what was before.
func KeepInventory(ctx context.Context, tx store.Tx, n *Node, inventory, pluginData any) error {
	texts := [2][]byte{}
	for i, value := range []any{inventory, pluginData} {
		var err error
		if texts[i], err = json.Marshal(value); err != nil {
			return fmt.Errorf("inventory of node %s: %w", n.UUID, err)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO baremetal.node_inventories (node_uuid, inventory, plugin_data) VALUES ($1, $2, $3)
		ON CONFLICT (node_uuid) DO UPDATE SET inventory = $2, plugin_data = $3, found_at = now()`, n.UUID, texts[0], texts[1])
	return store.Translate(err)
}

// FindInventory gives what was found on a node last. Errors: NotFound.
func FindInventory(ctx context.Context, q store.Queryer, n *Node) (*Inventory, error) {
	i := &Inventory{}
	err := q.QueryRow(ctx, `SELECT inventory, plugin_data FROM baremetal.node_inventories WHERE node_uuid = $1`, n.UUID).Scan(&i.Inventory, &i.PluginData)
	if err = store.Translate(err); faults.Is(err, faults.NotFound) {
		err = faults.New(faults.NotFound, "NodeInventoryNotFound", "Node inventory record for node %s could not be found.", n.UUID)
	}
	return i, err
}
