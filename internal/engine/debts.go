package engine

// Debts: undos that wait for a host, a service or a node's BMC that was down. A host
// pays before any other work; what services owe stands under no host, and control
// workers pay it; what BMCs owe stands under the queue of their conductors, who pay it.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// Debt is an effect whose undo a host owes.
type Debt struct {
	OperationID string                `json:"operation_id"`
	Seq         int                   `json:"seq"`
	Kind        operations.EffectKind `json:"kind"`
	Ref         string                `json:"ref"`
	Host        string                `json:"host"`
	Attempt     int                   `json:"attempt"`
	// Generation is the one under which the effect was made: whatever the host
	// has of a later one is not what it owes.
	Generation int64 `json:"generation"`
}

// maxDebts bounds what a host is told at once; it asks again when it has paid.
const maxDebts = 500

// Debts gives what a host (or, under "", what services) owes, at most 500: of the
// oldest operation first, and of each its last effect first, as an undo goes. Claims
// are not in it: the room that is owed with a guest is given back with it.
func (e *Engine) Debts(ctx context.Context, q store.Queryer, hostID string) ([]Debt, error) {
	rows, err := q.Query(ctx, `SELECT operation_id, seq, kind, ref, host, attempt, generation
		FROM engine.operation_effects WHERE state = 'owed' AND host = $1 AND kind <> $2
		ORDER BY min(created_at) OVER (PARTITION BY operation_id), operation_id, seq DESC LIMIT $3`, hostID, operations.EffectClaim, maxDebts)
	if err != nil {
		return nil, fmt.Errorf("debts of %s: %w", hostID, store.Translate(err))
	}
	debts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Debt])
	if err != nil {
		return nil, fmt.Errorf("debts of %s: %w", hostID, store.Translate(err))
	}
	return debts, nil
}

// Owed says whether an effect of an operation is.
func (e *Engine) Owed(ctx context.Context, q store.Queryer, operationID string, kind operations.EffectKind, ref string) (owed bool, err error) {
	err = q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM engine.operation_effects
		WHERE operation_id = $1 AND kind = $2 AND ref = $3 AND state = 'owed')`, operationID, kind, ref).Scan(&owed)
	if err != nil {
		return false, fmt.Errorf("debts of %s: %w", operationID, store.Translate(err))
	}
	return owed, nil
}

// Paid settles what a host owed, and with a guest the claims that are owed
// with it, the server's or its migration's, whose room the caller gives back in the same transaction. Paid twice is
// paid once. Errors: NotFound if the host has no such debt, which may have
// moved to a recover operation: the host then asks for its debts again.
func (e *Engine) Paid(ctx context.Context, tx store.Tx, hostID, operationID string, seq int) (Debt, error) {
	rows, err := tx.Query(ctx, `
		WITH paid AS (
			UPDATE engine.operation_effects SET state = 'undone', updated_at = now()
			WHERE operation_id = $1 AND seq = $2 AND host = $3 AND state IN ('owed', 'undone')
			RETURNING operation_id, seq, kind, ref, host, attempt, generation
		), room AS (
			UPDATE engine.operation_effects line SET state = 'undone', updated_at = now()
			FROM paid WHERE paid.kind = $4 AND line.operation_id = paid.operation_id
				AND line.host = paid.host AND line.kind = $5 AND line.state = 'owed'
		)
		SELECT * FROM paid`, operationID, seq, hostID, operations.EffectGuest, operations.EffectClaim)
	if err != nil {
		return Debt{}, fmt.Errorf("pay line %d of %s: %w", seq, operationID, store.Translate(err))
	}
	debts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Debt])
	if err != nil {
		return Debt{}, fmt.Errorf("pay line %d of %s: %w", seq, operationID, store.Translate(err))
	}
	if len(debts) == 0 {
		return Debt{}, faults.New(faults.NotFound, "NotFound", "host %s owes no line %d of operation %s", hostID, seq, operationID)
	}
	return debts[0], nil
}
