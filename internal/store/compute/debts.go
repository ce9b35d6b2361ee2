package compute

// Debts of hosts, as far as they are room.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// unaccounted says that nothing accounts for allocation a: its server isn't on
// that host, no open migration keeps it, no operation has the claim in its open
// ledger, no host owes it, and none that runs is about to put its server there.
const unaccounted = `NOT EXISTS (
		SELECT FROM compute.servers s WHERE s.id = a.consumer_id AND s.host_id = a.host_id AND s.deleted_at IS NULL)
	AND NOT EXISTS (
		SELECT FROM compute.migrations m WHERE m.uuid = a.consumer_id AND m.source_host_id = a.host_id AND m.open)
	AND NOT EXISTS (
		SELECT FROM engine.operation_effects e JOIN engine.operations o ON o.id = e.operation_id
		WHERE e.kind = 'claim' AND e.ref = a.consumer_id::text AND e.host = a.host_id::text
			AND (e.state IN ('intended', 'done', 'owed') OR e.state = 'passed' AND o.finished_at IS NULL))`

// PayDebt takes note that the host has paid a debt, and gives back the room
// that was owed with a guest, by the server or by a migration of it. Said twice
// it is paid once: room that is held there since stays. Errors: NotFound (the
// host owes no such thing); Unavailable (its operation has not ended: until then
// nobody knows which room is owed with a guest).
func PayDebt(ctx context.Context, tx store.Tx, e *engine.Engine, hostID, operationID string, seq int) error {
	var ended bool
	err := tx.QueryRow(ctx, `SELECT finished_at IS NOT NULL FROM engine.operations WHERE id = $1 FOR SHARE`, operationID).Scan(&ended)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // it owes nothing
	case err != nil:
		return store.Translate(err)
	case !ended:
		return faults.New(faults.Unavailable, "OperationNotOver", "operation %s has not ended yet", operationID)
	}
	debt, err := e.Paid(ctx, tx, hostID, operationID, seq)
	if err != nil || debt.Kind != operations.EffectGuest || !isUUID(debt.Ref) || !isUUID(debt.Host) {
		return err
	}
	return release(ctx, tx, debt.Host, false, "a.server_id = $3 AND "+unaccounted, debt.Ref)
}
