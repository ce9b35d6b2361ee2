package network

// Subnets.

import (
	"context"
	"net/netip"
	"slices"
)

func createSubnet(ctx context.Context, c *change, doc document) error {
	network, err := c.own(ctx, networks, doc.text("network_id"), "update")
	if err != nil {
		return err
	}
	doc["project_id"] = network.text("project_id")
	cidr, err := netip.ParsePrefix(doc.text("cidr"))
	if err != nil {
		return err
	}
	cidr = cidr.Masked()
	doc["cidr"] = cidr.String()
	version, smallest := float64(4), 30
	if cidr.Addr().Is6() {
		version, smallest = 6, 126
	}
	if doc["ip_version"] != version {
		return badInput("Invalid CIDR %s for IP version %v", cidr, doc["ip_version"])
	}
	if cidr.Bits() == 0 || version == 4 && cidr.Bits() > smallest+2 {
		return badInput("Invalid CIDR %s.", cidr)
	}
	others, err := where(ctx, c.tx, subnets, `r.body->>'network_id' = $1`, network.text("id"))
	if err != nil {
		return err
	}
	for _, other := range others {
		if taken, err := netip.ParsePrefix(other.text("cidr")); err == nil && taken.Overlaps(cidr) {
			return badInput("Requested subnet with cidr: %s for network: %s overlaps with another subnet.", cidr, network.text("id"))
		}
	}
	if _, given := doc["gateway_ip"]; !given {
		doc["gateway_ip"] = nil
		if cidr.Bits() <= smallest {
			doc["gateway_ip"] = cidr.Addr().Next().String()
		}
	}
	if !doc.has("allocation_pools") {
		doc["allocation_pools"] = defaultPools(cidr, doc.text("gateway_ip"))
	}
	return checkSubnet(doc)
}

// checkSubnet says whether the addresses in a subnet fit together.
func checkSubnet(doc document) error {
	cidr, err := netip.ParsePrefix(doc.text("cidr"))
	if err != nil {
		return err
	}
	first, last := hosts(cidr)
	gateway, _ := netip.ParseAddr(doc.text("gateway_ip"))
	if gateway.IsValid() && (gateway.Is4() != first.Is4() || gateway.Is4() && cidr.Contains(gateway) && !within(gateway, first, last)) {
		return badInput("Gateway IP %s is not valid on subnet %s.", gateway, cidr)
	}
	pools := poolsOf(doc)
	slices.SortFunc(pools, func(a, b pool) int { return a.first.Compare(b.first) })
	for i, p := range pools {
		switch {
		case !within(p.first, first, last) || !within(p.last, first, last):
			return conflict("OutOfBoundsAllocationPool", "The allocation pool %s spans beyond the subnet cidr %s.", p, cidr)
		case p.last.Less(p.first):
			return badInput("The allocation pool %s is not valid.", p)
		case i > 0 && !pools[i-1].last.Less(p.first):
			return conflict("OverlappingAllocationPools", "Found overlapping allocation pools: %s, %s for subnet %s.", pools[i-1], p, cidr)
		case gateway.IsValid() && within(gateway, p.first, p.last):
			return conflict("GatewayConflictWithAllocationPools", "Gateway ip %s conflicts with allocation pool %s.", gateway, p)
		}
	}
	return nil
}

func updateSubnet(_ context.Context, _ *change, _, given, after document) error {
	if _, ok := given["allocation_pools"]; ok && given["allocation_pools"] == nil {
		return invalid("allocation_pools", "'None' is not a list.")
	}
	return checkSubnet(after)
}

func removeSubnet(ctx context.Context, c *change, doc document) error {
	id := doc.text("id")
	users, err := where(ctx, c.tx, ports, `r.id IN (SELECT port_id FROM network.addresses WHERE subnet_id::text = $1)`, id)
	if err != nil {
		return err
	}
	for _, port := range users {
		if port.text("device_owner") != "network:dhcp" {
			return conflict("SubnetInUse", "Unable to complete operation on subnet %s: One or more ports have an IP allocation from this subnet.", id)
		}
		if err := c.remove(ctx, ports, port); err != nil {
			return err
		}
	}
	return nil
}

// pool is a range of addresses, both ends included.
type pool struct{ first, last netip.Addr }

func (p pool) String() string { return p.first.String() + "-" + p.last.String() }

func (p pool) document() map[string]any {
	return map[string]any{"start": p.first.String(), "end": p.last.String()}
}

func poolsOf(subnet document) []pool {
	var pools []pool
	for _, one := range subnet.objects("allocation_pools") {
		first, _ := netip.ParseAddr(one.text("start"))
		last, _ := netip.ParseAddr(one.text("end"))
		pools = append(pools, pool{first, last})
	}
	return pools
}

// defaultPools is all that may be a host's, without the gateway.
func defaultPools(cidr netip.Prefix, gateway string) []any {
	first, last := hosts(cidr)
	skip, err := netip.ParseAddr(gateway)
	if err != nil || !within(skip, first, last) {
		return []any{pool{first, last}.document()}
	}
	pools := []any{}
	if first.Less(skip) {
		pools = append(pools, pool{first, skip.Prev()}.document())
	}
	if skip.Less(last) {
		pools = append(pools, pool{skip.Next(), last}.document())
	}
	return pools
}

// hosts are the first and last address of a network that a host may have.
func hosts(cidr netip.Prefix) (first, last netip.Addr) {
	first = cidr.Masked().Addr()
	bytes := first.AsSlice()
	for bit := cidr.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ = netip.AddrFromSlice(bytes)
	if first.BitLen()-cidr.Bits() < 2 {
		return first, last // RFC 3021: no broadcast in so small a network
	}
	if first.Is4() {
		last = last.Prev()
	}
	return first.Next(), last
}

func within(address, first, last netip.Addr) bool {
	return address.BitLen() == first.BitLen() && !address.Less(first) && !last.Less(address)
}
