package network

// Floating addresses.

import (
	"context"
	"net/http"

	"holdfast.dev/dev/companions/service"
)

const floatingOwner = "network:floatingip"

func createFloatingIP(ctx context.Context, c *change, doc document) error {
	network, err := c.find(ctx, networks, doc.text("floating_network_id"), inUse)
	if err != nil {
		return err
	}
	if !network.flag("router:external") {
		return badRequest("Bad floatingip request: Network %s is not a valid external network.", network.text("id"))
	}
	wanted := document{"network_id": network["id"], "project_id": "", "device_owner": floatingOwner, "device_id": doc["id"]}
	entry := map[string]any{}
	for from, to := range map[string]string{"subnet_id": "subnet_id", "floating_ip_address": "ip_address"} {
		if doc.has(from) {
			entry[to] = doc[from]
		}
	}
	if len(entry) > 0 {
		wanted["fixed_ips"] = []any{entry}
	}
	port, err := c.servicePort(ctx, wanted)
	if err != nil {
		return err
	}
	addresses := port.objects("fixed_ips")
	if len(addresses) == 0 {
		return conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", network.text("id"))
	}
	doc["floating_ip_address"], doc["floating_port_id"] = addresses[0]["ip_address"], port["id"]
	delete(doc, "subnet_id")
	return c.associate(ctx, doc)
}

func updateFloatingIP(ctx context.Context, c *change, _, given, after document) error {
	_, moves := given["port_id"]
	if _, names := given["fixed_ip_address"]; !moves && !names {
		return nil
	}
	if moves && !given.has("fixed_ip_address") {
		after["fixed_ip_address"] = nil
	}
	return c.associate(ctx, after)
}

// associate settles everything that follows from the port.
func (c *change) associate(ctx context.Context, doc document) error {
	if !doc.has("port_id") {
		if doc.has("fixed_ip_address") {
			return badRequest("Bad floatingip request: fixed_ip_address can't be given without a port_id.")
		}
		doc["router_id"], doc["status"], doc["port_details"] = nil, "DOWN", nil
		return nil
	}
	port, err := c.own(ctx, ports, doc.text("port_id"), "update")
	if err != nil {
		return err
	}
	address, err := floatedAddress(doc, port)
	if err != nil {
		return err
	}
	taken, err := where(ctx, c.tx, floatingIPs, `r.body->>'port_id' = $1 AND r.body->>'fixed_ip_address' = $2 AND r.id::text <> $3`,
		port.text("id"), address.text("ip_address"), doc.text("id"))
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return conflict("FloatingIPPortAlreadyAssociated", "Cannot associate floating IP %s (%s) with port %s using fixed IP %s, as that fixed IP already has a floating IP on external network %s.",
			doc.text("floating_ip_address"), doc.text("id"), port.text("id"), address.text("ip_address"), doc.text("floating_network_id"))
	}
	router, err := c.routerBetween(ctx, address.text("subnet_id"), doc.text("floating_network_id"))
	if err != nil {
		return err
	}
	if router == nil {
		return service.Typed(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound",
			"External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s with a Floating IP.",
			doc.text("floating_network_id"), address.text("subnet_id"), port.text("id"))
	}
	doc["fixed_ip_address"], doc["router_id"], doc["status"] = address["ip_address"], router["id"], "ACTIVE"
	doc["port_details"] = map[string]any{"name": port["name"], "network_id": port["network_id"], "mac_address": port["mac_address"],
		"admin_state_up": port["admin_state_up"], "status": port["status"], "device_id": port["device_id"], "device_owner": port["device_owner"]}
	return c.tell(ctx, "network-changed", port)
}

// floatedAddress is the address of the port that is meant: the one named, or
// its only IPv4 one.
func floatedAddress(doc, port document) (document, error) {
	var found []document
	for _, ip := range port.objects("fixed_ips") {
		if wanted := doc.text("fixed_ip_address"); wanted == ip.text("ip_address") || wanted == "" && isIPv4(ip.text("ip_address")) {
			found = append(found, ip)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case doc.has("fixed_ip_address"):
		return nil, badRequest("Bad floatingip request: Port %s does not have fixed ip %s.", port.text("id"), doc.text("fixed_ip_address"))
	case len(found) == 0:
		return nil, badRequest("Bad floatingip request: Cannot add floating IP to port %s that has no fixed IPv4 addresses.", port.text("id"))
	}
	return nil, badRequest("Bad floatingip request: Port %s has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP.", port.text("id"))
}

// routerBetween is a router with an interface on the subnet and its gateway on
// the external network; nil if there is none.
func (c *change) routerBetween(ctx context.Context, subnet, external string) (document, error) {
	found, err := where(ctx, c.tx, routers, `r.body->'external_gateway_info'->>'network_id' = $2 AND EXISTS (
		SELECT 1 FROM network.addresses a JOIN network.resources p ON p.id = a.port_id
		WHERE a.subnet_id::text = $1 AND p.body->>'device_id' = r.id::text AND p.body->>'device_owner' = '`+interfaceOwner+`')`, subnet, external)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// unfloat takes the floating addresses from a port, or from one address of it.
func (c *change) unfloat(ctx context.Context, port, address string) error {
	used, err := where(ctx, c.tx, floatingIPs, `r.body->>'port_id' = $1 AND ($2 = '' OR r.body->>'fixed_ip_address' = $2)`, port, address)
	if err != nil {
		return err
	}
	for _, doc := range used {
		doc["port_id"], doc["fixed_ip_address"] = nil, nil
		if err := c.associate(ctx, doc); err != nil {
			return err
		}
		if err := c.update(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

func removeFloatingIP(ctx context.Context, c *change, doc document) error {
	return c.deletePorts(ctx, doc.text("id"), floatingOwner, "")
}
