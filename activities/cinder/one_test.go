package cinder_test

import (
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
)

// A volume that the server has no device of is not attached.
func TestAttachOfNoDevice(t *testing.T) {
	t.Parallel()
	w := three(t)
	_, err := w.a.Attach(t.Context(), steps.AttachIn{Fence: w.fence, HostID: w.host, VolumeID: "another"})
	if !faults.Is(err, faults.NotFound) || len(w.attachments) != 0 {
		t.Errorf("%v, attachments %v", err, w.attachments)
	}
}

// A server that is on no host has its attachment reserved.
func TestAttachOnNoHost(t *testing.T) {
	t.Parallel()
	w := three(t)
	if _, err := w.a.Attach(t.Context(), steps.AttachIn{Fence: w.fence, VolumeID: one}); err != nil {
		t.Fatal(err)
	}
	wantOne("reserved")(w)
}

// The debt of one volume is paid while the server lives on, and its row goes.
func TestPayOne(t *testing.T) {
	t.Parallel()
	w := ready(t, oneInUse)
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		for _, in := range []steps.AdvanceIn{
			{Fence: w.fence, Step: operations.StepUndo, Intend: []operations.Effect{{Kind: operations.EffectVolume, Ref: one}}},
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
		if err := w.a.Pay(t.Context(), debts[0]); err != nil {
			t.Error(err)
		}
		wantNone(w)
	}
	if debts, err := w.engine.Debts(t.Context(), w.db.Pool, ""); err != nil || len(debts) != 0 {
		t.Errorf("%+v, %v", debts, err)
	}
}
