package server

// DetachInterface takes a port from a server, and from its guest while that runs.
//
//	attached ──guest──► the guest has let go ──network──► Neutron too ──► as if it had never been there
//	   ▲        │ the guest keeps it, its host is down
//	   └────────┘
//
// Point of no return: the step guest. A guest that is about to let go can't be
// told not to, so a cancel that comes later is noted, and the work is finished
// or fails. It shares the server with others of its like, one after the other,
// and shows no task.
//
//	step     before it                      after it
//	guest    nothing has been done          the guest has the interface no more; or it
//	                                        keeps it, and the port is attached as before
//	network  the same                       a port of ours is gone, a user's own is free,
//	                                        or that is a debt of Neutron; the row goes
//	finish   the same                       the same

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// DetachInterface is the workflow of operations.ServerDetachInterface.
func DetachInterface(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	_, err = detachInterface(s)
	return s.Close(saga.Outcome{}, err)
}

func detachInterface(s *saga.Saga) (*steps.ServerOutcome, error) {
	asked, err := saga.Input[steps.InterfaceInput](s)
	if err != nil {
		return nil, err
	}
	return nil, takeOut(s, asked.PortID, operations.StepNetwork, portEffect(asked))
}
