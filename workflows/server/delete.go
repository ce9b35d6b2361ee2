package server

// Delete takes a server away.
//
//	any state ──guest──► guest gone ──► claim gone ──► DELETED
//	               └── its host is down: owed, and on to DELETED
//
// Point of no return: it is forward from its first step. A cancel is noted and
// changes nothing; a host that is down, or that can't, owes what it holds and
// holds nothing up.
//
//	step    before it                   after it
//	guest   what the server holds by    all of it is gone, last made first, or is
//	        its own rows is in the      a debt of its host; a claim stays for as
//	        ledger, nothing is changed  long as the guest may still run
//	finish  the same                    DELETED, its quota free, the host kept for
//	                                    the record as the original does
//
// A delete that pre-empted another operation begins when that one has undone
// itself: what the server holds then is what was left.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Delete is the workflow of operations.ServerDelete.
func Delete(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	gone, err := remove(s)
	return s.Close(saga.Outcome{Server: gone, OnFailure: broken()}, err)
}

func remove(s *saga.Saga) (*steps.ServerOutcome, error) {
	server := s.Begun.Server
	if err := s.TakeAway(operations.StepGuest, server.Host, server.Holds); err != nil {
		return nil, err
	}
	return deleted(), nil
}
