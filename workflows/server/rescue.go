package server

// Rescue has a guest run from another image, its own disk beside it, so that its
// owner can mend what doesn't boot. Unrescue, an operation on power, ends it.
//
//	active, stopped, error ──guest──► runs from the image ──► RESCUE
//	          ▲                            │ cancelled, lost, or the host can't
//	          └── as it was, or ERROR ◄────┘
//
// Point of no return: none before it finishes.
//
//	step    before it                    after it                  its undo
//	guest   the guest as it was, the     the guest runs from the   the guest is on its own
//	        ledger says what may become  image, its disk second    disk, running or not as
//	        of it                                                  before; what the rescue
//	                                                               made is gone, or owed
//	finish  the same                     RESCUE
//
//	cancelled: as it was
//	failed: ERROR as in the original, the guest on its own disk. A host that is
//	down is no fault of the server: its vm_state stays and nobody knows its power.

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Rescue is the workflow of operations.ServerRescue.
func Rescue(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	now, err := rescue(s)
	before := unchanged()
	if err != nil && now != nil {
		before.PowerState = now.PowerState
	}
	return s.Close(saga.Outcome{Server: now, OnFailure: now, OnCancel: before}, err)
}

// rescue also says what is true if it fails.
func rescue(s *saga.Saga) (*steps.ServerOutcome, error) {
	in, err := saga.Input[steps.Rescue](s)
	if err != nil {
		return unchanged(), err
	}
	host, err := homeOf(s)
	if err != nil {
		return unchanged(), err
	}
	if s.Begun.Step == operations.StepUndo {
		// An earlier run was lost while it took the rescue back.
		return notRescued(s, errInterrupted)
	}
	err = s.Step(operations.StepGuest, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectRescue, Ref: s.Begun.ResourceID, Host: host}},
	})
	if err != nil {
		return notRescued(s, err)
	}
	var found steps.PowerOut
	err = saga.OnHost(s.Context(), host, func(ctx workflow.Context) (err error) {
		found, err = steps.Libvirt.Rescue(ctx, host, steps.RescueIn{Token: s.Token(), Rescue: in})
		return err
	})
	if err != nil {
		return notRescued(s, err)
	}
	return &steps.ServerOutcome{VMState: new(vmRescued), PowerState: &found.PowerState, Launched: true}, nil
}

// notRescued takes the rescue back and says what is true then.
func notRescued(s *saga.Saga, why error) (*steps.ServerOutcome, error) {
	if steps.IsSuperseded(why) {
		return nil, why
	}
	if err := s.UndoAll(saga.Reason(why).Message); err != nil {
		return nil, err
	}
	now := unchanged()
	for _, e := range s.Ledger() {
		if e.Kind == operations.EffectRescue && e.State == operations.Owed {
			now = unknown()
		}
	}
	if !harmless(why) {
		now.VMState = new(vmError)
	}
	return now, why
}

var errInterrupted = faults.New(faults.Unavailable, "OperationInterrupted", "the operation was interrupted and has been undone")

// harmless: what ended the story is no fault of the server.
func harmless(why error) bool {
	return temporal.IsCanceledError(why) || errors.Is(why, saga.ErrCancelled) || errors.Is(why, errInterrupted) ||
		errors.Is(why, saga.ErrHostDown) || errors.Is(why, steps.ErrDeadline) || steps.IsHostSilent(why)
}
