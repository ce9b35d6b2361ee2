package records_test

import (
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

func (w *world) cancel(operation string) {
	w.Helper()
	computetest.InTx(w, w.db, func(tx store.Tx) error {
		_, err := w.engine.RequestCancel(w.Context(), tx, operation, "the test")
		return err
	})
}

// A build that is done when its cancel has been accepted is undone all the
// same; one that is beyond its point of no return is finished.
func TestACancelThatCameBeforeTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := computetest.AddServer(t, w.db, "p").ID
	op := w.accept(operations.ServerBuild, id, servers.TaskScheduling)
	_, fence := w.begin(op)
	w.cancel(op)

	active := "active"
	done := steps.FinishIn{Fence: fence, Result: operations.ResultDone, Server: &steps.ServerOutcome{VMState: &active}}
	if out := twice(w, w.finish, done); !out.Cancelled {
		t.Errorf("a cancelled build was finished: %+v", out)
	}
	if s := w.server(id); s.VMState != servers.VMBuilding || s.OperationID != op {
		t.Errorf("the server is %s and held by %q", s.VMState, s.OperationID)
	}
	broken := "error"
	undone := steps.FinishIn{Fence: fence, Result: operations.ResultCancelled, Server: &steps.ServerOutcome{VMState: &broken},
		Fault: &steps.Fault{Code: "Cancelled", Message: "the operation was cancelled", HTTPCode: 409}}
	if out := twice(w, w.finish, undone); out.Cancelled {
		t.Errorf("the undone build was not finished: %+v", out)
	}

	stop := w.accept(operations.ServerDelete, id, servers.TaskDeleting)
	_, fence = w.begin(stop)
	w.cancel(stop)
	gone := steps.FinishIn{Fence: fence, Result: operations.ResultDone, Server: &steps.ServerOutcome{Deleted: true}}
	if out, err := w.finish(gone); err != nil || out.Cancelled {
		t.Errorf("a delete is forward from its first step: %+v (%v)", out, err)
	}
}

// A claim that a host owes with a guest is not the server's to give back.
func TestWhatIsOwedIsNotHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := computetest.AddHost(t, w.db, "h", computetest.Room)
	id := computetest.AddServer(t, w.db, "p").ID
	op := w.accept(operations.ServerBuild, id, servers.TaskScheduling)
	_, fence := w.begin(op)
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		ok, err := compute.ClaimOnHost(t.Context(), tx, id, host, op, compute.Claim{Room: compute.Room{VCPUs: 1, MemoryMB: 512, DiskGB: 1}})
		if err != nil || !ok {
			t.Fatalf("no room: %v", err)
		}
		_, err = w.engine.Intend(t.Context(), tx, fence,
			operations.Effect{Kind: operations.EffectClaim, Ref: id, Host: host},
			operations.Effect{Kind: operations.EffectGuest, Ref: id, Host: host})
		return err
	})
	held := func() []operations.Effect {
		holds, err := compute.Holds(t.Context(), w.db.Pool, id)
		if err != nil {
			t.Fatal(err)
		}
		return holds
	}
	if h := held(); len(h) != 1 || h[0].Kind != operations.EffectClaim {
		t.Errorf("the server holds %+v", h)
	}
	_, err := w.advance(steps.AdvanceIn{Fence: fence, Step: operations.StepUndo, Attempt: 1,
		Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}, {Seq: 2, State: operations.Owed}}})
	if err != nil {
		t.Fatal(err)
	}
	if h := held(); len(h) != 0 {
		t.Errorf("the server holds what is owed: %+v", h)
	}
	pay := func() error {
		return w.db.InTx(t.Context(), func(tx store.Tx) error { return compute.PayDebt(t.Context(), tx, w.engine, host, op, 2) })
	}
	if err := pay(); !faults.Is(err, faults.Unavailable) {
		t.Errorf("paid before the operation has ended: %v", err)
	}
	_, err = w.finish(steps.FinishIn{Fence: fence, Result: operations.ResultFailed, Server: &steps.ServerOutcome{},
		Fault: &steps.Fault{Code: "Broken", Message: "it is broken", HTTPCode: 500}})
	if err != nil {
		t.Fatal(err)
	}
	if err := pay(); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := w.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM compute.allocations`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d claims are left after the debt was paid (%v)", left, err)
	}
}
