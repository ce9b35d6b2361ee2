package baremetal

// Ports and port groups: the nodes' network interfaces, and those that work as
// one.

import (
	"context"
	"encoding/json"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Port is a row of baremetal.ports; fields as in Node.
type Port struct {
	UUID                string          `json:"uuid" write:"once"`
	NodeUUID            string          `json:"node_uuid"`
	PortgroupUUID       *string         `json:"portgroup_uuid"`
	Address             string          `json:"address"`
	Name                *string         `json:"name"`
	Description         *string         `json:"description"`
	PhysicalNetwork     *string         `json:"physical_network"`
	Vendor              *string         `json:"vendor"`
	Category            *string         `json:"category"`
	LocalLinkConnection json.RawMessage `json:"local_link_connection"`
	Extra               json.RawMessage `json:"extra"`
	InternalInfo        json.RawMessage `json:"internal_info"`
	IsSmartNIC          bool            `json:"is_smartnic"`
	PXEEnabled          bool            `json:"pxe_enabled"`
	ForDynamicPortgroup bool            `json:"available_for_dynamic_portgroup"`
	CreatedAt           time.Time       `json:"created_at"`
	UpdatedAt           *time.Time      `json:"updated_at"`
}

// Ports are the ports.
var Ports = newTable("baremetal.ports", "PortNotFound", "Port %s could not be found.", map[string]func(*Port) error{
	"ports_uuid_key": func(p *Port) error {
		return faults.New(faults.Conflict, "PortAlreadyExists", "A port with UUID %s already exists.", p.UUID)
	},
	"ports_address_key": func(p *Port) error {
		return faults.New(faults.Conflict, "MACAlreadyExists", "A port with MAC address %s already exists.", p.Address)
	},
	"ports_name_key": func(p *Port) error {
		return faults.New(faults.Conflict, "PortDuplicateName", "A port with name %s already exists.", text(p.Name))
	},
	"ports_portgroup_fkey": func(p *Port) error {
		return faults.New(faults.Invalid, "PortgroupNotFound", "Portgroup %s could not be found.", text(p.PortgroupUUID))
	},
	"ports_node_fkey": func(p *Port) error {
		return faults.New(faults.Invalid, "NodeNotFound", "Node %s could not be found.", p.NodeUUID)
	},
})

// Portgroup is a row of baremetal.portgroups; fields as in Node.
type Portgroup struct {
	UUID            string          `json:"uuid" write:"once"`
	NodeUUID        string          `json:"node_uuid"`
	Address         *string         `json:"address"`
	Name            *string         `json:"name"`
	Mode            *string         `json:"mode"`
	PhysicalNetwork *string         `json:"physical_network"`
	Category        *string         `json:"category"`
	Properties      json.RawMessage `json:"properties"`
	Extra           json.RawMessage `json:"extra"`
	InternalInfo    json.RawMessage `json:"internal_info"`
	StandalonePorts bool            `json:"standalone_ports_supported"`
	Dynamic         bool            `json:"dynamic_portgroup"`
	CreatedAt       time.Time       `json:"created_at"`
	UpdatedAt       *time.Time      `json:"updated_at"`
}

// Portgroups are the port groups.
var Portgroups = newTable("baremetal.portgroups", "PortgroupNotFound", "Portgroup %s could not be found.", map[string]func(*Portgroup) error{
	"portgroups_uuid_key": func(g *Portgroup) error {
		return faults.New(faults.Conflict, "PortgroupAlreadyExists", "A portgroup with UUID %s already exists.", g.UUID)
	},
	"portgroups_address_key": func(g *Portgroup) error {
		return faults.New(faults.Conflict, "PortgroupMACAlreadyExists", "A portgroup with MAC address %s already exists.", text(g.Address))
	},
	"portgroups_name_key": func(g *Portgroup) error {
		return faults.New(faults.Conflict, "PortgroupDuplicateName", "A portgroup with name %s already exists.", text(g.Name))
	},
	"ports_portgroup_fkey": NotEmpty,
	"portgroups_node_fkey": func(g *Portgroup) error {
		return faults.New(faults.Invalid, "NodeNotFound", "Node %s could not be found.", g.NodeUUID)
	},
})

// NotEmpty is the refusal of what a port group's ports forbid.
func NotEmpty(g *Portgroup) error {
	return faults.New(faults.Invalid, "PortgroupNotEmpty", "Cannot complete the requested action because portgroup %s contains ports.", g.UUID)
}

// HasPorts says whether a node has any.
func HasPorts(ctx context.Context, q store.Queryer, nodeUUID string) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM baremetal.ports WHERE node_uuid = $1)`, nodeUUID).Scan(&has)
	return has, store.Translate(err)
}

// PortgroupHasPorts says whether ports are in a port group.
func PortgroupHasPorts(ctx context.Context, q store.Queryer, uuid string) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM baremetal.ports WHERE portgroup_uuid = $1)`, uuid).Scan(&has)
	return has, store.Translate(err)
}

// NetworkOfGroup is the physical network that a port has to be on to be in its port
// group: that of the others in it, or where there are none, the group's own. bound is
// false of a group that has neither. No port comes or goes until the transaction ends.
func NetworkOfGroup(ctx context.Context, tx store.Tx, p *Port) (network *string, bound bool, err error) {
	err = tx.QueryRow(ctx, `SELECT CASE WHEN o.uuid IS NULL THEN g.physical_network ELSE o.physical_network END, o.uuid IS NOT NULL OR g.physical_network IS NOT NULL
		FROM baremetal.portgroups g LEFT JOIN baremetal.ports o ON o.portgroup_uuid = g.uuid AND o.uuid <> $2 WHERE g.uuid = $1 LIMIT 1 FOR UPDATE OF g`,
		p.PortgroupUUID, p.UUID).Scan(&network, &bound)
	return network, bound, store.Translate(err)
}

// SetNetworkOfGroup says which physical network a port group is on.
func SetNetworkOfGroup(ctx context.Context, tx store.Tx, uuid, network string) error {
	_, err := tx.Exec(ctx, `UPDATE baremetal.portgroups SET physical_network = $2, updated_at = now() WHERE uuid = $1`, uuid, network)
	return store.Translate(err)
}

// NotePort has a port's internal_info have some words, and not those that are empty, and
// NotePortgroup a port group's, for who has checked the fence.
func NotePort(ctx context.Context, tx store.Tx, uuid string, words map[string]string) error {
	return note(ctx, tx, "ports", uuid, words)
}

// NotePortgroup is that.
func NotePortgroup(ctx context.Context, tx store.Tx, uuid string, words map[string]string) error {
	return note(ctx, tx, "portgroups", uuid, words)
}

func note(ctx context.Context, tx store.Tx, table, uuid string, words map[string]string) error {
	kept, gone := map[string]string{}, []string{}
	for key, value := range words {
		if value == "" {
			gone = append(gone, key)
		} else {
			kept[key] = value
		}
	}
	_, err := tx.Exec(ctx, `UPDATE baremetal.`+table+` SET internal_info = internal_info - $2::text[] || $3::jsonb, updated_at = now()
		WHERE uuid = $1 AND internal_info IS DISTINCT FROM internal_info - $2::text[] || $3::jsonb`, uuid, gone, kept)
	return store.Translate(err)
}
