package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

func TestAcceptWritesTheOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	got := w.accept(operations.ServerStart, id)
	want := engine.Accepted{OperationID: got.OperationID, Startable: true, Generation: 1}
	if got != want {
		t.Errorf("accepted %+v, want %+v", got, want)
	}
	if at := w.thing(id); at != (thing{holder: got.OperationID, generation: 1}) {
		t.Errorf("the thing is %+v", at)
	}
	op := w.operation(got.OperationID)
	if op.Kind != operations.ServerStart || op.ResourceType != operations.Server || op.ResourceID != id || op.ProjectID != "p1" ||
		op.UserID != "u1" || op.RequestID != "req-1" || string(op.Input) != `{"asked": "for"}` || op.State() != engine.Pending {
		t.Errorf("the operation is %+v", op)
	}
	w.silent()
}

func TestAcceptOfManyAtOnceGivesOneTheResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	var accepted, refused atomic.Int32
	var group sync.WaitGroup
	for range 24 {
		group.Go(func() {
			got, err := w.tryAccept(operations.ServerStart, id)
			switch {
			case err == nil && got.Startable:
				accepted.Add(1)
			case faults.Is(err, faults.Conflict) && faults.As(err).Code == "OperationInProgress":
				refused.Add(1)
			default:
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	group.Wait()
	if accepted.Load() != 1 || refused.Load() != 23 {
		t.Errorf("%d accepted, %d refused, want 1 and 23", accepted.Load(), refused.Load())
	}
	if n := w.audit().Unfinished; n != 1 {
		t.Errorf("%d unfinished operations, want 1", n)
	}
	w.silent()
}

func TestAcceptOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.tryAccept(operations.ServerStart, uuid.NewString()); !faults.Is(err, faults.NotFound) {
		t.Errorf("a missing thing: %v, want not found", err)
	}
	if _, err := w.tryAccept("server.juggle", w.newThing()); !faults.Is(err, faults.Internal) {
		t.Errorf("an unknown kind: %v, want internal", err)
	}
	if _, err := w.tryAccept(operations.ServerRecover, w.newThing()); !faults.Is(err, faults.Invalid) {
		t.Errorf("a recovery: %v, want invalid", err)
	}
}

func TestAcceptIsUndoneWithItsTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	broken := errors.New("broken")
	_, err := tx(w, func(ctx context.Context, tx store.Tx) (engine.Accepted, error) {
		got, err := w.e.Accept(ctx, tx, engine.Request{Kind: operations.ServerStart, ResourceID: id})
		return got, errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v, want broken", err)
	}
	if at := w.thing(id); at != (thing{}) {
		t.Errorf("the thing is %+v, want free", at)
	}
}

// Every pair of kinds whose first has the thing for itself, met while it runs and
// before it has begun.
func TestEveryMeeting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, first := range kinds() {
		for _, second := range kinds() {
			if second.Recovers() || !first.Exclusive {
				continue
			}
			for _, begun := range []bool{true, false} {
				name := fmt.Sprintf("%s meets %s, begun %v", second.Kind, first.Kind, begun)
				id := w.newThing()
				running := w.unbegun(first.Kind, id)
				if begun {
					w.begin(running, "run-1")
				}
				before := w.thing(id)
				got, err := w.tryAccept(second.Kind, id)
				after := w.thing(id)
				want := operations.Meet(first.Kind, second.Kind)
				cancelled := w.operation(running).CancelRequestedAt != nil
				if want != operations.Refuse && (err != nil || got.Meeting != want) {
					t.Errorf("%s: %+v, %v, want %s", name, got, err, want)
					continue
				}
				switch want {
				case operations.Refuse:
					if !faults.Is(err, faults.Conflict) || after != before || cancelled {
						t.Errorf("%s: %v, %+v, want a conflict and no change", name, err, after)
					}
				case operations.Join:
					if got.OperationID != running || got.Startable || after != before {
						t.Errorf("%s: %+v, %+v, want the running one and no change", name, got, after)
					}
				case operations.Queue:
					if got.Startable || after.holder != running || after.next != got.OperationID || cancelled {
						t.Errorf("%s: %+v, %+v, cancelled %v, want it next", name, got, after, cancelled)
					}
				case operations.Preempt:
					if begun || first.Prepared {
						if got.Startable || after.holder != running || after.next != got.OperationID || !cancelled || after.generation != before.generation {
							t.Errorf("%s: %+v, %+v, cancelled %v, want it next and the other cancelled", name, got, after, cancelled)
						}
						break
					}
					was := w.operation(running)
					if !got.Startable || after.holder != got.OperationID || after.next != "" || after.generation != before.generation+1 ||
						was.Result != operations.ResultSuperseded || after.abandoned != "" {
						t.Errorf("%s: %+v, %+v, the other %s, want it the owner and the other superseded", name, got, after, was.Result)
					}
				default:
					t.Errorf("%s: no test knows %s", name, want)
				}
			}
		}
	}
	w.silent()
}

func TestOneWaitsAndAnotherComes(t *testing.T) {
	t.Parallel()
	const (
		reboot   = operations.ServerReboot
		hard     = operations.ServerHardReboot
		del      = operations.ServerDelete
		start    = operations.ServerStart
		recovery = operations.ServerRecover
	)
	rows := []struct {
		running, waiting, comes operations.Kind
		meeting                 operations.Meeting // "" is refused
		replaced                bool
	}{
		{reboot, hard, del, operations.Preempt, true},
		{reboot, hard, hard, operations.Preempt, true},
		{reboot, del, del, operations.Join, false},
		{reboot, del, hard, "", false},
		{reboot, hard, start, "", false},
		{recovery, del, del, operations.Join, false},
		{recovery, del, hard, "", false},
	}
	w := newWorld(t)
	for _, row := range rows {
		name := fmt.Sprintf("%s runs, %s waits, %s comes", row.running, row.waiting, row.comes)
		id := w.newThing()
		running := w.unbegun(row.running, id)
		w.begin(running, "run-1")
		waiting := w.accept(row.waiting, id).OperationID
		got, err := w.tryAccept(row.comes, id)
		at := w.thing(id)
		switch {
		case row.meeting == "":
			if !faults.Is(err, faults.Conflict) || at.next != waiting {
				t.Errorf("%s: %v, next %s, want a conflict", name, err, at.next)
			}
		case row.replaced:
			was := w.operation(waiting)
			if err != nil || got.Meeting != row.meeting || got.Startable || at.next != got.OperationID || was.Result != operations.ResultSuperseded {
				t.Errorf("%s: %+v, %v, next %s, the one before %s", name, got, err, at.next, was.Result)
			}
		default:
			if err != nil || got.Meeting != row.meeting || got.OperationID != waiting || at.next != waiting {
				t.Errorf("%s: %+v, %v, next %s", name, got, err, at.next)
			}
		}
		if at.holder != running {
			t.Errorf("%s: %s holds it, want %s", name, at.holder, running)
		}
	}
	w.silent()
}

// What a transaction has made is its operation's at once.
func TestAcceptOnWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := uuid.NewString()
	var accepted engine.Accepted
	err := w.db.InTx(t.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO fake.things (id) VALUES ($1)`, id)
		if err == nil {
			accepted, err = w.e.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerBuild, ResourceID: id, New: true})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if at := w.thing(id); at.holder != accepted.OperationID || at.generation != 1 || accepted.Generation != 1 || !accepted.Startable || accepted.Meeting != "" {
		t.Errorf("accepted %+v, and the thing is %+v", accepted, at)
	}
	w.finish(w.begin(accepted.OperationID, "run"), operations.ResultDone)
}
