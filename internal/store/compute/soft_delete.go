package compute

// Servers that are soft-deleted: kept, and not charged, until they are restored
// or reclaimed. PublishServer notes since when.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// RestoreServer charges the project for a soft-deleted server and says that it
// is being restored; if that fails, PublishServer gives the charge back and its
// time begins anew. Errors: OverLimit.
func RestoreServer(ctx context.Context, tx store.Tx, s *Server) error {
	if _, err := ChargeServers(ctx, tx, s.ProjectID, s.UserID, s.Delta(), 1, 1); err != nil {
		return err
	}
	return changeServer(ctx, tx, s.ID, `soft_deleted_at = NULL, task_state = $2`, servers.TaskRestoring)
}

// Reclaimable gives servers, at most limit, that were soft-deleted longer than
// age ago (0: none) and that no operation has, the oldest first.
func Reclaimable(ctx context.Context, q store.Queryer, age time.Duration, limit int) ([]string, error) {
	if age == 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, `SELECT id::text FROM compute.servers
		WHERE soft_deleted_at < now() - $1::interval AND deleted_at IS NULL AND operation_id IS NULL
		ORDER BY soft_deleted_at LIMIT $2`, age, limit)
	if err != nil {
		return nil, store.Translate(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, store.Translate(err)
}
