package resources

// What templates read of a server's addresses.

import (
	"context"
	"net/netip"
	"net/url"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// look reads where the server is to be reached, and notes which port each of its networks
// has, if it isn't known yet.
func (t Server) look(ctx context.Context, c *Call) error {
	w, err := t.begin(ctx, c)
	if err != nil {
		return err
	}
	p, err := w.openPorts(ctx)
	if err != nil {
		return err
	}
	there, err := p.there(ctx)
	if err != nil {
		return err
	}
	given, _ := c.Properties.Get("networks")
	if all := networks(given); len(all) > 0 && allocated(all) == "" && !c.Data.Has(wiredKey) {
		if err := w.resolve(ctx, []string{}...); err != nil { // what is called otherwise by now has no port here
			return err
		}
		resolved, _ := w.scope.Properties.Get("networks")
		paired, err := p.paired(ctx, networks(resolved), there)
		if err != nil {
			return err
		}
		c.Data.Set(wiredKey, paired)
	}
	reached(c)
	return p.addresses(ctx, there)
}

// reached fills in what follows from the addresses that Nova shows.
func reached(c *Call) {
	v, _ := c.Attributes.Get("addresses")
	all, _ := v.(*value.Map)
	networks, first := &value.Map{}, any("")
	for i := range all.Len() {
		name, v := all.At(i)
		list, _ := v.([]any)
		ips := []any{}
		for _, one := range list {
			m, _ := one.(*value.Map)
			if ip, _ := m.Get("addr"); ip != nil {
				ips = append(ips, ip)
				if first == "" {
					first = ip
				}
			}
		}
		networks.Set(name, ips)
	}
	c.Attributes.Set("networks", networks)
	c.Attributes.Set("first_address", first)
}

// seen is what is at a path of Neutron; nil is nothing that its owner may see.
func (p *ports) seen(ctx context.Context, known map[string]*value.Map, path, key string) (*value.Map, error) {
	if m, ok := known[path]; ok {
		return m, nil
	}
	got, err := p.get(ctx, path, key)
	if err != nil && !faults.Is(err, faults.NotFound) && !faults.Is(err, faults.Forbidden) {
		return nil, err
	}
	m, _ := got.(*value.Map)
	known[path] = m
	return m, nil
}

// addresses fills in what Neutron knows of them, too: each is under the name of its
// network and under the id.
func (p *ports) addresses(ctx context.Context, there []*value.Map) error {
	if len(there) == 0 {
		return nil
	}
	all, known, ids := &value.Map{}, map[string]*value.Map{}, &value.Map{}
	for _, port := range there {
		network, err := p.seen(ctx, known, "networks/"+url.PathEscape(value.Str(has(port, "network_id"))), "network")
		if err != nil {
			return err
		}
		name := has(network, "name")
		if name == nil {
			continue
		}
		listed, _ := all.Get(name)
		list, _ := listed.([]any)
		more, err := p.addressesOf(ctx, known, port, network)
		if err != nil {
			return err
		}
		all.Set(name, append(list, more...))
		ids.Set(name, has(network, "id"))
	}
	given, _ := p.call.Attributes.Get("networks")
	ips, _ := given.(*value.Map)
	for i := range ids.Len() {
		name, id := ids.At(i)
		addresses, _ := all.Get(name)
		all.Set(id, addresses)
		if list, ok := ips.Get(name); ok {
			ips.Set(id, list)
		}
	}
	p.call.Attributes.Set("addresses", all)
	return nil
}

// addressesOf are those of one port, and the floating ones that lead to them.
func (p *ports) addressesOf(ctx context.Context, known map[string]*value.Map, port, network *value.Map) ([]any, error) {
	given, _ := port.Get("fixed_ips")
	fixed, _ := given.([]any)
	if len(fixed) == 0 {
		return nil, nil
	}
	floating, err := p.list(ctx, "floatingips?port_id="+url.QueryEscape(value.Str(has(port, "id"))), "floatingips")
	if err != nil {
		return nil, err
	}
	subnets := []any{}
	for _, one := range fixed {
		m, _ := one.(*value.Map)
		subnet, err := p.seen(ctx, known, "subnets/"+url.PathEscape(value.Str(has(m, "subnet_id"))), "subnet")
		if err != nil {
			return nil, err
		}
		if subnet != nil {
			subnets = append(subnets, subnet)
		}
	}
	var all []any
	for _, one := range fixed {
		m, _ := one.(*value.Map)
		address := func(ip any, kind string, of any) *value.Map {
			return value.NewMap("addr", ip, "version", ipVersion(ip), "OS-EXT-IPS-MAC:mac_addr", has(port, "mac_address"), "OS-EXT-IPS:type", kind, "port", of)
		}
		for _, f := range floating {
			if has(f, "fixed_ip_address") == has(m, "ip_address") {
				all = append(all, address(has(f, "floating_ip_address"), "floating", nil))
			}
		}
		own := address(has(m, "ip_address"), "fixed", has(port, "id"))
		own.Set("subnets", subnets)
		own.Set("network", network)
		all = append(all, own)
	}
	return all, nil
}

// ipVersion is 4 or 6; null is no address.
func ipVersion(ip any) any {
	address, err := netip.ParseAddr(value.Str(ip))
	switch {
	case err != nil:
		return nil
	case address.Is4():
		return value.Int(4)
	}
	return value.Int(6)
}
