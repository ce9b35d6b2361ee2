package node

// Manage looks whether a node that was enrolled can be reached by what its row
// says of its BMC, and reads what that knows of it.
//
//	enroll ──manage──► verifying ──► manageable
//	   ▲                   │
//	   └───────────────────┘ failed, cancelled, lost; last_error says why
//
// Point of no return: none. Nothing is changed outside but the clock of a BMC that is wrong,
// if that is wanted.
//
//	step    before it                      after it
//	verify  the node is in verifying;      its power, boot mode and secure boot are
//	        cancelled, it is in enroll     known; cancelled, it is in enroll
//	finish  the same                       manageable, and the row says what was read
//
// There is no undo: a look leaves nothing, and nobody wants a wrong clock back.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Manage is the workflow of operations.NodeManage.
func Manage(ctx workflow.Context, ref steps.Ref) error {
	return transition(ctx, ref, verify, "By request, the verification was aborted")
}

func verify(s *saga.Saga) (*steps.NodeOutcome, error) {
	if err := s.Step(operations.StepVerify, shown(s, provision.Verifying)); err != nil {
		return nil, err
	}
	var found steps.NodeVerifyOut
	err := onConductor(s, func(ctx workflow.Context) (err error) {
		found, err = steps.BMC.Verify(ctx, s.Begun.Node.Group, steps.NodeIn{Fence: s.Fence})
		return err
	})
	if err != nil {
		return nil, verifyFault(s, err)
	}
	now := at(provision.Manageable)
	now.PowerState, now.SecureBoot = &found.PowerState, found.SecureBoot
	if found.BootMode != "" {
		now.BootMode = &found.BootMode
	}
	return now, nil
}

// verifyFault is what the user reads of a node that can't be reached.
func verifyFault(s *saga.Saga, err error) error {
	f := saga.Reason(err)
	if f.Kind == faults.Superseded || f.Code == saga.ErrCancelled.Code || f.Code == steps.VerifyFailure {
		return err
	}
	what := "get power state"
	if f.Code == "MissingParameterValue" || f.Code == "InvalidParameterValue" {
		what = "validate power driver interface"
	}
	return faults.Wrap(err, f.Kind, f.Code, "Failed to %s for node %s. Error: %s", what, s.Begun.Node.ID, f.Message)
}
