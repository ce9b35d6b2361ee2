package network

// Routers: their gateway and interfaces are ports that they own.

import (
	"context"
	"net/http"
	"net/netip"
	"reflect"

	"holdfast.dev/dev/companions/service"
)

const (
	interfaceOwner = "network:router_interface"
	gatewayOwner   = "network:router_gateway"
)

func createRouter(_ context.Context, _ *change, doc document) error {
	doc["status"], doc["routes"], doc["availability_zones"] = "ACTIVE", []any{}, []any{zone}
	return nil
}

func storeRouter(ctx context.Context, c *change, doc document) error {
	if !doc.has("external_gateway_info") {
		return nil
	}
	if err := c.setGateway(ctx, doc); err != nil {
		return err
	}
	_, err := c.tx.Exec(ctx, `UPDATE network.resources SET body = $2 WHERE id::text = $1`, doc.text("id"), map[string]any(doc))
	return err
}

func updateRouter(ctx context.Context, c *change, before, given, after document) error {
	if _, changes := given["external_gateway_info"]; !changes {
		return nil
	}
	old, _ := before["external_gateway_info"].(map[string]any)
	wanted, _ := after["external_gateway_info"].(map[string]any)
	if old != nil && !sameGateway(old, wanted) {
		if err := c.clearGateway(ctx, before); err != nil {
			return err
		}
		old = nil
	}
	if wanted == nil {
		return nil
	}
	if old == nil {
		return c.setGateway(ctx, after)
	}
	after["external_gateway_info"] = map[string]any(document(old).merged(wanted))
	return nil
}

// sameGateway says whether the port of the gateway may stay.
func sameGateway(old, wanted document) bool {
	return wanted != nil && old["network_id"] == wanted["network_id"] &&
		(!wanted.has("external_fixed_ips") || reflect.DeepEqual(old["external_fixed_ips"], wanted["external_fixed_ips"]))
}

func (c *change) setGateway(ctx context.Context, router document) error {
	info := document(router["external_gateway_info"].(map[string]any))
	if info.text("network_id") == "" {
		return badRequest("Bad router request: external_gateway_info needs a network_id.")
	}
	network, err := c.find(ctx, networks, info.text("network_id"), inUse)
	if err != nil {
		return err
	}
	if !network.flag("router:external") {
		return badRequest("Bad router request: Network %s is not an external network.", network.text("id"))
	}
	wanted := document{"network_id": network["id"], "project_id": "", "device_owner": gatewayOwner, "device_id": router["id"]}
	if info.has("external_fixed_ips") {
		wanted["fixed_ips"] = info["external_fixed_ips"]
	}
	port, err := c.servicePort(ctx, wanted)
	if err != nil {
		return err
	}
	snat := true
	if info.has("enable_snat") {
		snat = info.flag("enable_snat")
	}
	router["external_gateway_info"] = map[string]any{"network_id": network["id"], "enable_snat": snat, "external_fixed_ips": port["fixed_ips"]}
	return nil
}

func (c *change) clearGateway(ctx context.Context, router document) error {
	used, err := where(ctx, c.tx, floatingIPs, `r.body->>'router_id' = $1`, router.text("id"))
	if err != nil {
		return err
	}
	if len(used) > 0 {
		return conflict("RouterExternalGatewayInUseByFloatingIp", "Gateway cannot be updated for router %s, since a gateway to external network is required by one or more floating IPs.", router.text("id"))
	}
	return c.deletePorts(ctx, router.text("id"), gatewayOwner, "")
}

// deletePorts deletes ports that a device owns, on one subnet if subnet is
// given.
func (c *change) deletePorts(ctx context.Context, device, owner, subnet string) error {
	_, err := c.tx.Exec(ctx, `DELETE FROM network.resources r WHERE r.kind = 'port' AND r.body->>'device_id' = $1 AND r.body->>'device_owner' = $2
		AND ($3 = '' OR r.id IN (SELECT port_id FROM network.addresses WHERE subnet_id::text = $3))`, device, owner, subnet)
	return err
}

func removeRouter(ctx context.Context, c *change, doc document) error {
	interfaces, err := c.interfaces(ctx, doc.text("id"))
	if err != nil {
		return err
	}
	if len(interfaces) > 0 {
		return conflict("RouterInUse", "Router %s still has ports", doc.text("id"))
	}
	return c.clearGateway(ctx, doc)
}

func (c *change) interfaces(ctx context.Context, router string) ([]document, error) {
	return where(ctx, c.tx, ports, `r.body->>'device_id' = $1 AND r.body->>'device_owner' = '`+interfaceOwner+`'`, router)
}

// interfaceRequest is {"subnet_id"} or {"port_id"}.
type interfaceRequest struct {
	SubnetID *string `json:"subnet_id"`
	PortID   *string `json:"port_id"`
}

