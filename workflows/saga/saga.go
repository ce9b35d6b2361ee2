// Package saga is the frame of every operation's workflow: begin as the guard
// against running twice, steps written to the ledger before they act, undo
// last first, and finish as the last step of every path.
//
// A workflow reads as
//
//	s, err := saga.Begin(ctx, ref, undo)
//	if s == nil {
//		return err
//	}
//	outcome, err := theStory(s)
//	return s.Close(saga.Outcome{...}, err)
//
// A run may be lost at any point and another one started from nothing; it
// finds in the ledger what was done and in Begun.Step how far the story had
// come, and tells the story again. Each step meets what it did before.
//
// Where the data goes next: activities/records writes it, internal/engine's
// sweeper watches over it.
package saga

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Saga is one operation being carried out.
type Saga struct {
	// Begun is the operation as its row had it when this run began.
	Begun steps.BeginOut
	// Fence goes into every write.
	Fence steps.Fence

	ctx       workflow.Context
	spec      operations.Spec
	undo      map[operations.EffectKind]Undo
	ledger    []operations.Effect
	attempt   int
	step      string
	opened    string // the step that Begin has written, and that has not begun yet
	note      string // to be shown with the next step
	host      string
	blamed    string // the host that has failed the story
	named     string // the host that the workflow is found by
	naming    bool   // it will be found by one after a while
	forward   bool   // past the point of no return
	beyond    bool   // it has been, be it that it has been taken back
	cancelled bool   // the row says that somebody asked for a cancel
}

// Begin starts the operation that ref names. A nil Saga with a nil error means
// that there is nothing to do: finished, superseded or missing.
func Begin(ctx workflow.Context, ref steps.Ref, undo map[operations.EffectKind]Undo) (*Saga, error) {
	return BeginWith(ctx, ref, "", undo)
}

// BeginWith is Begin for a story whose first step has no effects to be written
// before it: the step is written with the beginning, and costs nothing more.
func BeginWith(ctx workflow.Context, ref steps.Ref, first string, undo map[operations.EffectKind]Undo) (*Saga, error) {
	info := workflow.GetInfo(ctx)
	run := info.WorkflowExecution.RunID
	begun, err := steps.Records.Begin(ctx, steps.BeginIn{
		OperationID: ref.OperationID,
		RunID:       run,
		// A reset made from a later point never comes here: it replays the
		// answer that the old run got, and its first write fails on the fence,
		// which names the new run.
		Reset: info.OriginalRunID != "" && info.OriginalRunID != run,
		First: first,
	})
	if err != nil {
		return nil, fmt.Errorf("begin %s: %w", ref.OperationID, err)
	}
	if begun.Verdict != steps.Run {
		workflow.SetCurrentDetails(ctx, "Ended at once: "+begun.Reason)
		drain(ctx)
		return nil, nil
	}
	spec, ok := operations.Lookup(begun.Kind)
	if !ok {
		return nil, temporal.NewNonRetryableApplicationError("unknown kind "+string(begun.Kind), string(faults.Internal), nil)
	}
	s := &Saga{
		Begun:     begun,
		Fence:     steps.Fence{OperationID: ref.OperationID, Generation: begun.Generation, RunID: run},
		ctx:       ctx,
		spec:      spec,
		undo:      undo,
		ledger:    begun.Effects,
		attempt:   max(begun.Attempt, 1),
		step:      begun.Step,
		forward:   spec.Beyond(begun.Step),
		beyond:    spec.Beyond(begun.Step),
		cancelled: begun.CancelRequested,
	}
	// A history of an earlier release doesn't say so, and goes on as it did.
	if begun.Opened {
		s.opened = first
	}
	return s, nil
}

// Input reads what the operation's request asked for.
func Input[T any](s *Saga) (T, error) {
	var in T
	// The same text gives the same value.
	err := json.Unmarshal(s.Begun.Input, &in) //workflowcheck:ignore
	if err != nil {
		return in, faults.Wrap(err, faults.Internal, "InternalError", "the operation's input can't be read")
	}
	return in, nil
}

// Context is what the story's steps run on: bounded by the operation's
// deadline, and reached by a cancel until the point of no return.
func (s *Saga) Context() workflow.Context {
	ctx := s.ctx
	if s.forward {
		ctx = detached(ctx)
	}
	return steps.Until(ctx, s.Begun.Deadline)
}

// Interruptible is Context for a step that a cancel cuts short even beyond the
// point of no return. The story finishes the work another way then, under Grace.
func (s *Saga) Interruptible() workflow.Context { return steps.Until(s.ctx, s.Begun.Deadline) }

// Grace gives a step d, whether or not the operation's time is over, and no
// cancel reaches it.
func (s *Saga) Grace(d time.Duration) workflow.Context {
	return steps.Until(detached(s.ctx), workflow.Now(s.ctx).Add(d))
}

// Attempt is the try that the operation is in, from 1.
func (s *Saga) Attempt() int { return s.attempt }

// NextAttempt counts one up; the next Step writes it down.
func (s *Saga) NextAttempt() { s.attempt++ }

// Ledger is the operation's effects so far, by Seq.
func (s *Saga) Ledger() []operations.Effect { return s.ledger }

