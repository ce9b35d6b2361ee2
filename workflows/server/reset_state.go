package server

// ResetState says what a server is, by an administrator's word: the way out of
// an operation that hangs. The operation that it pre-empted has undone itself, or
// has been finished forward, when this one begins.
//
//	as it was ──state──► active or error, as asked
//
// Point of no return: the step state. Nothing is done outside, unless a move waits
// to be confirmed: it is, as ConfirmResize does it, since nobody could take away
// otherwise what it has left where the server was.
//
//	step    before it            after it
//	state   the row as it was;   the same, and a cancel comes too late; what a move
//	        cancelled, it stays  has left is gone, or owed
//	finish  the same             vm_state as asked, the task over, the power
//	                             state untouched

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// ResetState is the workflow of operations.ServerResetState.
func ResetState(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	reset, err := resetState(s)
	return s.Close(saga.Outcome{Server: reset, OnFailure: unchanged()}, err)
}

func resetState(s *saga.Saga) (*steps.ServerOutcome, error) {
	in, err := saga.Input[steps.ResetState](s)
	if err != nil {
		return nil, err
	}
	if err := s.Step(operations.StepState, saga.Move{}); err != nil {
		return nil, err
	}
	now := &steps.ServerOutcome{VMState: &in.VMState}
	m := s.Begun.Server.Migration
	if m == nil || m.Status != moveFinished {
		return now, nil
	}
	now.Migration = &steps.MigrationOutcome{Status: moveConfirmed}
	return now, s.TakeAway(operations.StepState, m.Source, left(s, m))
}
