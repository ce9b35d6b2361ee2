package node

// Undeploy takes a node's instance away, and makes the node available.
//
//	active, deploy failed, error, ... ──deleted──► deleting ──► cleaning ◄──► clean wait
//	                                                  │            │ │
//	                                                  │            │ └──► available; manageable if it is retired
//	                                                  │            └──► clean failed: a step failed, aborted
//	                                                  └──► error: its BMC can't be used
//
// Point of no return: it is forward from its first step. A cancel that comes while the
// node is cleaned ends that, and one that came before has it not be cleaned: it is
// clean failed, without its instance.
//
//	step       before it                  after it
//	tear-down  the node is in deleting    the node is off, nothing is in its drive, and
//	                                      its row knows of no instance
//	clean      the node is in cleaning    as in Clean
//	finish     the same                   available or manageable
//
// What its row knows of the instance goes even if its BMC can't be used: it is in error
// then, and the next undeploy turns it off. A run from nothing goes on where the row
// says that the node is.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Undeploy is the workflow of operations.NodeUndeploy.
func Undeploy(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undos)
	if s == nil {
		return err
	}
	now, err := undeploy(s)
	return s.Close(saga.Outcome{Node: now, NodeOnFailure: now}, err)
}

// undeploy does all of it, and says what is true of the node afterwards whether it went
// well or not.
func undeploy(s *saga.Saga) (*steps.NodeOutcome, error) {
	if s.Begun.Node.ProvisionState == string(provision.Deleting) {
		if err := tearDown(s); steps.IsSuperseded(err) {
			return nil, err
		} else if err != nil {
			return failedAsSeen(s), tearDownFault(err)
		}
		if err := s.Step(operations.StepClean, withoutRamdisk(s, provision.Cleaning)); err != nil {
			return failed(), err
		}
	}
	ends := provision.Available
	if s.Begun.Node.Retired {
		ends = provision.Manageable
	}
	outcome, err := cleaned(s, ends)
	switch {
	case err == nil:
		return outcome.Node, nil
	case isCancel(err):
		return outcome.NodeOnCancel, faults.New(saga.ErrCancelled.Kind, saga.ErrCancelled.Code, "%s", outcome.Cancelled)
	}
	return outcome.NodeOnFailure, err
}

// tearDown ends the node's instance.
func tearDown(s *saga.Saga) error {
	move := shown(s, provision.Deleting)
	move.Intend = networkEffect(s)
	err := s.Step(operations.StepTearDown, move)
	if err != nil {
		return err
	}
	if s.Begun.Node.DeployInterface != fakeDeploy {
		err = shutDown(s.Context(), s, "tear-down")
	}
	if err == nil {
		err = switchTo(s.Context(), s, steps.NetworkNone)
	}
	gone := onConductor(s, func(ctx workflow.Context) error {
		return steps.Boot.Vacate(ctx, s.Begun.Node.Group, steps.NodeIn{Fence: s.Fence})
	})
	if err == nil {
		err = gone
	}
	return err
}

// tearDownFault is what the user reads of an instance that could not be ended.
func tearDownFault(err error) error {
	f := saga.Reason(err)
	return faults.Wrap(err, f.Kind, f.Code, "Failed to tear down: %s", f.Message)
}
