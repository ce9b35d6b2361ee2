package engine_test

// Whatever happens in whatever order, what must hold holds.

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// model does random things to one resource.
type model struct {
	w          *world
	thing      string
	ops        []string
	runs       int
	fences     []steps.Fence
	generation int64
}

func TestAnySequence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{w: w, thing: w.newThing()}
		rt.Repeat(map[string]func(*rapid.T){
			"accept":  m.accept,
			"begin":   m.begin,
			"advance": m.advance,
			"finish":  m.finish,
			"cancel":  m.cancel,
			"recover": m.recover,
			"":        m.check,
		})
	})
}

// expected fails on an error that is none of the refusals that are part of the game.
func expected(rt *rapid.T, err error, kinds ...faults.Kind) {
	if err != nil && !slices.Contains(kinds, faults.As(err).Kind) {
		rt.Fatalf("unexpected: %v", err)
	}
}

func some[T any](rt *rapid.T, from []T) T {
	if len(from) == 0 {
		rt.Skip("nothing there yet")
	}
	return from[rapid.IntRange(0, len(from)-1).Draw(rt, "which")]
}

func (m *model) accept(rt *rapid.T) {
	kinds := []operations.Kind{operations.ServerBuild, operations.ServerDelete, operations.ServerStart, operations.ServerReboot, operations.ServerHardReboot,
		operations.ServerAttachVolume, operations.ServerDetachInterface}
	got, err := m.w.tryAccept(some(rt, kinds), m.thing)
	expected(rt, err, faults.Conflict)
	if err == nil && !slices.Contains(m.ops, got.OperationID) {
		m.ops = append(m.ops, got.OperationID)
	}
}

func (m *model) begin(rt *rapid.T) {
	op := some(rt, m.ops)
	m.runs++
	in := steps.BeginIn{OperationID: op, RunID: fmt.Sprintf("run-%d", m.runs), Reset: rapid.Bool().Draw(rt, "reset")}
	out, err := tx(m.w, func(ctx context.Context, tx store.Tx) (steps.BeginOut, error) { return m.w.e.Begin(ctx, tx, in) })
	expected(rt, err, faults.Unavailable)
	if err == nil && out.Verdict == steps.Run {
		m.fences = append(m.fences, steps.Fence{OperationID: op, Generation: out.Generation, RunID: in.RunID})
	}
}

func (m *model) advance(rt *rapid.T) {
	f := some(rt, m.fences)
	hosts := []string{"h1", "h2"}
	effects := []operations.Effect{guest(some(rt, hosts)), claim(some(rt, hosts))}
	out, err := m.w.tryAdvance(steps.AdvanceIn{Fence: f, Step: some(rt, []string{operations.StepGuest, operations.StepUndo}), Attempt: 1, Intend: effects[:rapid.IntRange(0, 2).Draw(rt, "effects")]})
	expected(rt, err, faults.Superseded)
	if err != nil || len(out.Effects) == 0 {
		return
	}
	line := some(rt, out.Effects)
	to := some(rt, []operations.EffectState{operations.Done, operations.Undone, operations.Owed})
	after, err := m.w.tryAdvance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Attempt: 1, Settle: []steps.Settlement{{Seq: line.Seq, State: to}}})
	expected(rt, err)
	for _, e := range after.Effects {
		if e.Seq == line.Seq && line.State == operations.Undone && e.State != operations.Undone {
			rt.Fatalf("line %d was undone and is %s", e.Seq, e.State)
		}
	}
}

// finish ends an operation as workflows do: undone unless it is done.
func (m *model) finish(rt *rapid.T) {
	f := some(rt, m.fences)
	in := steps.FinishIn{Fence: f, Result: some(rt, []operations.Result{operations.ResultDone, operations.ResultFailed, operations.ResultCancelled})}
	if in.Result != operations.ResultDone {
		ledger, err := m.w.e.Effects(m.w.t.Context(), m.w.db.Pool, f.OperationID)
		expected(rt, err)
		for _, e := range ledger {
			if e.Open() {
				in.Settle = append(in.Settle, steps.Settlement{Seq: e.Seq, State: operations.Undone})
			}
		}
	}
	_, err := m.w.tryFinish(in)
	expected(rt, err, faults.Superseded)
}

func (m *model) cancel(rt *rapid.T) {
	op := some(rt, m.ops)
	_, err := tx(m.w, func(ctx context.Context, tx store.Tx) (engine.Operation, error) {
		return m.w.e.RequestCancel(ctx, tx, op, "model")
	})
	expected(rt, err)
}

func (m *model) recover(rt *rapid.T) {
	op := some(rt, m.ops)
	heir, err := tx(m.w, func(ctx context.Context, tx store.Tx) (string, error) {
		return m.w.e.Recover(ctx, tx, op, "the model says so")
	})
	expected(rt, err)
	if heir != "" {
		m.ops = append(m.ops, heir)
	}
}

func (m *model) check(rt *rapid.T) {
	at := m.w.thing(m.thing)
	if at.generation < m.generation {
		rt.Fatalf("the generation fell from %d to %d", m.generation, at.generation)
	}
	m.generation = at.generation
	ops, err := m.w.e.Operations(m.w.t.Context(), m.w.db.Pool, engine.Filter{ResourceID: m.thing, State: engine.Unfinished})
	expected(rt, err)
	exclusive, turns := 0, 0
	for _, op := range ops {
		switch {
		case op.Shared:
		case op.ID != at.holder && op.ID != at.next:
			rt.Fatalf("%s has not finished and neither holds the thing nor is next: %+v", op.ID, at)
		default:
			exclusive++
		}
		if op.StartAfter != nil {
			turns++
		}
	}
	if exclusive > 2 || (at.next != "" && exclusive != 2) || (at.holder != "" && exclusive == 0) {
		rt.Fatalf("%d unfinished operations at %+v", exclusive, at)
	}
	if turns > 1 || turns == 0 && len(ops) > 0 {
		rt.Fatalf("it is the turn of %d of %d operations", turns, len(ops))
	}
	report, err := m.w.e.Audit(m.w.t.Context())
	expected(rt, err)
	if len(report.Findings) != 0 {
		rt.Fatalf("audit: %+v", report.Findings)
	}
}
