package compute

// Where guests lie on the NUMA cells of their hosts, as their allocations say.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// CellsOf locks a host and gives it with what guests take on its cells.
func CellsOf(ctx context.Context, tx store.Tx, hostID string) (*Host, *numa.Usage, error) {
	if _, err := tx.Exec(ctx, `SELECT FROM compute.hosts WHERE id = $1 FOR UPDATE`, hostID); err != nil {
		return nil, nil, store.Translate(err)
	}
	host, err := GetHost(ctx, tx, hostID)
	if err != nil {
		return nil, nil, err
	}
	usages, err := usages(ctx, tx, `a.host_id = $1`, hostID)
	return host, usages[hostID], err
}

// Usages gives what guests take on the cells of hosts, by host; hosts on which
// none lies on cells are left out.
func Usages(ctx context.Context, q store.Queryer) (map[string]*numa.Usage, error) {
	return usages(ctx, q, `true`)
}

func usages(ctx context.Context, q store.Queryer, where string, args ...any) (map[string]*numa.Usage, error) {
	rows, err := q.Query(ctx, `SELECT a.host_id::text, a.numa FROM compute.allocations a WHERE a.numa IS NOT NULL AND `+where, args...)
	if err != nil {
		return nil, store.Translate(err)
	}
	defer rows.Close()
	all := map[string]*numa.Usage{}
	for rows.Next() {
		var host string
		var placed numa.Placement
		if err := rows.Scan(&host, &placed); err != nil {
			return nil, store.Translate(err)
		}
		if all[host] == nil {
			all[host] = &numa.Usage{}
		}
		all[host].Add(&placed)
	}
	return all, store.Translate(rows.Err())
}

// PlacementOf says where the server's guest lies: the one that it is, or where it
// is to be while an operation brings it elsewhere; with steps.OldSize the one
// that its open migration has left. Nil, on no cell in particular.
func PlacementOf(ctx context.Context, q store.Queryer, serverID string, size steps.Size) (*numa.Placement, error) {
	var placed *numa.Placement
	err := q.QueryRow(ctx, `SELECT a.numa FROM compute.allocations a
			LEFT JOIN compute.migrations m ON m.server_id = a.server_id AND m.open
		WHERE a.server_id = $1 AND CASE WHEN $2 THEN a.host_id = m.source_host_id ELSE a.consumer_id = a.server_id END
		ORDER BY $2 AND a.consumer_id = m.uuid DESC, a.created_at DESC LIMIT 1`, serverID, size == steps.OldSize).Scan(&placed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return placed, store.Translate(err)
}
