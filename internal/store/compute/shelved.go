package compute

// Servers on the shelf. PublishServer notes since when, and their image.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// Offloadable gives servers, at most limit, that were shelved longer than age ago
// (0 or less: none), are on their hosts still and that no operation has, the
// oldest first.
func Offloadable(ctx context.Context, q store.Queryer, age time.Duration, limit int) ([]string, error) {
	if age <= 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, `SELECT id::text FROM compute.servers
		WHERE shelved_at < now() - $1::interval AND host_id IS NOT NULL AND deleted_at IS NULL AND operation_id IS NULL AND vm_state = $3
		ORDER BY shelved_at LIMIT $2`, age, limit, servers.VMShelved)
	if err != nil {
		return nil, store.Translate(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, store.Translate(err)
}
