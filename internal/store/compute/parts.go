package compute

// Parts of hosts that are single guests': where those lie on NUMA cells, which devices
// they have, and how much of other resource classes, as their allocations say.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Parts is what guests take of a host's cells, devices and other resources.
type Parts struct {
	Cells     numa.Usage
	Devices   pci.Taken
	Resources map[string]int64
}

// LockParts locks a host and gives it with what guests take of its parts.
func LockParts(ctx context.Context, tx store.Tx, hostID string) (*Host, *Parts, error) {
	if err := lockHost(ctx, tx, hostID); err != nil {
		return nil, nil, err
	}
	host, err := GetHost(ctx, tx, hostID)
	if err != nil {
		return nil, nil, err
	}
	parts, err := takenParts(ctx, tx, `a.host_id = $1`, hostID)
	if err != nil {
		return nil, nil, err
	}
	if parts[hostID] == nil {
		return host, &Parts{}, nil
	}
	return host, parts[hostID], nil
}

// lockHost keeps others from choosing parts of a host until the transaction ends.
func lockHost(ctx context.Context, tx store.Tx, hostID string) error {
	_, err := tx.Exec(ctx, `SELECT FROM compute.hosts WHERE id = $1 FOR UPDATE`, hostID)
	return store.Translate(err)
}

// TakenParts gives what guests take of these hosts' parts, by host; hosts of which
// none has any are left out.
func TakenParts(ctx context.Context, q store.Queryer, hostIDs ...string) (map[string]*Parts, error) {
	return takenParts(ctx, q, `a.host_id = ANY ($1::uuid[])`, hostIDs)
}

func takenParts(ctx context.Context, q store.Queryer, where string, args ...any) (map[string]*Parts, error) {
	rows, err := q.Query(ctx, `SELECT a.host_id::text, a.numa, NULL, NULL, NULL::bigint FROM compute.allocations a WHERE a.numa IS NOT NULL AND `+where+`
		UNION ALL SELECT a.host_id::text, NULL, a.address, NULL, NULL::bigint FROM compute.passed_devices a WHERE `+where+`
		UNION ALL SELECT a.host_id::text, NULL, NULL, a.class, sum(a.amount)::bigint FROM compute.claimed_resources a WHERE `+where+` GROUP BY a.host_id, a.class`, args...)
	if err != nil {
		return nil, store.Translate(err)
	}
	defer rows.Close()
	all := map[string]*Parts{}
	for rows.Next() {
		var host string
		var placed *numa.Placement
		var device, class *string
		var amount *int64
		if err := rows.Scan(&host, &placed, &device, &class, &amount); err != nil {
			return nil, store.Translate(err)
		}
		if all[host] == nil {
			all[host] = &Parts{Devices: pci.Taken{}, Resources: map[string]int64{}}
		}
		all[host].Cells.Add(placed)
		if device != nil {
			all[host].Devices[*device] = true
		}
		if class != nil {
			all[host].Resources[*class] = *amount
		}
	}
	return all, store.Translate(rows.Err())
}

// MayHaveParts says whether the server's guest may have any: those of most don't,
// since they ask for none.
func (s *Server) MayHaveParts() bool {
	cells, err := numa.Read(s.Flavor.ExtraSpecs, s.ImageProperties, s.VCPUs, s.MemoryMB)
	return err != nil || cells != nil || pci.Wants(s.Flavor.ExtraSpecs)
}

// PlaceOf says where the server's guest lies and which devices it has: the one that
// it is, or where it is to be while an operation brings it elsewhere; with
// steps.OldSize the one that its open migration has left. A nil placement is on no
// cell in particular.
func PlaceOf(ctx context.Context, q store.Queryer, serverID string, size steps.Size) (placed *numa.Placement, devices pci.Devices, err error) {
	err = q.QueryRow(ctx, `SELECT a.numa, (SELECT json_agg(json_build_object('alias', d.alias, 'address', d.address) ORDER BY d.address)
				FROM compute.passed_devices d WHERE d.consumer_id = a.consumer_id AND d.host_id = a.host_id)
		FROM compute.allocations a LEFT JOIN compute.migrations m ON m.server_id = a.server_id AND m.open
		WHERE a.server_id = $1 AND CASE WHEN $2 THEN a.host_id = m.source_host_id ELSE a.consumer_id = a.server_id END
		ORDER BY $2 AND a.consumer_id = m.uuid DESC, a.created_at DESC LIMIT 1`, serverID, size == steps.OldSize).Scan(&placed, &devices)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	return placed, devices, store.Translate(err)
}
