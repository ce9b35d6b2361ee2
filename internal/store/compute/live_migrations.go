package compute

// Live migrations under way: whose turn it is, and what was asked of them.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
)

// MaxLiveMigrations is how many guests leave a host at once (contracts:
// quotas-and-limits.json, max_concurrent_live_migrations).
const MaxLiveMigrations = 1

// BeginMove makes an operation's live migration one of those that leave its
// source now; false if there are as many already. The caller holds the server's row.
func BeginMove(ctx context.Context, tx store.Tx, operationID string) (bool, error) {
	// Those of one host come one after the other.
	if _, err := tx.Exec(ctx, `SELECT FROM compute.hosts WHERE id = (SELECT source_host_id FROM compute.migrations
		WHERE operation_id = $1 AND open) FOR UPDATE`, operationID); err != nil {
		return false, store.Translate(err)
	}
	tag, err := tx.Exec(ctx, `UPDATE compute.migrations m SET status = $2, updated_at = now()
		WHERE m.operation_id = $1 AND m.open AND (m.status = $2 OR $4 > (SELECT count(*) FROM compute.migrations o
			WHERE o.source_host_id = m.source_host_id AND o.open AND o.id <> m.id AND o.migration_type = $5 AND o.status IN ($2, $3)))`,
		operationID, servers.MigrationPreparing, servers.MigrationRunning, MaxLiveMigrations, servers.LiveMigration)
	return tag.RowsAffected() > 0, store.Translate(err)
}

// ForceComplete notes that a live migration that runs is to be forced to complete.
func ForceComplete(ctx context.Context, tx store.Tx, m *Migration) error {
	_, err := tx.Exec(ctx, `UPDATE compute.migrations SET forced = true, updated_at = now() WHERE id = $1 AND open`, m.ID)
	return store.Translate(err)
}

// ForcedToComplete says whether an operation's live migration is.
func ForcedToComplete(ctx context.Context, q store.Queryer, operationID string) (forced bool, err error) {
	err = q.QueryRow(ctx, `SELECT COALESCE(bool_or(forced), false) FROM compute.migrations WHERE operation_id = $1 AND open`, operationID).Scan(&forced)
	return forced, store.Translate(err)
}

// MustBe refuses a migration in another status than those, with the words
// of nova.exception.InvalidMigrationState.
func (m *Migration) MustBe(method string, statuses ...servers.MigrationStatus) error {
	for _, s := range statuses {
		if m.Status == s {
			return nil
		}
	}
	return faults.New(faults.Invalid, "InvalidMigrationState",
		"Migration %d state of instance %s is %s. Cannot %s while the migration is in this state.", m.ID, m.ServerID, m.Status, method)
}
