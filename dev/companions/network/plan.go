package network

// What the data plane shows of the networks.

import (
	"context"
	"net/http"
	"net/netip"

	"holdfast.dev/dev/companions/network/dataplane"
	"holdfast.dev/dev/companions/service"
)

const dhcpOwner = "network:dhcp"

// Plan lists the networks with IPv4 DHCP subnets, and gives each a port for its
// DHCP server. It is a dataplane.Planner.
func (s *Service) Plan(ctx context.Context) ([]dataplane.Network, error) {
	all, err := where(ctx, s.Pool, networks, `EXISTS (SELECT 1 FROM network.resources s WHERE s.kind = 'subnet'
		AND s.body->>'network_id' = r.id::text AND s.body->>'enable_dhcp' = 'true' AND s.body->>'ip_version' = '4')`)
	if err != nil {
		return nil, err
	}
	var plan []dataplane.Network
	for _, network := range all {
		n, err := s.planNetwork(ctx, network)
		if err != nil && service.AsError(err).Status < http.StatusInternalServerError {
			continue // deleted in this moment, or without an address for the server
		}
		if err != nil {
			return nil, err
		}
		plan = append(plan, n)
	}
	return plan, nil
}

func (s *Service) planNetwork(ctx context.Context, network document) (dataplane.Network, error) {
	id := network.text("id")
	mtu, _ := network["mtu"].(float64)
	n := dataplane.Network{ID: id, Bridge: BridgeName(id), MTU: int(mtu)}
	served, err := where(ctx, s.Pool, subnets, `r.body->>'network_id' = $1 AND r.body->>'enable_dhcp' = 'true' AND r.body->>'ip_version' = '4'`, id)
	if err != nil {
		return n, err
	}
	server, err := s.dhcpPort(ctx, network, served)
	if err != nil {
		return n, err
	}
	n.ServerMAC = server.text("mac_address")
	for _, subnet := range served {
		n.Subnets = append(n.Subnets, planSubnet(subnet, server))
	}
	ports, err := where(ctx, s.Pool, ports, `r.body->>'network_id' = $1 AND r.body->>'device_owner' NOT LIKE 'network:%'`, id)
	for _, port := range ports {
		one := dataplane.Port{MAC: port.text("mac_address"), Device: port.text("device_id"), Project: port.text("project_id")}
		for _, ip := range port.objects("fixed_ips") {
			if address, err := netip.ParseAddr(ip.text("ip_address")); err == nil {
				one.Addresses = append(one.Addresses, dataplane.Address{SubnetID: ip.text("subnet_id"), IP: address})
			}
		}
		n.Ports = append(n.Ports, one)
	}
	return n, err
}

func planSubnet(subnet, server document) dataplane.Subnet {
	one := dataplane.Subnet{ID: subnet.text("id")}
	// What is stored was checked; an address that doesn't parse is none.
	one.CIDR, _ = netip.ParsePrefix(subnet.text("cidr"))
	one.Gateway, _ = netip.ParseAddr(subnet.text("gateway_ip"))
	for _, ip := range server.objects("fixed_ips") {
		if ip.text("subnet_id") == one.ID {
			one.Server, _ = netip.ParseAddr(ip.text("ip_address"))
		}
	}
	for _, text := range subnet.texts("dns_nameservers") {
		if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
			one.DNS = append(one.DNS, address)
		}
	}
	return one
}

// dhcpPort is the port of a network's DHCP server, with an address in each
// subnet that it serves.
func (s *Service) dhcpPort(ctx context.Context, network document, served []document) (document, error) {
	id := network.text("id")
	found, err := where(ctx, s.Pool, ports, `r.body->>'network_id' = $1 AND r.body->>'device_owner' = '`+dhcpOwner+`'`, id)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 && servesAll(found[0], served) {
		return found[0], nil
	}
	var port document
	err = s.writeQuietly(ctx, func(c *change) error {
		if _, err := c.get(ctx, networks, id, inUse); err != nil {
			return err
		}
		wanted := []any{}
		for _, subnet := range served {
			wanted = append(wanted, map[string]any{"subnet_id": subnet["id"]})
		}
		values := document{"network_id": id, "project_id": network["project_id"], "device_owner": dhcpOwner, "device_id": "dhcp-" + id, "fixed_ips": wanted}
		if len(found) > 0 {
			values["mac_address"] = found[0]["mac_address"]
			if err := c.delete(ctx, found[0]); err != nil {
				return err
			}
		}
		port, err = c.servicePort(ctx, values)
		return err
	})
	return port, err
}

func servesAll(port document, served []document) bool {
	has := map[string]bool{}
	for _, ip := range port.objects("fixed_ips") {
		has[ip.text("subnet_id")] = true
	}
	for _, subnet := range served {
		if !has[subnet.text("id")] {
			return false
		}
	}
	return true
}
