package network

// Ports.

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

func createPort(ctx context.Context, c *change, doc document) error {
	network, err := c.usableNetwork(ctx, doc.text("network_id"))
	if err != nil {
		return err
	}
	if err := c.mayChoose(network, doc, "create_port"); err != nil {
		return err
	}
	if _, given := doc["port_security_enabled"]; !given {
		doc["port_security_enabled"] = network["port_security_enabled"]
	}
	if !doc.has("mac_address") {
		doc["mac_address"] = newMAC()
	}
	if doc["binding:host_id"] == nil {
		doc["binding:host_id"] = ""
	}
	var wanted []document
	if doc.has("fixed_ips") {
		wanted = doc.objects("fixed_ips")
	}
	addresses, err := c.assign(ctx, network.text("id"), wanted, nil)
	if err != nil {
		return err
	}
	doc["fixed_ips"] = documents(addresses)
	doc["extra_dhcp_opts"] = changedOptions(nil, doc.objects("extra_dhcp_opts"))
	if err := c.guard(ctx, doc, doc.has("security_groups")); err != nil {
		return err
	}
	c.bind(doc)
	return nil
}

// storePort needs the port's row for what refers to it.
func storePort(ctx context.Context, c *change, doc document) error {
	if err := c.holdMAC(ctx, doc); err != nil {
		return err
	}
	if err := c.hold(ctx, doc); err != nil {
		return err
	}
	return c.tellStatus(ctx, document{"status": "DOWN"}, doc)
}

func updatePort(ctx context.Context, c *change, before, given, after document) error {
	network, err := c.get(ctx, networks, before.text("network_id"), inUse)
	if err != nil {
		return err
	}
	if err := c.mayChoose(network, given, "update_port"); err != nil {
		return err
	}
	if _, asked := given["mac_address"]; asked && !given.has("mac_address") {
		after["mac_address"] = newMAC()
	}
	if mac := after.text("mac_address"); mac != before.text("mac_address") {
		if before.text("binding:host_id") != "" && after.text("binding:host_id") != "" {
			return conflict("PortBound", "Unable to complete operation on port %s, port is already bound, port type: %s, old_mac %s, new_mac %s.",
				before.text("id"), before.text("binding:vif_type"), before.text("mac_address"), mac)
		}
		if err := c.holdMAC(ctx, after); err != nil {
			return err
		}
	}
	if given.has("fixed_ips") {
		if err := c.moveAddresses(ctx, before, given, after); err != nil {
			return err
		}
	}
	if after["binding:host_id"] == nil {
		after["binding:host_id"] = ""
	}
	if given.has("extra_dhcp_opts") {
		after["extra_dhcp_opts"] = changedOptions(before.objects("extra_dhcp_opts"), given.objects("extra_dhcp_opts"))
	}
	if err := c.guard(ctx, after, true); err != nil {
		return err
	}
	c.bind(after)
	if err := c.tellStatus(ctx, before, after); err != nil {
		return err
	}
	if !reflect.DeepEqual(before["fixed_ips"], after["fixed_ips"]) || before["mac_address"] != after["mac_address"] {
		return c.tell(ctx, "network-changed", after)
	}
	return nil
}

// changedOptions are DHCP options after a change, which takes away those that it gives no
// value, and keeps those of which it says nothing. One without a version is of IPv4's.
func changedOptions(before, given []document) []any {
	all := before
	for _, o := range given {
		if !o.has("ip_version") {
			o = o.merged(document{"ip_version": float64(4)})
		}
		all = slices.DeleteFunc(all, func(was document) bool {
			return was.text("opt_name") == o.text("opt_name") && was["ip_version"] == o["ip_version"]
		})
		if o.has("opt_value") {
			all = append(all, o)
		}
	}
	list := []any{}
	for _, o := range all {
		list = append(list, map[string]any(o))
	}
	return list
}

func (c *change) moveAddresses(ctx context.Context, before, given, after document) error {
	kept := map[netip.Addr]bool{}
	for _, ip := range before.objects("fixed_ips") {
		if address, err := netip.ParseAddr(ip.text("ip_address")); err == nil {
			kept[address] = true
		}
	}
	addresses, err := c.assign(ctx, before.text("network_id"), given.objects("fixed_ips"), kept)
	if err != nil {
		return err
	}
	after["fixed_ips"] = documents(addresses)
	for _, ip := range after.objects("fixed_ips") {
		if address, err := netip.ParseAddr(ip.text("ip_address")); err == nil {
			delete(kept, address)
		}
	}
	for gone := range kept {
		if err := c.unfloat(ctx, before.text("id"), gone.String()); err != nil {
			return err
		}
	}
	return c.hold(ctx, after)
}

