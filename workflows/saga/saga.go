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
//	return s.Close(outcome, err)
//
// Where the data goes next: activities/records writes it, internal/engine's
// sweeper watches over it.
package saga

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// ErrCancelled ends a story that was cancelled before its point of no return.
var ErrCancelled = faults.New(faults.Conflict, "Cancelled", "the operation was cancelled")

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
	forward   bool // past the point of no return
	cancelled bool // somebody asked for a cancel
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
}

// Begin starts the operation that ref names. A nil Saga with a nil error means
// that there is nothing to do: finished, superseded or missing.
func Begin(ctx workflow.Context, ref steps.Ref, undo map[operations.EffectKind]Undo) (*Saga, error) {
	run := workflow.GetInfo(ctx).WorkflowExecution.RunID
	begun, err := steps.Records.Begin(detached(ctx), steps.BeginIn{OperationID: ref.OperationID, RunID: run})
	if err != nil {
		return nil, fmt.Errorf("begin %s: %w", ref.OperationID, err)
	}
	if begun.Verdict != steps.Run {
		workflow.SetCurrentDetails(ctx, "Ended at once: "+begun.Reason)
		return nil, nil
	}
	spec, ok := operations.Lookup(begun.Kind)
	if !ok {
		return nil, temporal.NewNonRetryableApplicationError("unknown kind "+string(begun.Kind), string(faults.Internal), nil)
	}
	return &Saga{
		Begun:     begun,
		Fence:     steps.Fence{OperationID: ref.OperationID, Generation: begun.Generation, RunID: run},
		ctx:       ctx,
		spec:      spec,
		undo:      undo,
		ledger:    begun.Effects,
		attempt:   max(begun.Attempt, 1),
		step:      begun.Step,
		forward:   spec.Forward(),
		cancelled: begun.CancelRequested,
	}, nil
}

// Context is what a step before the point of no return runs on: a cancel
// reaches it. Past that point it is one that no cancel reaches.
func (s *Saga) Context() workflow.Context {
	if s.forward {
		return detached(s.ctx)
	}
	return s.ctx
}

// Attempt is the try that the operation is in, from 1.
func (s *Saga) Attempt() int { return s.attempt }

// NextAttempt counts one up; the next Step writes it down.
func (s *Saga) NextAttempt() { s.attempt++ }

// Ledger is the operation's effects so far, by Seq.
func (s *Saga) Ledger() []operations.Effect { return s.ledger }

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

// Step moves the story on: the step and its ledger lines are written before
// anything acts. It returns ErrCancelled where a cancel still counts.
func (s *Saga) Step(name string, move Move) error {
	if name == s.spec.PointOfNoReturn && !s.wasCancelled() {
		s.forward = true
	}
	if s.wasCancelled() && !s.forward {
		return ErrCancelled
	}
	if !s.forward && !s.Begun.Deadline.IsZero() && workflow.Now(s.ctx).After(s.Begun.Deadline) {
		return faults.New(faults.Internal, "DeadlineExceeded", "the operation did not end in time")
	}
	if err := s.advance(name, move); err != nil {
		return err
	}
	if s.wasCancelled() && !s.forward {
		return ErrCancelled
	}
	return nil
}

// Adopt makes a ledger that was read or written by another step the saga's own.
func (s *Saga) Adopt(ledger []operations.Effect) { s.ledger = ledger }

func (s *Saga) advance(name string, move Move) error {
	for i := range move.Intend {
		move.Intend[i].Attempt = s.attempt
	}
	out, err := steps.Records.Advance(detached(s.ctx), steps.AdvanceIn{
		Fence: s.Fence, Step: name, Attempt: s.attempt,
		Host: move.Host, Intend: move.Intend, Settle: move.Settle, Message: move.Message,
	})
	if err != nil {
		return err
	}
	s.step, s.ledger = name, out.Effects
	s.cancelled = s.cancelled || out.CancelRequested
	workflow.SetCurrentDetails(s.ctx, fmt.Sprintf("**%s**, attempt %d %s", name, s.attempt, move.Message))
	return nil
}

// wasCancelled says whether a cancel has come by either way: Temporal's, or
// the row's, which also works while Temporal is down.
func (s *Saga) wasCancelled() bool { return s.cancelled || s.ctx.Err() != nil }

// Outcome is what a story makes true when its operation ends.
type Outcome struct {
	// Server is published if the story succeeded, OnFailure if it did not.
	Server    *steps.ServerOutcome
	OnFailure *steps.ServerOutcome
	// Settle is written with it. On success every effect that is still open
	// passes to the resource's own rows.
	Settle []steps.Settlement
}

// Close ends the operation by what the story returned: done; or undone, last
// effect first, and failed or cancelled; or, if another operation has taken
// over, nothing at all.
func (s *Saga) Close(outcome Outcome, story error) error {
	if story == nil {
		return s.finish(steps.FinishIn{Result: operations.ResultDone, Server: outcome.Server, Settle: outcome.Settle}, nil)
	}
	if superseded(story) {
		workflow.SetCurrentDetails(s.ctx, "Superseded by another operation")
		return nil
	}
	if err := s.UndoAll(reason(story)); err != nil {
		if superseded(err) {
			return nil
		}
		return err
	}
	in := steps.FinishIn{Result: operations.ResultFailed, Fault: fault(story), Server: outcome.OnFailure}
	if s.wasCancelled() {
		in.Result = operations.ResultCancelled
	}
	return s.finish(in, story)
}

func (s *Saga) finish(in steps.FinishIn, story error) error {
	in.Fence = s.Fence
	if s.wasCancelled() && in.Result == operations.ResultDone {
		in.Note = "a cancel came after the point of no return; the work was finished"
	}
	if _, err := steps.Records.Finish(detached(s.ctx), in); err != nil {
		if superseded(err) {
			return nil
		}
		return fmt.Errorf("finish: %w", err)
	}
	switch in.Result {
	case operations.ResultCancelled:
		return temporal.NewCanceledError(in.Fault.Message)
	case operations.ResultFailed:
		return temporal.NewNonRetryableApplicationError(in.Fault.Message, in.Fault.Code, nil)
	}
	return nil
}

// fault is what the user reads of the story's error.
func fault(story error) *steps.Fault {
	f := steps.Decode(story)
	if f == nil && !errors.As(story, &f) {
		f = faults.New(faults.Internal, "InternalError", "%s", reason(story))
	}
	return &steps.Fault{Code: f.Code, Message: f.Message, HTTPCode: 500}
}

func reason(story error) string {
	if f := steps.Decode(story); f != nil {
		return f.Message
	}
	var f *faults.Error
	switch {
	case errors.As(story, &f):
		return f.Message
	case temporal.IsCanceledError(story):
		return ErrCancelled.Message
	case steps.IsHostSilent(story):
		return "the host did not answer in time"
	}
	return story.Error()
}

func superseded(err error) bool {
	return steps.IsSuperseded(err) || faults.Is(err, faults.Superseded)
}

// detached gives a context that no cancel of the workflow reaches.
func detached(ctx workflow.Context) workflow.Context {
	d, _ := workflow.NewDisconnectedContext(ctx)
	return d
}
