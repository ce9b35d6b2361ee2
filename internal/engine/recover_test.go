package engine_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

func TestRecoverTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, f := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Attempt: 2, Host: "h2",
		Intend: []operations.Effect{claim("h1"), guest("h1"), claim("h2"), guest("h2")}})
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Attempt: 2, Host: "h2",
		Settle: []steps.Settlement{{Seq: 1, State: operations.Undone}, {Seq: 2, State: operations.Owed}, {Seq: 3, State: operations.Done}}})
	next := w.accept(operations.ServerDelete, id).OperationID

	heir := w.recover(f.OperationID)
	dead := w.operation(f.OperationID)
	// The delete had asked for its cancel.
	if dead.Result != operations.ResultCancelled || !strings.Contains(dead.Message, "it was lost; recovered by "+heir) {
		t.Errorf("the dead one is %+v", dead)
	}
	if at := w.thing(id); at != (thing{holder: heir, next: next, generation: 2}) {
		t.Errorf("the thing is %+v", at)
	}
	row := w.operation(heir)
	if row.Kind != operations.ServerRecover || row.RetryOf != dead.ID || row.Host != "h2" || row.ProjectID != "p1" || row.StartAfter == nil {
		t.Errorf("the heir is %+v", row)
	}
	out := must(w.tryBegin(heir, "run-1"))(t)
	if out.Attempt != 2 || out.Generation != 2 || *out.Recovers != (steps.Recovered{OperationID: dead.ID, Kind: dead.Kind, Step: operations.StepGuest, Cancelled: true}) {
		t.Errorf("begun %+v, recovers %+v", out, out.Recovers)
	}
	var seqs []int
	for _, e := range out.Effects {
		seqs = append(seqs, e.Seq)
	}
	if !slices.Equal(seqs, []int{2, 3, 4}) || !slices.Equal(states(out.Effects), []operations.EffectState{operations.Owed, operations.Done, operations.Intended}) {
		t.Errorf("its ledger is %+v", out.Effects)
	}
	g := steps.Fence{OperationID: heir, Generation: 2, RunID: "run-1"}
	w.advance(steps.AdvanceIn{Fence: g, Step: operations.StepUndo, Settle: []steps.Settlement{{Seq: 4, State: operations.Undone}, {Seq: 3, State: operations.Undone}}})
	finished, err := w.tryFinish(steps.FinishIn{Fence: g, Result: operations.ResultDone, Fault: &steps.Fault{Code: "OperationLost", Message: "the build was lost"}})
	if err != nil || finished.Next != next {
		t.Errorf("next is %q, %v, want %q", finished.Next, err, next)
	}
	if row := w.operation(heir); row.Result != operations.ResultDone || row.ErrorCode != "" || row.Message != "the build was lost" {
		t.Errorf("the heir is %+v", row)
	}
	w.silent()
	if owed := w.audit().Owed; owed != 1 {
		t.Errorf("%d owed, want 1", owed)
	}
	if again := w.recover(f.OperationID); again != "" {
		t.Errorf("recovered twice, by %s", again)
	}
}

// What was a part of one that ends without having done what it should is asked to
// end too, whoever ends it.
func TestPartsEndToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, fail := range map[string]func(whole steps.Fence){
		"it is recovered": func(whole steps.Fence) { w.recover(whole.OperationID) },
		"it fails":        func(whole steps.Fence) { w.finish(whole, operations.ResultFailed) },
	} {
		_, whole := w.running(operations.ServerBuild)
		_, part := w.running(operations.ServerBuild)
		_, other := w.running(operations.ServerBuild)
		w.exec(`UPDATE engine.operations SET parent_operation_id = $2 WHERE id = $1`, part.OperationID, whole.OperationID)
		fail(whole)
		if by := w.operation(part.OperationID).CancelRequestedBy; by != whole.OperationID {
			t.Errorf("%s: its part is asked to end by %q", name, by)
		}
		if w.operation(other.OperationID).CancelRequestedAt != nil {
			t.Errorf("%s: a stranger is asked to end", name)
		}
	}
}

// The recovery of a recovery names the operation that died first.
func TestRecoverOfARecovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, f := w.running(operations.ServerBuild)
	w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
	first := w.recover(f.OperationID)
	w.begin(first, "run-1")
	second := w.recover(first)
	out := must(w.tryBegin(second, "run-1"))(t)
	if out.Recovers.OperationID != f.OperationID || out.Recovers.Kind != operations.ServerBuild || len(out.Effects) != 1 || out.Effects[0].Seq != 1 {
		t.Errorf("begun %+v, recovers %+v", out, out.Recovers)
	}
	if third := w.recover(second); third != "" {
		t.Errorf("a third one at once: %s", third)
	}
	w.exec(`UPDATE engine.operations SET created_at = now() - interval '2 seconds' WHERE id = $1`, second)
	if third := w.recover(second); third == "" {
		t.Error("no third one after its pause")
	}
	w.silent()
}

// What never began needs no recovery, unless it has to be finished forward.
func TestRecoverOfOneThatNeverBegan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.newThing()
	op := w.accept(operations.ServerBuild, id).OperationID
	if heir := w.recover(op); heir != "" {
		t.Errorf("recovered by %s", heir)
	}
	if got := w.operation(op); got.Result != operations.ResultFailed || got.ErrorCode != "OperationLost" {
		t.Errorf("the operation is %+v", got)
	}
	if at := w.thing(id); at != (thing{generation: 2, abandoned: "server.build failed OperationLost"}) {
		t.Errorf("the thing is %+v", at)
	}
	id = w.newThing()
	op = w.accept(operations.ServerDelete, id).OperationID
	heir := w.recover(op)
	if at := w.thing(id); heir == "" || at.holder != heir || at.abandoned != "" {
		t.Errorf("a delete is recovered by %q, the thing is %+v", heir, at)
	}
	out := must(w.tryBegin(heir, "run-1"))(t)
	if out.Recovers.Kind != operations.ServerDelete || out.Recovers.Step != "" {
		t.Errorf("recovers %+v", out.Recovers)
	}
	w.silent()
}

func TestRecoverWithoutTheResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, f := w.running(operations.ServerStart)
	other, g := w.running(operations.ServerStart)
	w.exec(`UPDATE fake.things SET operation_id = NULL WHERE id = $1`, id)
	w.exec(`DELETE FROM fake.things WHERE id = $1`, other)
	if heir := w.recover(f.OperationID); heir != "" || w.operation(f.OperationID).Result != operations.ResultSuperseded {
		t.Errorf("recovered by %q: %+v", heir, w.operation(f.OperationID))
	}
	if heir := w.recover(g.OperationID); heir != "" || w.operation(g.OperationID).Result != operations.ResultFailed {
		t.Errorf("recovered by %q: %+v", heir, w.operation(g.OperationID))
	}
	w.silent()
}

func TestRecoverOfOneThatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, _ := w.running(operations.ServerReboot)
	next := w.accept(operations.ServerDelete, id).OperationID
	before := w.thing(id)
	if heir := w.recover(next); heir != "" || w.operation(next).Finished() || w.thing(id) != before {
		t.Errorf("recovered by %q, the thing is %+v", heir, w.thing(id))
	}
}
