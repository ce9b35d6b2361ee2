package saga

// Undo: the ledger read from its end.

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Undo takes one effect back. It runs on a context that no cancel reaches and
// that ends after Patience, and it may run twice: what is gone already is
// success. The undo of an effect on a host that fails for whatever reason is
// owed by the host, which repeats it before any other work; that of one at a
// service is repeated by control workers, that of one of a node by its conductors.
type Undo func(ctx workflow.Context, s *Saga, e operations.Effect) error

// Patience is how long the undo of one effect is tried. A host that is alive
// and can't do it in that time needs a restart or an operator, and pays then.
const Patience = 10 * time.Minute

// UndoAll takes back every open effect, last first. One that can be neither
// undone nor owed stays open in the ledger, where the audit names it, and the
// others still go. It returns an error only if the ledger can't be written, or if
// nothing is undone: a task that was lost has led past the point of no return, and
// another run goes on from there.
func (s *Saga) UndoAll(why string) error {
	// The write also reads: a step whose answer was lost may have left lines
	// that this run has not heard of.
	if err := s.advance(operations.StepUndo, Move{Message: why}); err != nil {
		return err
	}
	return s.undoOpen(every)
}

// every effect is taken back.
func every(operations.Effect) bool { return true }

// TakeAway is a story whose work is the undo itself, under the name of step:
// holds go into the ledger, those excepted that an earlier run has put there
// and perhaps settled, and then everything in it is taken back. What can't be
// is its error.
func (s *Saga) TakeAway(step, host string, holds []operations.Effect) error {
	return s.takeAway(step, host, holds, every)
}

// TakeAwayOnly is TakeAway that leaves every effect that is not of these kinds:
// what else the story has done stays.
func (s *Saga) TakeAwayOnly(step, host string, holds []operations.Effect, kinds ...operations.EffectKind) error {
	of := func(e operations.Effect) bool { return slices.Contains(kinds, e.Kind) }
	holds = slices.DeleteFunc(slices.Clone(holds), func(e operations.Effect) bool { return !of(e) })
	return s.takeAway(step, host, holds, of)
}

// TakeAwayFrom is TakeAway for what is on one host: what else the story has done
// stays.
func (s *Saga) TakeAwayFrom(step, host string, holds []operations.Effect) error {
	on := func(e operations.Effect) bool { return e.Host == host }
	holds = slices.DeleteFunc(slices.Clone(holds), func(e operations.Effect) bool { return !on(e) })
	return s.takeAway(step, host, holds, on)
}

func (s *Saga) takeAway(step, host string, holds []operations.Effect, goes func(operations.Effect) bool) error {
	known := func(h operations.Effect) bool {
		return slices.ContainsFunc(s.ledger, func(e operations.Effect) bool {
			return e.Kind == h.Kind && e.Ref == h.Ref && e.Host == h.Host
		})
	}
	if err := s.Step(step, Move{Host: host, Intend: slices.DeleteFunc(slices.Clone(holds), known)}); err != nil {
		return err
	}
	if err := s.undoOpen(goes); err != nil {
		return err
	}
	for _, e := range s.ledger {
		if e.Open() && goes(e) {
			return faults.New(faults.Internal, "NotRemoved", "%s %s could not be removed", e.Kind, e.Ref)
		}
	}
	return nil
}

// undoOpen takes back what is open and goes, under the step that the operation is in.
func (s *Saga) undoOpen(goes func(operations.Effect) bool) error {
	for _, e := range slices.Backward(slices.Clone(s.ledger)) {
		if !e.Open() || !goes(e) {
			continue
		}
		move := Move{Settle: []steps.Settlement{{Seq: e.Seq, State: operations.Undone}}}
		if err := s.undoOne(e); superseded(err) {
			return err
		} else if err != nil {
			workflow.GetLogger(s.ctx).Error("undo failed", "kind", e.Kind, "ref", e.Ref, "host", e.Host, "error", err)
			if e.Host == "" && !e.AtService() {
				continue
			}
			move.Settle[0].State = operations.Owed
			move.Message = fmt.Sprintf("%s is owed: %s", e.Kind, Reason(err).Message)
		}
		if err := s.advance(s.step, move); err != nil {
			return err
		}
	}
	return nil
}

func (s *Saga) undoOne(e operations.Effect) error {
	undo, ok := s.undo[e.Kind]
	if !ok {
		return faults.New(faults.Internal, "UnknownEffect", "this release has no undo for %s", e.Kind)
	}
	return undo(s.Grace(Patience), s, e)
}
