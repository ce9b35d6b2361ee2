package network

// Networks.

import "context"

func createNetwork(ctx context.Context, c *change, doc document) error {
	doc["status"] = "ACTIVE"
	doc["availability_zones"] = []any{zone}
	doc["ipv4_address_scope"], doc["ipv6_address_scope"] = nil, nil
	// Each is a bridge of its own on one machine.
	for name, value := range map[string]any{"provider:network_type": "local", "provider:physical_network": nil, "provider:segmentation_id": nil} {
		if !doc.has(name) {
			doc[name] = value
		}
	}
	return c.onlyDefault(ctx, doc)
}

func updateNetwork(ctx context.Context, c *change, _, _, after document) error {
	return c.onlyDefault(ctx, after)
}

// autoDeleted are the owners of ports that go with the network or subnet.
const autoDeleted = `r.body->>'device_owner' = 'network:dhcp'`

func removeNetwork(ctx context.Context, c *change, doc document) error {
	id := doc.text("id")
	used, err := where(ctx, c.tx, ports, `r.body->>'network_id' = $1 AND NOT `+autoDeleted, id)
	if err != nil {
		return err
	}
	if len(used) > 0 {
		return conflict("NetworkInUse", "Unable to complete operation on network %s. There are one or more ports still in use on the network.", id)
	}
	for _, k := range []*kind{ports, subnets} {
		inside, err := where(ctx, c.tx, k, `r.body->>'network_id' = $1`, id)
		if err != nil {
			return err
		}
		for _, one := range inside {
			if err := c.remove(ctx, k, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// networkSubnets adds the ids of each network's subnets.
func networkSubnets(ctx context.Context, q querier, docs []document) error {
	byID := map[string]document{}
	ids := make([]string, 0, len(docs))
	for _, doc := range docs {
		doc["subnets"] = []any{}
		byID[doc.text("id")] = doc
		ids = append(ids, doc.text("id"))
	}
	found, err := where(ctx, q, subnets, `r.body->>'network_id' = ANY($1)`, ids)
	if err != nil {
		return err
	}
	for _, subnet := range found {
		doc := byID[subnet.text("network_id")]
		doc["subnets"] = append(doc["subnets"].([]any), subnet.text("id"))
	}
	return nil
}

// usableNetwork reads a network that the caller may put a port on, held
// against deletion.
func (c *change) usableNetwork(ctx context.Context, id string) (document, error) {
	doc, err := c.find(ctx, networks, id, inUse)
	if err != nil {
		return nil, err
	}
	if !c.owns(doc) && !doc.flag("shared") {
		return nil, forbidden("create_port:network_id")
	}
	return doc, nil
}
