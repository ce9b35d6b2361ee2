package workers_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/workers"
)

// What services owe is tried again until it is paid; what nobody can pay, and
// what is owed under a name, is left alone. Who has that name pays that.
func TestDebts(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	e := engine.New(db, compute.Resource())
	id := computetest.AddServer(t, db, "p").ID
	computetest.InTx(t, db, func(tx store.Tx) error {
		accepted, err := e.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerBuild, ResourceID: id, ProjectID: "p"})
		if err != nil {
			return err
		}
		f := steps.Fence{OperationID: accepted.OperationID, RunID: uuid.NewString()}
		begun, err := e.Begin(t.Context(), tx, steps.BeginIn{OperationID: f.OperationID, RunID: f.RunID})
		if err != nil {
			return err
		}
		f.Generation = begun.Generation
		if _, err := e.Advance(t.Context(), tx, steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Intend: []operations.Effect{
			{Kind: operations.EffectPorts, Ref: id}, {Kind: operations.EffectVolumes, Ref: id}, {Kind: operations.EffectGuest, Ref: id, Host: "h"}}}); err != nil {
			return err
		}
		_, err = e.Finish(t.Context(), tx, steps.FinishIn{Fence: f, Result: operations.ResultFailed, Settle: []steps.Settlement{
			{Seq: 1, State: operations.Owed}, {Seq: 2, State: operations.Owed}, {Seq: 3, State: operations.Owed}}})
		return err
	})
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var tries int
	workers.Debts{DB: db, Engine: e, Every: 10 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pay: map[operations.EffectKind]func(context.Context, engine.Debt) error{
			operations.EffectPorts: func(ctx context.Context, d engine.Debt) error {
				if tries++; tries < 3 {
					return faults.New(faults.Unavailable, "Down", "down")
				}
				if d.Ref != id || d.Seq != 1 {
					t.Errorf("asked to pay %+v", d)
				}
				defer cancel()
				return db.InTx(ctx, func(tx store.Tx) error {
					_, err := e.Paid(ctx, tx, "", d.OperationID, d.Seq)
					return err
				})
			},
		}}.Run(ctx)
	left, err := e.Debts(t.Context(), db.Pool, "")
	if err != nil || tries != 3 || len(left) != 1 || left[0].Kind != operations.EffectVolumes {
		t.Errorf("after %d tries %+v is owed (%v)", tries, left, err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var paid engine.Debt
	workers.Debts{DB: db, Engine: e, Of: "h", Log: slog.New(slog.DiscardHandler),
		Pay: map[operations.EffectKind]func(context.Context, engine.Debt) error{
			operations.EffectGuest: func(_ context.Context, d engine.Debt) error {
				defer cancel()
				paid = d
				return nil
			},
		}}.Run(ctx)
	if paid.Seq != 3 || paid.Host != "h" {
		t.Errorf("h is asked to pay %+v", paid)
	}
}
