package saga

// Undo: the ledger read from its end.

import (
	"errors"
	"slices"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Undo takes one effect back and says what became of it: Undone, or Owed when
// its host is down. It runs on a context that no cancel reaches, may run twice,
// and returns an error only if the effect could not be judged.
type Undo func(ctx workflow.Context, s *Saga, e operations.Effect) (operations.EffectState, error)

// UndoAll takes back every open effect, last first. One that fails is left
// open in the ledger, where the audit names it, and the others still go.
// It returns an error only if the ledger can't be written, Superseded included.
func (s *Saga) UndoAll(why string) error {
	return s.undoEach(why, func(operations.Effect) bool { return true })
}

// UndoAttempt takes back the open effects of the present attempt.
func (s *Saga) UndoAttempt(why string) error {
	return s.undoEach(why, func(e operations.Effect) bool { return e.Attempt == s.attempt })
}

func (s *Saga) undoEach(why string, which func(operations.Effect) bool) error {
	for _, e := range slices.Backward(slices.Clone(s.ledger)) {
		if !e.Open() || !which(e) {
			continue
		}
		if s.step != operations.StepUndo {
			if err := s.advance(operations.StepUndo, Move{Message: why}); err != nil {
				return err
			}
		}
		state, err := s.undo[e.Kind](detached(s.ctx), s, e)
		if superseded(err) {
			return err
		}
		if err != nil {
			workflow.GetLogger(s.ctx).Error("undo failed", "kind", e.Kind, "ref", e.Ref, "host", e.Host, "error", err)
			continue
		}
		if err := s.advance(operations.StepUndo, Move{Settle: []steps.Settlement{{Seq: e.Seq, State: state}}}); err != nil {
			return err
		}
	}
	return nil
}

// ErrHostDown is the verdict on a host that neither takes work nor shows life.
var ErrHostDown = errors.New("the host is down")

// OnHost runs f, a step on a host's queue, and repeats it for as long as the
// host is alive and merely slow to take it. It returns ErrHostDown once the
// host's heartbeats have stopped too.
func OnHost(ctx workflow.Context, host string, f func() error) error {
	for {
		err := f()
		if !steps.IsHostSilent(err) {
			return err
		}
		if h, lookErr := steps.Records.Host(ctx, steps.HostIn{HostID: host}); lookErr != nil {
			return lookErr
		} else if !h.Up {
			return ErrHostDown
		}
	}
}
