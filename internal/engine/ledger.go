package engine

// The ledger: what an operation may have done outside, written before it does.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Intend writes ledger lines for effects that the caller is about to have, or
// finds (State Done) and is about to take away, and gives the whole ledger. An
// effect is one line however often it is intended: kind, ref, host and attempt
// name it. A line that was undone or is owed is opened again, since the steps
// of a workflow task whose worker died run again, and the ledger must never
// know of less than may exist. It carries the generation of its last intention,
// the one under which a host may have what the line speaks of.
// Errors: Superseded, Invalid.
func (e *Engine) Intend(ctx context.Context, tx store.Tx, f steps.Fence, effects ...operations.Effect) ([]operations.Effect, error) {
	op, err := e.CheckFence(ctx, tx, f)
	if err != nil {
		return nil, err
	}
	return op.Intend(ctx, tx, effects...)
}

// Intend is Engine.Intend for an operation whose fence was checked.
func (l Locked) Intend(ctx context.Context, tx store.Tx, effects ...operations.Effect) ([]operations.Effect, error) {
	var b batch
	if err := b.intend(l, effects); err != nil {
		return nil, err
	}
	ledger := b.ledger(l.ID)
	if err := b.send(ctx, tx, "ledger of "+l.ID); err != nil {
		return nil, err
	}
	return *ledger, nil
}

func (b *batch) intend(op Locked, effects []operations.Effect) error {
	for _, effect := range effects {
		if effect.State == "" {
			effect.State = operations.Intended
		}
		if !effect.Open() {
			return faults.New(faults.Invalid, "InvalidEffect", "an effect can't be intended as %q", effect.State)
		}
		b.Queue(`
			INSERT INTO engine.operation_effects AS line (operation_id, seq, kind, ref, host, attempt, generation, state)
			SELECT $1, COALESCE(max(seq), 0) + 1, $2, $3, $4, $5, $6, $7 FROM engine.operation_effects WHERE operation_id = $1
			ON CONFLICT (operation_id, kind, ref, host, attempt) DO UPDATE
			SET state = CASE WHEN line.state IN ('undone', 'owed') THEN EXCLUDED.state ELSE line.state END,
				generation = EXCLUDED.generation, updated_at = now()
			WHERE line.state <> 'passed'`,
			op.ID, effect.Kind, effect.Ref, effect.Host, max(effect.Attempt, 1), op.lock.generation, effect.State)
	}
	return nil
}

// settle writes what became of effects. Twice is as good as once, and what is
// undone or passed on stays so; what is owed can only be undone.
// Errors: Invalid for a line that isn't there, or a state that settles nothing.
func (b *batch) settle(op Locked, settlements []steps.Settlement) error {
	for _, s := range settlements {
		switch s.State {
		case operations.Done, operations.Undone, operations.Owed, operations.Passed:
		default:
			return faults.New(faults.Invalid, "InvalidEffect", "an effect can't be settled as %q", s.State)
		}
		b.Queue(`UPDATE engine.operation_effects SET
				state = CASE WHEN state IN ('intended', 'done') OR (state = 'owed' AND $3 = 'undone') THEN $3 ELSE state END,
				ref = COALESCE(NULLIF($4, ''), ref), updated_at = now()
			WHERE operation_id = $1 AND seq = $2`, op.ID, s.Seq, s.State, s.Ref).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 0 {
				return faults.New(faults.Invalid, "InvalidEffect", "operation %s has no ledger line %d", op.ID, s.Seq)
			}
			return nil
		})
	}
	return nil
}

// ledger reads an operation's lines, by Seq; they are there when the batch has
// been sent.
func (b *batch) ledger(id string) *[]operations.Effect {
	var lines []operations.Effect
	b.Queue(selectLedger, id).Query(func(rows pgx.Rows) (err error) {
		lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[operations.Effect])
		return err
	})
	return &lines
}

const selectLedger = `SELECT seq, kind, ref, host, attempt, state
	FROM engine.operation_effects WHERE operation_id = $1 ORDER BY seq`

// Effects gives an operation's ledger, by Seq.
func (e *Engine) Effects(ctx context.Context, q store.Queryer, operationID string) ([]operations.Effect, error) {
	rows, err := q.Query(ctx, selectLedger, operationID)
	if err != nil {
		return nil, fmt.Errorf("ledger of %s: %w", operationID, store.Translate(err))
	}
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByPos[operations.Effect])
	if err != nil {
		return nil, fmt.Errorf("ledger of %s: %w", operationID, store.Translate(err))
	}
	return lines, nil
}
