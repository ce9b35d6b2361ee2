package dataplane

// What ought to be there.

import (
	"context"
	"net/netip"
)

// Network is one with a DHCP server.
type Network struct {
	ID     string
	Bridge string // its interface's name
	MTU    int
	// ServerMAC is the DHCP server's own port's.
	ServerMAC string
	Subnets   []Subnet
	Ports     []Port
}

// Subnet is an IPv4 subnet with DHCP.
type Subnet struct {
	ID      string
	CIDR    netip.Prefix
	Server  netip.Addr // the DHCP server's address
	Gateway netip.Addr // invalid without one
	DNS     []netip.Addr
}

// Port is one that is leased its addresses.
type Port struct {
	MAC       string
	Addresses []Address
	Device    string // the server's id; empty if it is no server's
	Project   string
}

// Address is one of a port's.
type Address struct {
	SubnetID string
	IP       netip.Addr
}

// Planner says what ought to be there now.
type Planner func(ctx context.Context) ([]Network, error)
