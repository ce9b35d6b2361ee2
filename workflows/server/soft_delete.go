package server

// SoftDelete sets a server aside: it is off, and can be restored until it is
// reclaimed. What it has outside stays, its quota is free.
//
//	any state ──guest──► guest off ──► SOFT_DELETED
//	    ▲          └── its host is down: SOFT_DELETED, power unknown
//	    └── cancelled before, or the host can't: as it was
//
// Point of no return: the step guest. It turns the guest off by force, as the
// original does.
//
//	step    before it                   after it
//	guest   nothing has been done;      the guest is off; if its host is down,
//	        cancelled, it is as it was  nobody knows
//	finish  the same                    SOFT_DELETED, its quota free

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

var softDelete = power{steps.PowerForceStop, steps.PowerForceStop, steps.PowerForceStop, vmSoftDeleted, asItWas}

// SoftDelete is the workflow of operations.ServerSoftDelete.
func SoftDelete(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := setAside(s)
	return s.Close(saga.Outcome{Server: now, OnFailure: now}, err)
}

// setAside turns the guest off; a host that is down holds nothing up.
func setAside(s *saga.Saga) (*steps.ServerOutcome, error) {
	now, err := softDelete.tell(s, softDelete.cutShort)
	if errors.Is(err, saga.ErrHostDown) || steps.IsHostSilent(err) {
		return &steps.ServerOutcome{VMState: new(vmSoftDeleted), PowerState: new(powerNone)}, nil
	}
	return now, err
}
