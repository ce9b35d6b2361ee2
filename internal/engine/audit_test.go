package engine_test

import (
	"context"
	"slices"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// Each probe finds what somebody has broken by hand, and nothing else does.
func TestEveryProbe(t *testing.T) {
	t.Parallel()
	breaks := map[string]func(w *world) (subject string){
		"open-effects": func(w *world) string {
			_, f := w.running(operations.ServerBuild)
			w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Intend: []operations.Effect{guest("h1")}})
			w.finish(f, operations.ResultFailed)
			return f.OperationID
		},
		"server-held-by-nobody": func(w *world) string {
			id, f := w.running(operations.ServerBuild)
			w.exec(`UPDATE engine.operations SET finished_at = now(), result = 'failed' WHERE id = $1`, f.OperationID)
			return id
		},
		"server-operation-without-lock": func(w *world) string {
			id, f := w.running(operations.ServerBuild)
			w.exec(`UPDATE fake.things SET operation_id = NULL WHERE id = $1`, id)
			return f.OperationID
		},
		"server-wrong-turn": func(w *world) string {
			_, f := w.running(operations.ServerBuild)
			w.exec(`UPDATE engine.operations SET start_after = NULL WHERE id = $1`, f.OperationID)
			return f.OperationID
		},
		"server-shared-by-turns": func(w *world) string {
			id := w.newThing()
			w.accept(operations.ServerAttachVolume, id)
			second := w.accept(operations.ServerAttachVolume, id).OperationID
			w.exec(`UPDATE engine.operations SET start_after = now() WHERE id = $1`, second)
			return id
		},
		"server-next-of-nobody": func(w *world) string {
			id, f := w.running(operations.ServerBuild)
			w.exec(`UPDATE fake.things SET operation_id = NULL, next_operation_id = operation_id WHERE id = $1`, id)
			w.exec(`UPDATE engine.operations SET start_after = NULL WHERE id = $1`, f.OperationID)
			return id
		},
	}
	w := newWorld(t)
	for _, p := range w.e.Probes() {
		if breaks[p.Name] == nil || p.Why == "" {
			t.Errorf("probe %s has no test, or doesn't say why", p.Name)
		}
	}
	for name, broken := range breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.silent()
			subject := broken(w)
			found := w.audit().Findings
			if len(found) != 1 || found[0].Probe != name || found[0].Subject != subject || found[0].Detail == "" {
				t.Errorf("found %+v, want %s", found, subject)
			}
		})
	}
}

func TestAuditRunsOtherProbes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	extra := engine.Query("extra", "a test", `SELECT 'a', 'b' UNION ALL SELECT 'c', $1::text`, "d")
	report := must(w.e.Audit(t.Context(), extra, engine.Probe{Name: "none", Run: func(context.Context, store.Queryer) ([]engine.Finding, error) { return nil, nil }}))(t)
	if !slices.Equal(report.Findings, []engine.Finding{{Probe: "extra", Subject: "a", Detail: "b"}, {Probe: "extra", Subject: "c", Detail: "d"}}) {
		t.Errorf("found %+v", report.Findings)
	}
}
