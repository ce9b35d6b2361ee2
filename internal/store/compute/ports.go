package compute

// The ports of servers: what was asked for, and what Neutron has bound.

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// ServerPort is a network interface of a server.
type ServerPort struct {
	ServerID string
	// Position orders a server's interfaces, from 0.
	Position int
	// Ours is a port that is made for the server on NetworkID and goes with it, until
	// it is bound perhaps on one that is made for the project; otherwise PortID is a
	// user's own.
	Ours      bool
	NetworkID string
	// PortID of one of ours is empty until it is made.
	PortID string
	// FixedIP is the address that was asked for; empty leaves it to Neutron.
	FixedIP string
	Tag     string
	// SecurityGroups are ids; none leaves it to Neutron.
	SecurityGroups []string

	// Bound says that Neutron has bound it to the server's host; what follows
	// is set while it is. Active says that it was plugged.
	Bound, Active bool
	NetworkName   string
	MTU           int
	MAC           string
	FixedIPs      []FixedIP
	FloatingIPs   []FloatingIP
	VIFType       string
	// VIFDetails is an object, Neutron's binding:vif_details.
	VIFDetails json.RawMessage
	VNICType   string
}

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

// FloatingIP is an address outside that leads to a fixed one of a port.
type FloatingIP struct {
	FixedAddress string `json:"fixed_ip_address"`
	Address      string `json:"floating_ip_address"`
}

// PortAddresses are the addresses of a server's port, in Neutron's names.
type PortAddresses struct {
	PortID      string       `json:"id"`
	ServerID    string       `json:"device_id"`
	FixedIPs    []FixedIP    `json:"fixed_ips"`
	FloatingIPs []FloatingIP `json:"-"`
	// MAC is its hardware address: that of a machine's port once it is on one.
	MAC string `json:"mac_address"`
}

// Interface is what is shown of a server's bound port.
type Interface struct {
	PortID      string       `json:"port_id"`
	NetworkID   string       `json:"network_id"`
	NetworkName string       `json:"network_name"`
	MAC         string       `json:"mac"`
	FixedIPs    []FixedIP    `json:"fixed_ips"`
	FloatingIPs []FloatingIP `json:"floating_ips"`
	Tag         string       `json:"tag"`
}

// interfaces is a column of serverColumns: null for a server without.
const interfaces = `(SELECT jsonb_agg(jsonb_build_object('port_id', p.port_id, 'network_id', p.network_id,
		'network_name', p.network_name, 'mac', p.mac, 'fixed_ips', p.fixed_ips,
		'floating_ips', p.floating_ips, 'tag', p.tag) ORDER BY p.position)
	FROM compute.server_ports p WHERE p.server_id = s.id AND p.bound)`

const portColumns = `server_id::text, position, ours, network_id, port_id, fixed_ip, tag, security_groups,
	bound, active, network_name, mtu, mac, fixed_ips, floating_ips, vif_type, vif_details, vnic_type`

func (p *ServerPort) fields() []any {
	return []any{&p.ServerID, &p.Position, &p.Ours, &p.NetworkID, &p.PortID, &p.FixedIP, &p.Tag, &p.SecurityGroups,
		&p.Bound, &p.Active, &p.NetworkName, &p.MTU, &p.MAC, &p.FixedIPs, &p.FloatingIPs, &p.VIFType, &p.VIFDetails, &p.VNICType}
}

