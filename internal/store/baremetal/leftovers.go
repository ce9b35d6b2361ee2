package baremetal

// What Neutron has for nodes, and which nodes account for.

import (
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// NetworkPort is a port of Neutron that was made for a node's ramdisk, or, Bound, one of
// somebody's that is bound to a node.
type NetworkPort struct {
	ID, NodeID string
	Bound      bool
}

// LeftOverPorts finds those for which no operation, no debt and no row accounts. Ports of
// nodes that this service has never known are somebody else's; one that a server has may be
// bound to its node before that bears it.
func LeftOverPorts(ctx context.Context, q store.Queryer, ports []NetworkPort) ([]engine.Finding, error) {
	if len(ports) == 0 {
		return nil, nil
	}
	var ids, nodeIDs []string
	var bound []bool
	for _, p := range ports {
		ids, nodeIDs, bound = append(ids, p.ID), append(nodeIDs, p.NodeID), append(bound, p.Bound)
	}
	rows, err := q.Query(ctx, `SELECT m.id, format(CASE WHEN m.bound THEN 'bound to node %s, which doesn''t bear it' ELSE 'made for a ramdisk of node %s' END, m.node_id)
		FROM unnest($1::text[], $2::text[], $3::boolean[]) AS m (id, node_id, bound)
		LEFT JOIN baremetal.nodes n ON n.uuid::text = m.node_id
		WHERE n.operation_id IS NULL AND (n.uuid IS NOT NULL OR EXISTS (SELECT FROM engine.operations o WHERE o.resource_type = $5 AND o.resource_id::text = m.node_id))
			AND NOT EXISTS (SELECT FROM engine.operation_effects e WHERE e.kind = $4 AND e.ref = m.node_id AND e.state = 'owed')
			AND NOT (m.bound AND EXISTS (SELECT FROM baremetal.ports p WHERE p.node_uuid = n.uuid AND p.internal_info ->> '`+VIFKey+`' = m.id))
			AND NOT (m.bound AND EXISTS (SELECT FROM baremetal.portgroups g WHERE g.node_uuid = n.uuid AND g.internal_info ->> '`+VIFKey+`' = m.id))
			AND NOT (m.bound AND EXISTS (SELECT FROM compute.server_ports s WHERE s.port_id = m.id))
		ORDER BY m.id LIMIT 1000`, ids, nodeIDs, bound, operations.EffectNetwork, operations.Node)
	if err != nil {
		return nil, store.Translate(err)
	}
	found, err := collect(rows, func(f *engine.Finding) []any { return []any{&f.Subject, &f.Detail} })
	if err != nil {
		return nil, err
	}
	all := make([]engine.Finding, len(found))
	for i, f := range found {
		all[i] = *f
	}
	return all, nil
}
