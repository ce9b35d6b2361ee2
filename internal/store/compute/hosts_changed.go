package compute

// Hosts as the scheduler keeps them in memory: read once, and again as they change.

import (
	"context"

	"holdfast.dev/internal/store"
)

// Mark is a moment of the database, since which changes of hosts can be asked for
// within an hour or so. The zero Mark is before all of them.
type Mark struct {
	// oldest is the first transaction that had not ended yet.
	oldest string
	// Hosts is how many there were.
	Hosts int
}

// MarkHosts gives the moment of now.
func MarkHosts(ctx context.Context, q store.Queryer) (m Mark, err error) {
	err = q.QueryRow(ctx, `SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text, (SELECT count(*) FROM compute.hosts)`).Scan(&m.oldest, &m.Hosts)
	return m, store.Translate(err)
}

// ChangedHosts hands over, one after the other and in no order, the hosts whose rows
// have been written since the mark, and those with these ids; some may not have been.
// A row says which transaction has written it (xmin), and age counts from now back.
// Of their inventories what every heartbeat changes is left out, so that hosts that are
// alike say the same. While each runs the connection is not free.
func ChangedHosts(ctx context.Context, q store.Queryer, since Mark, ids []string, each func(*Host) error) error {
	rows, err := q.Query(ctx, `SELECT `+hostColumns+`, (h.inventory - '{guests,uptime,steps}'::text[])::text FROM compute.hosts h
		WHERE $1 = '' OR age(h.xmin) <= age(NULLIF($1, '')::xid) OR h.id = ANY ($2::uuid[])`, since.oldest, ids)
	if err != nil {
		return store.Translate(err)
	}
	defer rows.Close()
	for rows.Next() {
		var h scannedHost
		if err := rows.Scan(h.fieldsWithInventory()...); err != nil {
			return store.Translate(err)
		}
		if err := each(h.host()); err != nil {
			return err
		}
	}
	return store.Translate(rows.Err())
}
