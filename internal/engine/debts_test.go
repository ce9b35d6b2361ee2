package engine_test

import (
	"context"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

func TestDebts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pay := func(host, op string, seq int) (engine.Debt, error) {
		return tx(w, func(ctx context.Context, tx store.Tx) (engine.Debt, error) { return w.e.Paid(ctx, tx, host, op, seq) })
	}
	owes := func(host string) []engine.Debt { return must(w.e.Debts(t.Context(), w.db.Pool, host))(t) }

	_, f := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{claim("h1"), guest("h1"), claim("h2"), guest("h2")}})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepUndo, Settle: []steps.Settlement{
		{Seq: 4, State: operations.Owed}, {Seq: 3, State: operations.Owed}, {Seq: 2, State: operations.Owed}, {Seq: 1, State: operations.Owed}}})
	w.finish(f, operations.ResultFailed)

	want := engine.Debt{OperationID: f.OperationID, Seq: 2, Kind: operations.EffectGuest, Ref: "g", Host: "h1", Attempt: 1, Generation: 1}
	if got := owes("h1"); len(got) != 1 || got[0] != want {
		t.Errorf("h1 owes %+v, want %+v", got, want)
	}
	if _, err := pay("h2", f.OperationID, 2); !faults.Is(err, faults.NotFound) {
		t.Errorf("h2 pays what h1 owes: %v", err)
	}
	if _, err := pay("h1", f.OperationID, 9); !faults.Is(err, faults.NotFound) {
		t.Errorf("h1 pays what nobody owes: %v", err)
	}
	for range 2 {
		if got, err := pay("h1", f.OperationID, 2); err != nil || got != want {
			t.Errorf("paid %+v, %v", got, err)
		}
	}
	ledger := must(w.e.Effects(t.Context(), w.db.Pool, f.OperationID))(t)
	if got := states(ledger); got[0] != operations.Undone || got[1] != operations.Undone || got[2] != operations.Owed || got[3] != operations.Owed {
		t.Errorf("the ledger is %+v", ledger)
	}
	if len(owes("h1")) != 0 || len(owes("h2")) != 1 {
		t.Errorf("h1 owes %+v, h2 owes %+v", owes("h1"), owes("h2"))
	}
	w.silent()
}

// What a run that took over has made is of its generation, and so is the debt.
func TestDebtsAreOfTheLastIntention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, f := w.running(operations.ServerBuild)
	in := steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}}
	w.advance(in)
	in.Fence = w.begin(f.OperationID, "run-2")
	w.advance(in)
	w.advance(steps.AdvanceIn{Fence: in.Fence, Step: operations.StepUndo, Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}}})
	debts := must(w.e.Debts(t.Context(), w.db.Pool, "h1"))(t)
	if len(debts) != 1 || debts[0].Generation != 2 {
		t.Errorf("h1 owes %+v, want one of generation 2", debts)
	}
}
