package server

// CrashDump gives a guest a non-maskable interrupt: what it does then, a dump of
// its memory perhaps, is the guest's own matter, and so is its state.
//
//	running, paused ──guest──► interrupted
//
// Point of no return: the step guest.
//
//	step    before it                   after it
//	guest   nothing has been done;      the guest has had its interrupt, once
//	        cancelled, it has none
//	finish  the same                    the row as it was
//
//	failed  the fault says why; the row as it was

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// CrashDump is the workflow of operations.ServerCrashDump.
func CrashDump(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := interrupt(s)
	return s.Close(saga.Outcome{Server: now, OnFailure: unchanged()}, err)
}

// nmi is done the same way by force: there is nothing to wait for.
var nmi = power{action: steps.PowerInjectNMI, forced: steps.PowerInjectNMI}

func interrupt(s *saga.Saga) (*steps.ServerOutcome, error) {
	host, err := homeOf(s)
	if err != nil {
		return nil, err
	}
	if err := s.Step(operations.StepGuest, saga.Move{Host: host}); err != nil {
		return nil, err
	}
	_, err = nmi.cutShort(s, host)
	return unchanged(), err
}