func (s *Service) editInterface(w http.ResponseWriter, r *http.Request, caller *service.Caller, rule string,
	f func(c *change, router document, wanted interfaceRequest) (document, error)) error {
	var wanted interfaceRequest
	if err := service.Decode(r, &wanted); err != nil {
		return err
	}
	if wanted.SubnetID == nil && wanted.PortID == nil {
		return badRequest("Bad router request: Either subnet_id or port_id must be specified.")
	}
	var answer document
	err := s.write(r.Context(), caller, func(c *change) error {
		router, err := c.own(r.Context(), routers, r.PathValue("id"), rule)
		if err != nil {
			return err
		}
		if err := mayWriteAtAll(caller, rule+"_router"); err != nil {
			return err
		}
		port, err := f(c, router, wanted)
		if err != nil {
			return err
		}
		subnets := []any{}
		for _, ip := range port.objects("fixed_ips") {
			subnets = append(subnets, ip["subnet_id"])
		}
		answer = document{"id": router["id"], "project_id": router["project_id"], "tenant_id": router["project_id"],
			"port_id": port["id"], "network_id": port["network_id"], "subnet_ids": subnets}
		if len(subnets) > 0 {
			answer["subnet_id"] = subnets[0]
		}
		return nil
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, answer)
}

func (s *Service) addInterface(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	return s.editInterface(w, r, caller, "add_router_interface", func(c *change, router document, wanted interfaceRequest) (document, error) {
		if wanted.SubnetID != nil && wanted.PortID != nil {
			return nil, badRequest("Bad router request: Cannot specify both subnet-id and port-id.")
		}
		if wanted.PortID != nil {
			return c.attachPort(r.Context(), router, *wanted.PortID)
		}
		return c.attachSubnet(r.Context(), router, *wanted.SubnetID)
	})
}

// attachSubnet gives the router the subnet's gateway address.
func (c *change) attachSubnet(ctx context.Context, router document, id string) (document, error) {
	subnet, err := c.find(ctx, subnets, id, inUse)
	if err != nil {
		return nil, err
	}
	if subnet.text("gateway_ip") == "" {
		return nil, badRequest("Bad router request: Subnet for router interface must have a gateway IP.")
	}
	if err := c.apart(ctx, router, subnet); err != nil {
		return nil, err
	}
	return c.servicePort(ctx, document{"network_id": subnet["network_id"], "project_id": router["project_id"],
		"device_owner": interfaceOwner, "device_id": router["id"],
		"fixed_ips": []any{map[string]any{"subnet_id": subnet["id"], "ip_address": subnet["gateway_ip"]}}})
}

func (c *change) attachPort(ctx context.Context, router document, id string) (document, error) {
	port, err := c.own(ctx, ports, id, "update")
	if err != nil {
		return nil, err
	}
	if device := port.text("device_id"); device != "" {
		return nil, conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.", id, port.text("network_id"), device)
	}
	if len(port.objects("fixed_ips")) == 0 {
		return nil, badRequest("Bad router request: Router port must have at least one fixed IP.")
	}
	for _, ip := range port.objects("fixed_ips") {
		subnet, err := c.get(ctx, subnets, ip.text("subnet_id"), inUse)
		if err != nil {
			return nil, err
		}
		if err := c.apart(ctx, router, subnet); err != nil {
			return nil, err
		}
	}
	port["device_id"], port["device_owner"], port["status"] = router["id"], interfaceOwner, "ACTIVE"
	return port, c.update(ctx, port)
}

// apart says whether a subnet overlaps none that the router has already.
func (c *change) apart(ctx context.Context, router, subnet document) error {
	others, err := where(ctx, c.tx, subnets, `r.id IN (SELECT a.subnet_id FROM network.addresses a JOIN network.resources p ON p.id = a.port_id
		WHERE p.body->>'device_id' = $1 AND p.body->>'device_owner' = '`+interfaceOwner+`')`, router.text("id"))
	if err != nil {
		return err
	}
	cidr, err := netip.ParsePrefix(subnet.text("cidr"))
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.text("id") == subnet.text("id") {
			return badRequest("Bad router request: Router already has a port on subnet %s.", subnet.text("id"))
		}
		if has, err := netip.ParsePrefix(other.text("cidr")); err == nil && has.Overlaps(cidr) {
			return badRequest("Bad router request: Cidr %s of subnet %s overlaps with cidr %s of subnet %s.", cidr, subnet.text("id"), has, other.text("id"))
		}
	}
	return nil
}

func (s *Service) removeInterface(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	return s.editInterface(w, r, caller, "remove_router_interface", func(c *change, router document, wanted interfaceRequest) (document, error) {
		port, err := c.interfaceOf(r.Context(), router, wanted)
		if err != nil {
			return nil, err
		}
		for _, ip := range port.objects("fixed_ips") {
			used, err := where(r.Context(), c.tx, floatingIPs, `r.body->>'router_id' = $1 AND EXISTS (SELECT 1 FROM network.addresses a
				WHERE a.port_id::text = r.body->>'port_id' AND a.subnet_id::text = $2 AND host(a.address) = r.body->>'fixed_ip_address')`, router.text("id"), ip.text("subnet_id"))
			if err != nil {
				return nil, err
			}
			if len(used) > 0 {
				return nil, conflict("RouterInterfaceInUseByFloatingIP", "Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more floating IPs.", ip.text("subnet_id"), router.text("id"))
			}
		}
		return port, c.delete(r.Context(), port)
	})
}

func (c *change) interfaceOf(ctx context.Context, router document, wanted interfaceRequest) (document, error) {
	all, err := c.interfaces(ctx, router.text("id"))
	if err != nil {
		return nil, err
	}
	for _, port := range all {
		if wanted.PortID != nil && port.text("id") == *wanted.PortID {
			return port, nil
		}
		for _, ip := range port.objects("fixed_ips") {
			if wanted.PortID == nil && ip.text("subnet_id") == *wanted.SubnetID {
				return port, nil
			}
		}
	}
	if wanted.PortID != nil {
		return nil, service.Typed(http.StatusNotFound, "RouterInterfaceNotFound", "Router %s does not have an interface with id %s", router.text("id"), *wanted.PortID)
	}
	return nil, service.Typed(http.StatusNotFound, "RouterInterfaceNotFoundForSubnet", "Router %s has no interface on subnet %s", router.text("id"), *wanted.SubnetID)
}
