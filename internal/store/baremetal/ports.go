package baremetal

// Ports: the nodes' network interfaces.

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

var ports = newTable("baremetal.ports", map[string]func(*Port) error{
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

// CreatePort adds a port.
func CreatePort(ctx context.Context, tx store.Tx, p *Port) error { return ports.insert(ctx, tx, p) }

// UpdatePort writes a port.
func UpdatePort(ctx context.Context, tx store.Tx, p *Port) error { return ports.update(ctx, tx, p) }

// FindPort gives the port with a uuid or, if byName, a name.
func FindPort(ctx context.Context, q store.Queryer, ident string, byName bool) (*Port, error) {
	return findPort(ctx, q, ident, byName, false)
}

// LockPort is FindPort that keeps the port as it is until the transaction ends.
func LockPort(ctx context.Context, tx store.Tx, ident string, byName bool) (*Port, error) {
	return findPort(ctx, tx, ident, byName, true)
}

func findPort(ctx context.Context, q store.Queryer, ident string, byName, lock bool) (*Port, error) {
	where := "t.uuid = $1"
	if !IsUUID(ident) {
		if where = "t.name = $1"; !byName {
			where = "false AND t.name = $1"
		}
	}
	p, err := ports.find(ctx, q, lock, where, ident)
	return p, said(err, "PortNotFound", "Port %s could not be found.", ident)
}

// ListPorts gives a page of ports.
func ListPorts(ctx context.Context, q store.Queryer, l List) ([]*Port, error) {
	return ports.list(ctx, q, l)
}

// DeletePort takes a port away.
func DeletePort(ctx context.Context, tx store.Tx, p *Port) error {
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.ports WHERE uuid = $1`, p.UUID)
	return store.Translate(err)
}