// InsertServerPorts writes what a server's request asks for; Position is given
// by the order.
func InsertServerPorts(ctx context.Context, tx store.Tx, serverID string, ports []ServerPort) error {
	for i, p := range ports {
		_, err := tx.Exec(ctx, `INSERT INTO compute.server_ports (server_id, position, ours, network_id, port_id, fixed_ip, tag, security_groups)
			VALUES ($1, $2, $3, $4, $5, $6, $7, COALESCE($8::text[], '{}'))`,
			serverID, i, p.Ours, p.NetworkID, p.PortID, p.FixedIP, p.Tag, p.SecurityGroups)
		if err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

// ReservePorts makes users' own ports the server's, before they are bound: two
// servers that ask for one never bind it under each other. The caller has
// checked the fence. Errors: Conflict (code PortInUse).
func ReservePorts(ctx context.Context, tx store.Tx, rows []*ServerPort) error {
	for _, p := range rows {
		if p.Ours {
			continue
		}
		_, err := tx.Exec(ctx, `UPDATE compute.server_ports SET reserved = true WHERE server_id = $1 AND position = $2`, p.ServerID, p.Position)
		if isUnique(err, "server_ports_port") {
			return faults.Wrap(err, faults.Conflict, "PortInUse", "Port %s is still in use.", p.PortID)
		}
		if err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

// ServerPorts gives the interfaces of one server, or of all servers of a page,
// by server and position.
func ServerPorts(ctx context.Context, q store.Queryer, serverIDs ...string) ([]*ServerPort, error) {
	rows, err := q.Query(ctx, `SELECT `+portColumns+` FROM compute.server_ports
		WHERE server_id = ANY ($1::uuid[]) ORDER BY server_id, position`, slices.DeleteFunc(slices.Clone(serverIDs), notUUID))
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, (*ServerPort).fields)
}

func notUUID(id string) bool { return !isUUID(id) }

// BindPort writes what Neutron has bound. The caller has checked the fence.
func BindPort(ctx context.Context, tx store.Tx, p *ServerPort) error {
	_, err := tx.Exec(ctx, `UPDATE compute.server_ports SET network_id = $3, port_id = $4, bound = true, active = $5, network_name = $6,
			mtu = $7, mac = $8, fixed_ips = $9, floating_ips = $10, vif_type = $11, vif_details = $12, vnic_type = $13
		WHERE server_id = $1 AND position = $2`,
		p.ServerID, p.Position, p.NetworkID, p.PortID, p.Active, p.NetworkName,
		p.MTU, p.MAC, listOf(p.FixedIPs), listOf(p.FloatingIPs), p.VIFType, objectOf(p.VIFDetails), p.VNICType)
	return store.Translate(err)
}

// SetAddresses writes what Neutron has said of bound ports, asked at a time of
// the database's clock. Later answers stay; ports that aren't bound to the
// server any more are left alone.
func SetAddresses(ctx context.Context, tx store.Tx, asked time.Time, ports []PortAddresses) error {
	for _, p := range ports {
		_, err := tx.Exec(ctx, `UPDATE compute.server_ports SET fixed_ips = $4, floating_ips = $5, mac = $6, addresses_at = $3
			WHERE server_id::text = $1 AND port_id = $2 AND bound AND addresses_at <= $3`,
			p.ServerID, p.PortID, asked, listOf(p.FixedIPs), listOf(p.FloatingIPs), p.MAC)
		if err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

// StaleAddresses gives servers, at most limit, with a port whose addresses
// Neutron was last asked for longer than age ago, the longest first. One that is
// being built or deleted is left to its operation.
func StaleAddresses(ctx context.Context, q store.Queryer, age time.Duration, limit int) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT s.id::text FROM compute.server_ports p JOIN compute.servers s ON s.id = p.server_id
		WHERE p.bound AND p.addresses_at < now() - $1::interval AND s.deleted_at IS NULL
			AND s.vm_state <> 'building' AND s.task_state IS DISTINCT FROM 'deleting'
		GROUP BY s.id ORDER BY min(p.addresses_at), s.id LIMIT $2`, age, limit)
	if err != nil {
		return nil, store.Translate(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, store.Translate(err)
}

// AskedForAddresses writes that Neutron was asked for the addresses of servers,
// also for ports of which it knew nothing.
func AskedForAddresses(ctx context.Context, tx store.Tx, asked time.Time, serverIDs []string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.server_ports SET addresses_at = $2
		WHERE server_id = ANY ($1::uuid[]) AND bound AND addresses_at < $2`, serverIDs, asked)
	return store.Translate(err)
}

// listOf keeps null out of jsonb columns.
func listOf[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// objectOf keeps null out of jsonb columns.
func objectOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// UnbindPorts takes back what BindPort has written: the ports of ours are gone,
// users' own are free.
// The caller has checked the fence.
func UnbindPorts(ctx context.Context, tx store.Tx, serverID string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.server_ports SET port_id = CASE WHEN ours THEN '' ELSE port_id END,
			reserved = false, bound = false, active = false, network_name = '', mtu = 0, mac = '', fixed_ips = '[]', floating_ips = '[]', vif_type = '', vif_details = '{}'
		WHERE server_id = $1`, serverID)
	return store.Translate(err)
}

// ReleasePorts writes that ports are on no host and keep what else is known of
// them: they are the server's still. The caller has checked the fence.
func ReleasePorts(ctx context.Context, tx store.Tx, serverID string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.server_ports SET active = false, vif_type = '', vif_details = '{}' WHERE server_id = $1 AND bound`, serverID)
	return store.Translate(err)
}

// AddPort writes an interface that comes while the server is there, after its
// others, and gives its position. Errors: Conflict (code PortInUse), the server
// has the port.
func AddPort(ctx context.Context, tx store.Tx, p ServerPort) (position int, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO compute.server_ports (server_id, position, ours, network_id, port_id, fixed_ip, tag)
		SELECT $1, COALESCE(max(position), -1) + 1, $2, $3, $4, $5, $6 FROM compute.server_ports WHERE server_id = $1
		RETURNING position`, p.ServerID, p.Ours, p.NetworkID, p.PortID, p.FixedIP, p.Tag).Scan(&position)
	if isUnique(err, "server_ports_one_port") {
		return 0, faults.Wrap(err, faults.Conflict, "PortInUse", "Port %s is still in use.", p.PortID)
	}
	return position, store.Translate(err)
}

// ForgetPort deletes an interface that is the server's no more. The caller has
// checked the fence.
func ForgetPort(ctx context.Context, tx store.Tx, serverID string, position int) error {
	_, err := tx.Exec(ctx, `DELETE FROM compute.server_ports WHERE server_id = $1 AND position = $2`, serverID, position)
	return store.Translate(err)
}

// PlugPort writes that Neutron has plugged a server's port.
func PlugPort(ctx context.Context, tx store.Tx, serverID, portID string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.server_ports SET active = true WHERE server_id = $1 AND port_id = $2 AND bound`, serverID, portID)
	return store.Translate(err)
}
