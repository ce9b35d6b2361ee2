package network

// Who gets which address. A subnet's row is held while one is picked, and the
// key of network.addresses is the last word.

import (
	"context"
	"crypto/rand"
	"net"
	"net/netip"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// assignment is one address of a port, an entry of fixed_ips.
type assignment struct {
	subnet  document
	address netip.Addr
}

func documents(assignments []assignment) []any {
	list := []any{}
	for _, a := range assignments {
		list = append(list, map[string]any{"subnet_id": a.subnet.text("id"), "ip_address": a.address.String()})
	}
	return list
}

// assign picks the addresses that wanted asks for, entries of fixed_ips; a nil
// wanted takes one of each IP version that the network has. kept are addresses
// that the port has already.
func (c *change) assign(ctx context.Context, network string, wanted []document, kept map[netip.Addr]bool) ([]assignment, error) {
	all, err := where(ctx, c.tx, subnets, `r.body->>'network_id' = $1`, network)
	if err != nil {
		return nil, err
	}
	if wanted == nil {
		return c.assignEach(ctx, network, all)
	}
	var chosen []assignment
	for _, entry := range wanted {
		a, err := c.assignOne(ctx, network, all, entry, chosen, kept)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, a)
	}
	return chosen, nil
}

func (c *change) assignEach(ctx context.Context, network string, all []document) ([]assignment, error) {
	var chosen []assignment
	for _, version := range []float64{4, 6} {
		var of []document
		for _, subnet := range all {
			if subnet["ip_version"] == version {
				of = append(of, subnet)
			}
		}
		if len(of) == 0 {
			continue
		}
		a, err := c.firstFree(ctx, network, of, chosen)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, a)
	}
	return chosen, nil
}

func (c *change) assignOne(ctx context.Context, network string, all []document, entry document, chosen []assignment, kept map[netip.Addr]bool) (assignment, error) {
	among := all
	if id := entry.text("subnet_id"); id != "" {
		among = nil
		for _, subnet := range all {
			if subnet.text("id") == id {
				among = []document{subnet}
			}
		}
		if among == nil {
			if _, err := c.find(ctx, subnets, id, unlocked); err != nil {
				return assignment{}, err
			}
			return assignment{}, badInput("Failed to create port on network %s, because fixed_ips included invalid subnet %s", network, id)
		}
	}
	text := entry.text("ip_address")
	if text == "" {
		return c.firstFree(ctx, network, among, chosen)
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return assignment{}, err
	}
	for _, subnet := range among {
		cidr, err := netip.ParsePrefix(subnet.text("cidr"))
		if err != nil {
			return assignment{}, err
		}
		if first, last := hosts(cidr); !within(address, first, last) {
			continue
		}
		taken, err := c.taken(ctx, subnet)
		if err != nil {
			return assignment{}, err
		}
		if taken[address] && !kept[address] || chosenAlready(chosen, address) {
			return assignment{}, conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", address, subnet.text("id"))
		}
		return assignment{subnet, address}, nil
	}
	if entry.text("subnet_id") != "" {
		return assignment{}, service.Typed(400, "InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", address)
	}
	return assignment{}, service.Typed(400, "InvalidIpForNetwork", "IP address %s is not a valid IP for any of the subnets on the specified network.", address)
}

// firstFree takes the first free address of the first pool that has one.
func (c *change) firstFree(ctx context.Context, network string, among []document, chosen []assignment) (assignment, error) {
	for _, subnet := range among {
		taken, err := c.taken(ctx, subnet)
		if err != nil {
			return assignment{}, err
		}
		for _, p := range poolsOf(subnet) {
			for address := p.first; within(address, p.first, p.last); address = address.Next() {
				if !taken[address] && !chosenAlready(chosen, address) {
					return assignment{subnet, address}, nil
				}
			}
		}
	}
	return assignment{}, conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", network)
}

func chosenAlready(chosen []assignment, address netip.Addr) bool {
	for _, a := range chosen {
		if a.address == address {
			return true
		}
	}
	return false
}

// taken reads the addresses in use, and holds the subnet until the transaction
// ends.
func (c *change) taken(ctx context.Context, subnet document) (map[netip.Addr]bool, error) {
	if _, err := c.get(ctx, subnets, subnet.text("id"), toChange); err != nil {
		return nil, err
	}
	rows, err := c.tx.Query(ctx, `SELECT host(address) FROM network.addresses WHERE subnet_id::text = $1`, subnet.text("id"))
	if err != nil {
		return nil, err
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	taken := make(map[netip.Addr]bool, len(texts))
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			taken[address] = true
		}
	}
	return taken, err
}

// hold writes down which addresses a port has, instead of those that it had.
func (c *change) hold(ctx context.Context, port document) error {
	id := port.text("id")
	if _, err := c.tx.Exec(ctx, `DELETE FROM network.addresses WHERE port_id::text = $1`, id); err != nil {
		return err
	}
	for _, ip := range port.objects("fixed_ips") {
		_, err := c.tx.Exec(ctx, `INSERT INTO network.addresses (subnet_id, address, port_id) VALUES ($1::text::uuid, $2::text::inet, $3::text::uuid)`,
			ip.text("subnet_id"), ip.text("ip_address"), id)
		if service.Violates(err, "addresses_pkey") {
			return conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", ip.text("ip_address"), ip.text("subnet_id"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holdMAC writes down a port's MAC.
func (c *change) holdMAC(ctx context.Context, port document) error {
	_, err := c.tx.Exec(ctx, `INSERT INTO network.macs (network_id, mac, port_id) VALUES ($1::text::uuid, $2::text::macaddr, $3::text::uuid)
		ON CONFLICT (port_id) DO UPDATE SET mac = excluded.mac`, port.text("network_id"), port.text("mac_address"), port.text("id"))
	if service.Violates(err, "macs_once") {
		return conflict("MacAddressInUse", "Unable to complete operation for network %s. The mac address %s is in use.", port.text("network_id"), port.text("mac_address"))
	}
	return err
}

// newMAC is a random address under Neutron's default base.
func newMAC() string {
	mac := net.HardwareAddr{0xfa, 0x16, 0x3e, 0, 0, 0}
	_, _ = rand.Read(mac[3:]) // never fails
	return mac.String()
}