// Adopt makes a ledger that another step has read or written the saga's own.
func (s *Saga) Adopt(ledger []operations.Effect) { s.ledger = ledger }

// Token fences the present step on a host.
func (s *Saga) Token() steps.Token {
	return steps.Token{
		ServerID:    s.Begun.ResourceID,
		OperationID: s.Fence.OperationID,
		Generation:  s.Fence.Generation,
		Attempt:     s.attempt,
		Step:        s.step,
	}
}

// Move is what changes when the story moves on, besides the step itself.
type Move struct {
	// Host is the host that the step is about; empty keeps the last one.
	Host string
	// Intend are effects that the step may have from now on.
	Intend []operations.Effect
	// Settle says what became of earlier ones.
	Settle []steps.Settlement
	// Message is shown with the step.
	Message string
	// Node is what the step shows of a node.
	Node *steps.NodeMove
}

// empty says that nothing changes but the step.
func (m Move) empty() bool {
	return m.Host == "" && m.Message == "" && m.Node == nil && len(m.Intend) == 0 && len(m.Settle) == 0
}

// Step moves the story on: the step and its ledger lines are written before
// anything acts. Before the point of no return it returns ErrCancelled if a
// cancel has come, steps.ErrDeadline if the operation's time is over.
func (s *Saga) Step(name string, move Move) error {
	if err := s.stopped(); err != nil {
		return err
	}
	if move.Message == "" {
		move.Message = s.note
	}
	s.note = ""
	if err := s.advance(name, move); err != nil {
		return err
	}
	// The answer may have brought a cancel.
	if err := s.stopped(); err != nil {
		return err
	}
	s.pass(name)
	return nil
}

// pass notes that the story has come to a step.
func (s *Saga) pass(step string) {
	if s.spec.Beyond(step) {
		s.forward, s.beyond = true, true
	}
}

// Note has something be shown with the next step that has no message of its own.
func (s *Saga) Note(text string) { s.note = text }

// Blame says that the host has failed the story, which leaves it.
func (s *Saga) Blame(host string) { s.blamed = host }

// Blames says whether the story leaves the host because that has failed it.
func (s *Saga) Blames(host string) bool { return s.blamed != "" && s.blamed == host }

// Return takes the point of no return back: the step at it has turned out to
// have changed nothing, and the story may end as if it had not come there.
func (s *Saga) Return() { s.forward = false }

// stopped says why the story may not go on, if so.
func (s *Saga) stopped() error {
	switch {
	case s.forward:
		return nil
	case s.wasCancelled():
		return ErrCancelled
	case !s.Begun.Deadline.IsZero() && workflow.Now(s.ctx).After(s.Begun.Deadline):
		return steps.ErrDeadline
	}
	return nil
}

// wasCancelled says whether a cancel has come by either way: Temporal's, or
// the row's, which also works while Temporal is down.
func (s *Saga) wasCancelled() bool { return s.cancelled || s.ctx.Err() != nil }

// Hear tells the saga what another step has read of the row: that somebody asked
// for a cancel.
func (s *Saga) Hear(cancelled bool) { s.cancelled = s.cancelled || cancelled }

// Cancelled says whether anybody has asked for a cancel, be it too late or not.
func (s *Saga) Cancelled() bool { return s.wasCancelled() }

// Forward says whether the operation is past its point of no return.
func (s *Saga) Forward() bool { return s.forward }

// advance writes the step down and shows it.
func (s *Saga) advance(name string, move Move) error {
	opened := s.opened
	s.opened = ""
	if opened == name && move.empty() {
		s.step = name
		return s.show(move)
	}
	for i := range move.Intend {
		move.Intend[i].Attempt = s.attempt
	}
	out, err := steps.Records.Advance(s.ctx, steps.AdvanceIn{
		Fence: s.Fence, Step: name, Attempt: s.attempt,
		Host: move.Host, Intend: move.Intend, Settle: move.Settle, Message: move.Message, Node: move.Node, Beyond: s.beyond,
	})
	if err != nil {
		return err
	}
	if name == operations.StepUndo && !s.beyond && s.spec.Beyond(out.Step) {
		return workflow.NewContinueAsNewError(s.ctx, string(s.Begun.Kind), steps.Ref{OperationID: s.Fence.OperationID})
	}
	if name == out.Step { // whatever cancel comes with the answer
		s.pass(name)
	}
	s.step, s.ledger = name, out.Effects
	s.cancelled = s.cancelled || out.CancelRequested
	return s.show(move)
}

// show tells the Temporal UI where the story is.
func (s *Saga) show(move Move) error {
	if move.Host != "" && move.Host != s.host {
		if err := s.come(move.Host); err != nil {
			return fmt.Errorf("name the host: %w", err)
		}
	}
	details := fmt.Sprintf("**%s**, attempt %d", s.step, s.attempt)
	if s.host != "" {
		details += ", host " + s.host
	}
	if move.Message != "" {
		details += ": " + move.Message
	}
	workflow.SetCurrentDetails(s.ctx, details)
	return nil
}

// detached gives a context that no cancel of the workflow reaches.
func detached(ctx workflow.Context) workflow.Context {
	d, _ := workflow.NewDisconnectedContext(ctx)
	return d
}
