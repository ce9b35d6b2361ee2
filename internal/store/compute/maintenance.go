package compute

// What is done to servers' rows from time to time.

import (
	"context"
	"time"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// shownPower is servers.PowerState.Shown of what a host reports.
const shownPower = `CASE g.power_state WHEN 7 THEN 4 ELSE g.power_state END`

// savedYet says that a guest's memory is on disk and its server's row doesn't know.
const savedYet = `(g.power_state = 7 AND s.vm_state IN ('active', 'paused'))`

// SyncPower writes the power state that hosts report to the rows of servers that
// no operation has, and says how many have changed. A server whose guest was
// suspended by an operation that could not be told so is suspended: to take it
// for one that went off would cost the guest its memory. Hosts that are down say
// nothing, and a report older than a row's last change neither.
func SyncPower(ctx context.Context, tx store.Tx, downAfter time.Duration) (int, error) {
	tag, err := tx.Exec(ctx, `UPDATE compute.servers s SET power_state = `+shownPower+`,
			vm_state = CASE WHEN `+savedYet+` THEN 'suspended' ELSE s.vm_state END
		FROM `+reported+` WHERE s.id = g.id AND s.host_id = h.id AND s.deleted_at IS NULL AND s.operation_id IS NULL
			AND (s.power_state <> `+shownPower+` OR `+savedYet+`) AND s.vm_state <> 'building' AND NOT h.forced_down
			AND h.last_seen > now() - $1::interval AND `+settled, downAfter)
	return int(tag.RowsAffected()), store.Translate(err)
}

// OutOfStep gives servers, at most limit, whose power and state can't both stay
// (servers.OutOfStep) and that no operation has.
func OutOfStep(ctx context.Context, q store.Queryer, limit int) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT s.id::text, s.vm_state, s.power_state FROM compute.servers s
		WHERE s.deleted_at IS NULL AND s.operation_id IS NULL AND s.host_id IS NOT NULL AND s.task_state IS NULL
			AND (s.vm_state IN ('active', 'paused') AND s.power_state IN (4, 6) OR s.vm_state = 'stopped' AND s.power_state NOT IN (0, 4, 6))
		ORDER BY s.id LIMIT $1`, limit)
	if err != nil {
		return nil, store.Translate(err)
	}
	type row struct {
		id    string
		vm    servers.VMState
		power servers.PowerState
	}
	found, err := collect(rows, func(r *row) []any { return []any{&r.id, &r.vm, &r.power} })
	var ids []string
	for _, r := range found {
		if servers.OutOfStep(r.vm, r.power) {
			ids = append(ids, r.id)
		}
	}
	return ids, err
}

// PurgeServers deletes the rows of servers that were deleted longer than age ago
// (0: none), at most limit, and says how many. One with room or debts stays.
func PurgeServers(ctx context.Context, tx store.Tx, age time.Duration, limit int) (int, error) {
	if age == 0 {
		return 0, nil
	}
	tag, err := tx.Exec(ctx, `DELETE FROM compute.servers WHERE id IN (SELECT s.id FROM compute.servers s
		WHERE s.deleted_at < now() - $1::interval AND s.operation_id IS NULL AND s.next_operation_id IS NULL
			AND NOT EXISTS (SELECT FROM compute.allocations a WHERE a.server_id = s.id)
			AND NOT EXISTS (SELECT FROM engine.operation_effects e WHERE e.ref = s.id::text AND `+accounted+`)
		ORDER BY s.deleted_at LIMIT $2)`, age, limit)
	return int(tag.RowsAffected()), store.Translate(err)
}
