package engine

// Purging: finished operations that nobody will ask for any more.

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev/internal/store"
)

// Purge deletes finished operations, with their events and ledgers, and unread
// events: those of resources that are gone when they are older than gone, those
// of others when they are older than kept; 0 keeps for ever. At most limit of
// each sort. One that still owes something, or that another one names, stays;
// so a chain of retries goes from its newest end, a call at a time.
func (e *Engine) Purge(ctx context.Context, tx store.Tx, gone, kept time.Duration, limit int) (deleted int, err error) {
	for kind, r := range e.resources {
		there := `EXISTS (SELECT FROM ` + r.Table + ` r WHERE r.` + r.key() + ` = o.resource_id)`
		for _, purge := range []string{
			`DELETE FROM engine.operations WHERE id IN (SELECT o.id FROM engine.operations o
				WHERE o.resource_type = $1 AND o.finished_at < now() - $2::interval AND %s
					AND NOT EXISTS (SELECT FROM engine.operations heir WHERE heir.retry_of = o.id OR heir.parent_operation_id = o.id)
					AND NOT EXISTS (SELECT FROM engine.operation_effects x WHERE x.operation_id = o.id AND x.state IN ('intended', 'done', 'owed'))
					AND NOT EXISTS (SELECT FROM ` + r.Table + ` r WHERE o.id IN (r.operation_id, r.next_operation_id))
				ORDER BY o.finished_at LIMIT $3)`,
			`DELETE FROM engine.operation_inbox WHERE id IN (SELECT o.id FROM engine.operation_inbox o
				WHERE o.resource_type = $1 AND o.received_at < now() - $2::interval AND %s LIMIT $3)`,
		} {
			for _, age := range []struct {
				than time.Duration
				of   string
			}{{gone, "NOT " + there}, {kept, there}} {
				if age.than == 0 {
					continue
				}
				tag, err := tx.Exec(ctx, fmt.Sprintf(purge, age.of), kind, age.than, limit)
				if err != nil {
					return deleted, fmt.Errorf("purge: %w", store.Translate(err))
				}
				deleted += int(tag.RowsAffected())
			}
		}
	}
	return deleted, nil
}
