package saga

// Close: how an operation ends, what the user reads of it, and what the
// Temporal UI shows: Completed if it did what was asked, Failed with the user's
// reason, Canceled if somebody had asked for that. A run that found the
// operation finished or superseded is Completed too: it had nothing to do.

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

// Outcome is what an operation makes true when it ends.
type Outcome struct {
	// Server is published if the story succeeded, OnFailure if it did not.
	Server    *steps.ServerOutcome
	OnFailure *steps.ServerOutcome
	// OnCancel is published instead of OnFailure if it was cancelled, though it
	// may have failed before; nil is OnFailure.
	OnCancel *steps.ServerOutcome
	// Stack, StackOnFailure and StackOnCancel are the same of a stack. One without
	// a reason has the fault's.
	Stack, StackOnFailure, StackOnCancel *steps.StackOutcome
	// Node, NodeOnFailure and NodeOnCancel are the same of a node.
	Node, NodeOnFailure, NodeOnCancel *steps.NodeOutcome
	// Cancelled is what the user reads of one that was cancelled; empty is
	// ErrCancelled's.
	Cancelled string
	// Fault is read by the user although the story succeeded: a recovery's
	// account of the operation that was lost.
	Fault *steps.Fault
}

// Close ends the operation by what the story returned: done, and every effect
// that is still open passes to the resource's own rows; or undone, last effect
// first, and failed or cancelled; or, if another operation has taken over,
// nothing at all.
func (s *Saga) Close(outcome Outcome, story error) error {
	if workflow.IsContinueAsNewError(story) {
		return story // another run tells it on
	}
	defer drain(s.ctx)
	if err := s.nameHost(); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	if story == nil {
		story = s.succeed(outcome)
	}
	if story == nil {
		workflow.SetCurrentDetails(s.ctx, "Done")
		return nil
	}
	if superseded(story) {
		workflow.SetCurrentDetails(s.ctx, "Superseded")
		return nil
	}
	if err := s.fail(outcome, story); workflow.IsContinueAsNewError(err) || !superseded(err) {
		return err
	}
	return nil
}

// succeed finishes a story that has come to its end, unless a cancel came
// before that and still counts.
func (s *Saga) succeed(outcome Outcome) error {
	if s.wasCancelled() && !s.forward {
		return ErrCancelled
	}
	in := steps.FinishIn{Fence: s.Fence, Result: operations.ResultDone, Server: outcome.Server, Stack: outcome.Stack, Node: outcome.Node, Fault: outcome.Fault}
	if s.wasCancelled() {
		in.Note = "a cancel came after the point of no return; the work was finished"
	}
	out, err := steps.Records.Finish(s.ctx, in)
	if err == nil && out.Cancelled {
		s.cancelled = true
		return ErrCancelled
	}
	return err
}

// fail undoes what the story did, publishes why, and gives the error that the
// workflow ends with. If even that can't be written, the sweeper recovers the
// operation.
func (s *Saga) fail(outcome Outcome, story error) error {
	workflow.GetLogger(s.ctx).Info("the story failed", "step", s.step, "attempt", s.attempt, "error", story)
	fault := faultOf(story)
	if outcome.Cancelled != "" && fault.Code == ErrCancelled.Code {
		fault.Message = outcome.Cancelled
	}
	if err := s.UndoAll(fault.Message); err != nil {
		return err
	}
	in := steps.FinishIn{Fence: s.Fence, Result: operations.ResultFailed, Fault: fault, Server: outcome.OnFailure, Stack: outcome.StackOnFailure, Node: outcome.NodeOnFailure}
	if s.wasCancelled() && !s.forward {
		in.Result = operations.ResultCancelled
		if outcome.OnCancel != nil {
			in.Server = outcome.OnCancel
		}
		if outcome.StackOnCancel != nil {
			in.Stack = outcome.StackOnCancel
		}
		if outcome.NodeOnCancel != nil {
			in.Node = outcome.NodeOnCancel
		}
	}
	if in.Stack != nil && in.Stack.Reason == "" {
		in.Stack.Reason = fault.Message
	}
	if _, err := steps.Records.Finish(s.ctx, in); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	if in.Result == operations.ResultCancelled {
		workflow.SetCurrentDetails(s.ctx, "Cancelled and undone")
		// Temporal takes this whether or not the cancel came through Temporal.
		return temporal.NewCanceledError(fault.Message)
	}
	workflow.SetCurrentDetails(s.ctx, "Failed and undone: "+fault.Message)
	return temporal.NewNonRetryableApplicationError(fault.Message, fault.Code, nil)
}

// httpCodes are the codes of faults that aren't 500.
var httpCodes = map[faults.Kind]int{
	faults.Invalid:   400,
	faults.Forbidden: 403,
	faults.NotFound:  404,
	faults.Conflict:  409,
	faults.OverLimit: 403,
}

// faultOf is what the user reads of an error that ended a story.
func faultOf(story error) *steps.Fault {
	f := Reason(story)
	code, ok := httpCodes[f.Kind]
	if !ok {
		code = 500
	}
	return &steps.Fault{Code: f.Code, Message: f.Message, HTTPCode: code}
}

// Account is what the user reads of a lost operation that has been undone.
func Account(lost *steps.Recovered) *steps.Fault {
	spec, _ := operations.Lookup(lost.Kind)
	if lost.Cancelled {
		return &steps.Fault{Code: ErrCancelled.Code, HTTPCode: httpCodes[ErrCancelled.Kind],
			Message: fmt.Sprintf("The %s was cancelled and has been undone.", spec.Verb)}
	}
	return &steps.Fault{Code: "OperationLost", HTTPCode: 500,
		Message: fmt.Sprintf("The %s was interrupted by an operator or a fault of the control plane and has been undone.", spec.Verb)}
}

// Reason makes an error that came out of a story presentable: a fault, whether
// a step returned it or the story made it, and never the text of anything else.
func Reason(story error) *faults.Error {
	var f *faults.Error
	switch {
	case errors.As(story, &f):
		return f
	case temporal.IsCanceledError(story):
		return ErrCancelled
	case steps.IsHostSilent(story):
		return ErrHostDown
	case steps.IsTooSlow(story):
		return faults.New(faults.Unavailable, "StepTimeout", "the host was at work for longer than a step may take")
	}
	if f := steps.Decode(story); f != nil {
		return f
	}
	return faults.Wrap(story, faults.Internal, "InternalError", "an unexpected error occurred")
}

func superseded(err error) bool {
	return err != nil && Reason(err).Kind == faults.Superseded
}
