package server

// One undo per kind of effect, shared by every operation on servers: its own
// compensation, recovery by the sweeper, and a run started from nothing.

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

var undo = map[operations.EffectKind]saga.Undo{
	operations.EffectClaim: undoClaim,
	operations.EffectGuest: undoGuest,
}

// undoGuest removes the domain and its disks; a host that is down owes it.
func undoGuest(ctx workflow.Context, s *saga.Saga, e operations.Effect) (operations.EffectState, error) {
	err := saga.OnHost(ctx, e.Host, func() error {
		return steps.Libvirt.Destroy(ctx, e.Host, steps.DestroyIn{Token: s.Token()})
	})
	if errors.Is(err, saga.ErrHostDown) {
		return operations.Owed, nil
	}
	return operations.Undone, err
}

// undoClaim gives the room back, unless the guest may still be running there:
// then the room is owed together with the guest.
func undoClaim(ctx workflow.Context, s *saga.Saga, e operations.Effect) (operations.EffectState, error) {
	for _, other := range s.Ledger() {
		if other.Kind == operations.EffectGuest && other.Host == e.Host && other.State == operations.Owed {
			return operations.Owed, nil
		}
	}
	return operations.Undone, steps.Placement.Release(ctx, steps.ReleaseIn{Fence: s.Fence, Seq: e.Seq})
}
