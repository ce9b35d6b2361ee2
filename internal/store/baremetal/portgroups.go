package baremetal

// Port groups: ports of a node that work as one.

import (
	"context"
	"encoding/json"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

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

var portgroups = newTable("baremetal.portgroups", map[string]func(*Portgroup) error{
	"portgroups_uuid_key": func(g *Portgroup) error {
		return faults.New(faults.Conflict, "PortgroupAlreadyExists", "A portgroup with UUID %s already exists.", g.UUID)
	},
	"portgroups_address_key": func(g *Portgroup) error {
		return faults.New(faults.Conflict, "PortgroupMACAlreadyExists", "A portgroup with MAC address %s already exists.", text(g.Address))
	},
	"portgroups_name_key": func(g *Portgroup) error {
		return faults.New(faults.Conflict, "PortgroupDuplicateName", "A portgroup with name %s already exists.", text(g.Name))
	},
	"portgroups_node_fkey": func(g *Portgroup) error {
		return faults.New(faults.Invalid, "NodeNotFound", "Node %s could not be found.", g.NodeUUID)
	},
})

// CreatePortgroup adds a port group.
func CreatePortgroup(ctx context.Context, tx store.Tx, g *Portgroup) error {
	return portgroups.insert(ctx, tx, g)
}

// UpdatePortgroup writes a port group.
func UpdatePortgroup(ctx context.Context, tx store.Tx, g *Portgroup) error {
	return portgroups.update(ctx, tx, g)
}

// FindPortgroup gives the port group with a uuid or a name.
func FindPortgroup(ctx context.Context, q store.Queryer, ident string) (*Portgroup, error) {
	return findPortgroup(ctx, q, ident, false)
}

// LockPortgroup is FindPortgroup that keeps it as it is until the transaction ends.
func LockPortgroup(ctx context.Context, tx store.Tx, ident string) (*Portgroup, error) {
	return findPortgroup(ctx, tx, ident, true)
}

func findPortgroup(ctx context.Context, q store.Queryer, ident string, lock bool) (*Portgroup, error) {
	where := "t.name = $1"
	if IsUUID(ident) {
		where = "t.uuid = $1"
	}
	g, err := portgroups.find(ctx, q, lock, where, ident)
	return g, said(err, "PortgroupNotFound", "Portgroup %s could not be found.", ident)
}

// ListPortgroups gives a page of port groups.
func ListPortgroups(ctx context.Context, q store.Queryer, l List) ([]*Portgroup, error) {
	return portgroups.list(ctx, q, l)
}

// PortgroupHasPorts says whether ports are in a port group.
func PortgroupHasPorts(ctx context.Context, q store.Queryer, uuid string) (has bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM baremetal.ports WHERE portgroup_uuid = $1)`, uuid).Scan(&has)
	return has, store.Translate(err)
}

// DeletePortgroup takes a port group away.
func DeletePortgroup(ctx context.Context, tx store.Tx, g *Portgroup) error {
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.portgroups WHERE uuid = $1`, g.UUID)
	return store.Translate(err)
}
