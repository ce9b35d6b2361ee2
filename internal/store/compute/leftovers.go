package compute

// What services have that was made for servers, and which servers account for.

import (
	"context"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// Made is something at a service that bears a server's mark.
type Made struct {
	ID, ServerID string
	Position     int
	// Used says that it belongs to a server by what its service says.
	Used bool
}

// LeftOver is one that nobody accounts for, and why.
type LeftOver struct{ ID, Why string }

// leftOver finds those of the things that are given for which no row, no running
// operation and no debt accounts: their servers are gone, or have others.
const leftOver = `SELECT m.id, format('made for server %s, which %s', m.server_id, CASE
		WHEN s.id IS NULL THEN 'is not there' WHEN s.deleted_at IS NOT NULL THEN 'is deleted' ELSE 'does not have it' END)
	FROM unnest($1::text[], $2::uuid[], $3::integer[], $4::boolean[]) AS m (id, server_id, position, used)
	LEFT JOIN compute.servers s ON s.id = m.server_id
	WHERE NOT EXISTS (SELECT FROM engine.operations o WHERE o.resource_id = m.server_id AND o.finished_at IS NULL)
		AND NOT EXISTS (SELECT FROM engine.operation_effects e WHERE e.kind = $5 AND e.ref = m.server_id::text AND ` + accounted + `)
		AND NOT EXISTS (`

// LeftOverPorts gives the ports that a server's own rows don't have.
func LeftOverPorts(ctx context.Context, q store.Queryer, ports []Made) ([]*LeftOver, error) {
	return leftOvers(ctx, q, operations.EffectPorts, ports, leftOver+`SELECT FROM compute.server_ports x
		WHERE x.server_id = m.server_id AND x.port_id = m.id AND s.deleted_at IS NULL) ORDER BY m.id LIMIT 1000`)
}

// LeftOverVolumes gives the volumes that a server's own rows don't have. One that
// was to outlive its server is its user's afterwards, and so is one that is used
// by nobody and whose server is long forgotten.
func LeftOverVolumes(ctx context.Context, q store.Queryer, volumes []Made) ([]*LeftOver, error) {
	return leftOvers(ctx, q, operations.EffectVolumes, volumes, leftOver+`SELECT FROM compute.block_devices x
		WHERE x.server_id = m.server_id AND x.position = m.position
			AND (s.deleted_at IS NULL AND x.volume_id = m.id OR s.deleted_at IS NOT NULL AND NOT x.delete_on_termination))
		AND (s.id IS NOT NULL OR m.used) ORDER BY m.id LIMIT 1000`)
}

func leftOvers(ctx context.Context, q store.Queryer, kind operations.EffectKind, made []Made, sql string) ([]*LeftOver, error) {
	if len(made) == 0 {
		return nil, nil
	}
	var ids, serverIDs []string
	var positions []int
	var used []bool
	for _, m := range made {
		ids, serverIDs, positions, used = append(ids, m.ID), append(serverIDs, m.ServerID), append(positions, m.Position), append(used, m.Used)
	}
	rows, err := q.Query(ctx, sql, ids, serverIDs, positions, used, kind)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, func(l *LeftOver) []any { return []any{&l.ID, &l.Why} })
}
