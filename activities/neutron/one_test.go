package neutron_test

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
)

// allocateAt gives the interface at a position its port.
func allocateAt(w *world, position int) (steps.AllocateOut, error) {
	return w.a.Allocate(w.Context(), steps.AllocateIn{Fence: w.fence, HostID: w.host, Position: &position})
}

func deallocateAt(w *world, position int) error {
	_, err := w.a.Deallocate(w.Context(), steps.DeallocateIn{Fence: w.fence, Position: &position})
	return err
}

// One interface comes and goes by itself, twice: one of ours and a user's own.
func TestOneInterface(t *testing.T) {
	t.Parallel()
	for position, id := range []string{"made-1", "own-1"} {
		w := three(t)
		for range 2 {
			out, err := allocateAt(w, position)
			if err != nil || out.PortID != id || out.Ports != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
			for i, r := range w.rows() {
				if r.Bound != (i == position) {
					t.Errorf("row %d is %+v", i, r)
				}
			}
		}
		for range 2 {
			if err := deallocateAt(w, position); err != nil {
				t.Fatal(err)
			}
			if own := w.ports["own-1"]; len(w.ports) != 2 || own["device_id"] == w.server || len(w.rows()) != 2 {
				t.Errorf("ports %v, %d rows", w.ports, len(w.rows()))
			}
		}
	}
}

// Each call's answer is lost in turn; the interface then comes, or goes.
func TestOneInterfaceWhoseAnswersAreLost(t *testing.T) {
	t.Parallel()
	for position := range 2 {
		for at := 0; ; at++ {
			w := three(t)
			w.loseAt = at
			_, err := allocateAt(w, position)
			over := err == nil && at >= len(w.calls)
			w.loseAt = -1
			if at%2 == 0 {
				if _, err := allocateAt(w, position); err != nil || w.made > 1 {
					t.Errorf("after call %d: %v, %d made", at, err, w.made)
				}
			}
			if err := deallocateAt(w, position); err != nil || len(w.ports) != 2 || len(w.rows()) != 2 {
				t.Errorf("after call %d: %v, ports %v", at, err, w.ports)
			}
			if over {
				break
			}
		}
	}
}

// The debt of one interface is paid while the server lives on, and its row goes.
func TestPayOne(t *testing.T) {
	t.Parallel()
	w := three(t)
	if _, err := allocateAt(w, 0); err != nil {
		t.Fatal(err)
	}
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		for _, in := range []steps.AdvanceIn{
			{Fence: w.fence, Step: operations.StepUndo, Intend: []operations.Effect{{Kind: operations.EffectPort, Ref: "0"}}},
			{Fence: w.fence, Step: operations.StepUndo, Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}}},
		} {
			if _, err := w.engine.Advance(t.Context(), tx, in); err != nil {
				return err
			}
		}
		return nil
	})
	debts, err := w.engine.Debts(t.Context(), w.db.Pool, "")
	if err != nil || len(debts) != 1 {
		t.Fatalf("%+v, %v", debts, err)
	}
	for range 2 {
		if err := w.a.Pay(t.Context(), debts[0]); err != nil || len(w.ports) != 2 || len(w.rows()) != 2 {
			t.Errorf("%v, ports %v", err, w.ports)
		}
	}
}