// mayChoose keeps a MAC, an address and what waives protection for the owner of
// the network, on which others only have ports.
func (c *change) mayChoose(network, given document, rule string) error {
	if c.owns(network) {
		return nil
	}
	rules := []string{rule}
	for _, name := range []string{"mac_address", "port_security_enabled"} {
		if given.has(name) {
			rules = append(rules, rule+":"+name)
		}
	}
	for _, ip := range given.objects("fixed_ips") {
		if ip.has("ip_address") {
			rules = append(rules, rule+":fixed_ips", rule+":fixed_ips:ip_address")
			break
		}
	}
	if len(given.objects("allowed_address_pairs")) > 0 {
		rules = append(rules, rule+":allowed_address_pairs")
	}
	if strings.HasPrefix(given.text("device_owner"), "network:") {
		rules = append(rules, rule+":device_owner")
	}
	if len(rules) > 1 {
		return forbidden(rules...)
	}
	return nil
}

// guard settles what protects a port: its groups and address pairs. A new port
// that names no group is in the project's default one.
func (c *change) guard(ctx context.Context, doc document, named bool) error {
	protected := doc.flag("port_security_enabled")
	if !named {
		doc["security_groups"] = []any{}
		// The ports of the network's own services have none.
		if protected && !strings.HasPrefix(doc.text("device_owner"), "network:") && doc.text("project_id") != "" {
			group, err := c.defaultGroup(ctx, doc.text("project_id"))
			if err != nil {
				return err
			}
			doc["security_groups"] = []any{group.text("id")}
		}
	}
	groups := doc.texts("security_groups")
	if len(groups) > 0 && !protected {
		return conflict("PortSecurityPortHasSecurityGroup", "Port has security group associated. Cannot disable port security or IP address until security group is removed.")
	}
	for _, id := range groups {
		if _, err := c.find(ctx, securityGroups, id, inUse); named && err != nil {
			return err
		}
	}
	pairs := doc.objects("allowed_address_pairs")
	if len(pairs) > 0 && !protected {
		return conflict("AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	list := []any{}
	for _, pair := range pairs {
		if !pair.has("mac_address") {
			pair = pair.merged(document{"mac_address": doc["mac_address"]})
		}
		list = append(list, map[string]any(pair))
	}
	doc["allowed_address_pairs"] = list
	return nil
}

func removePort(ctx context.Context, c *change, doc document) error {
	owner := doc.text("device_owner")
	switch owner {
	case "network:router_interface", "network:router_gateway", "network:floatingip":
		return conflict("ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner %s.", doc.text("id"), owner)
	}
	return c.removeAnyPort(ctx, doc)
}

// removeAnyPort deletes what hangs on a port; its row goes last, with its
// addresses.
func (c *change) removeAnyPort(ctx context.Context, doc document) error {
	if err := c.unfloat(ctx, doc.text("id"), ""); err != nil {
		return err
	}
	if doc.text("status") == "ACTIVE" {
		return c.tell(ctx, "network-vif-deleted", doc)
	}
	return nil
}

// servicePort makes a port for the network's own use: a router's, a floating
// address's, the DHCP server's.
func (c *change) servicePort(ctx context.Context, doc document) (document, error) {
	for _, attr := range ports.attributes {
		if _, given := doc[attr.name]; !given && attr.post && attr.fallback != any(none) {
			doc[attr.name] = attr.fallback
		}
	}
	doc["security_groups"] = []any{}
	doc["port_security_enabled"] = false
	if !doc.has("mac_address") {
		doc["mac_address"] = newMAC()
	}
	var wanted []document
	if doc.has("fixed_ips") {
		wanted = doc.objects("fixed_ips")
	}
	addresses, err := c.assign(ctx, doc.text("network_id"), wanted, nil)
	if err != nil {
		return nil, err
	}
	doc["fixed_ips"] = documents(addresses)
	doc["id"] = newID()
	c.bind(doc)
	doc["status"] = "ACTIVE"
	if err := c.insert(ctx, ports, doc); err != nil {
		return nil, err
	}
	if err := c.holdMAC(ctx, doc); err != nil {
		return nil, err
	}
	return doc, c.hold(ctx, doc)
}
