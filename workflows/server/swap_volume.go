package server

// SwapVolume puts another volume in the place of one that a server has, while its
// guest runs: Cinder asks for it when it moves a volume that is in use.
//
//	as it was ──volumes──► Cinder has both ──guest──► the guest writes to the new one ──settle──► Cinder has the new one
//	    ▲                      │                          │ failed, cancelled
//	    └──────────────────────┴──────────────────────────┘
//
// Point of no return: the step settle, since Cinder deletes the old volume then. It
// shares the server with others of its like, one after the other, and shows no task.
//
//	step     before it                    after it                     undo
//	volumes  the row names the volume     the new one is connected to  its attachment is deleted, Cinder
//	         that is to come; Cinder      the host                     is told that the migration has
//	         knows nothing                                             failed, and the row forgets it
//	guest    the same                     the guest writes to the new  the copy is ended; of a guest that
//	                                      one, which has all that the  has gone on already the new volume
//	                                      old one had                  is copied back
//	settle   the same                     the server has the new one,  none: it is finished, or Cinder
//	                                      and Cinder knows             owes it
//	finish   the same                     the same
//
//	cancelled before settle, the server has the old volume, with all that its
//	guest has written; afterwards the new one
//
// A host that is lost between the two keeps what was written there meanwhile to
// itself, if its guest is made anew elsewhere.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// SwapVolume is the workflow of operations.ServerSwapVolume.
func SwapVolume(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	return s.Close(saga.Outcome{}, swapVolume(s))
}

func swapVolume(s *saga.Saga) error {
	if s.Forward() { // an earlier run has come to settle
		_, err := settleSwap(s)
		return err
	}
	asked, err := saga.Input[steps.SwapInput](s)
	if err != nil {
		return err
	}
	host := s.Begun.Server.Host
	err = s.Step(operations.StepVolumes, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectNewVolume, Ref: asked.NewVolumeID}},
	})
	if err != nil {
		return err
	}
	begun, err := steps.Cinder.BeginSwap(s.Context(), steps.SwapVolumeIn{Fence: s.Fence, HostID: host, NewVolumeID: asked.NewVolumeID})
	if err != nil {
		return err
	}
	if err := goOn(s, host, asked, begun); err != nil {
		return err
	}
	_, err = settleSwap(s)
	return err
}

// goOn is the step guest: from it on the guest is on the new volume.
func goOn(s *saga.Saga, host string, asked steps.SwapInput, begun steps.BeginSwapOut) error {
	volume, err := volumeOf(s, asked.VolumeID)
	if err != nil {
		return err
	}
	volume.AttachmentID = begun.AttachmentID
	err = s.Step(operations.StepGuest, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectSwapped, Ref: asked.NewVolumeID, Host: host}},
	})
	if err != nil {
		return err
	}
	return saga.OnHost(s.Context(), host, func(ctx workflow.Context) error {
		return steps.Libvirt.Swap(ctx, host, steps.SwapIn{Token: s.Token(), Volume: *volume, To: asked.NewVolumeID})
	})
}

// settleSwap has the server be on the new volume for good.
func settleSwap(s *saga.Saga) (*steps.ServerOutcome, error) {
	asked, err := saga.Input[steps.SwapInput](s)
	if err != nil {
		return nil, err
	}
	// Nothing is intended with the step that a cancel may cross: its undo would go on.
	host := s.Begun.Server.Host
	if err := s.Step(operations.StepSettle, saga.Move{Host: host}); err != nil {
		return nil, err
	}
	left := operations.Effect{Kind: operations.EffectOldVolume, Ref: asked.NewVolumeID, State: operations.Done}
	return nil, s.TakeAwayOnly(operations.StepSettle, host, []operations.Effect{left}, left.Kind)
}

// undoNewVolume lets go of the volume that was to take another's place, once no
// guest can be on it.
func undoNewVolume(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	for _, other := range s.Ledger() {
		if other.Kind == operations.EffectSwapped && other.Ref == e.Ref && other.State == operations.Owed {
			return errGuestOwed
		}
	}
	return steps.Cinder.CancelSwap(ctx, steps.SwapVolumeIn{Fence: s.Fence, NewVolumeID: e.Ref})
}

// undoSwapped has the guest be on the volume that it had.
func undoSwapped(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return saga.OnHost(ctx, e.Host, func(ctx workflow.Context) error {
		return steps.Libvirt.UndoSwap(ctx, e.Host, steps.UndoSwapIn{Token: s.Token(), From: e.Ref})
	})
}

// undoOldVolume lets go of the volume that the guest has left. The server has the
// new one first, whatever Cinder says of the old one.
func undoOldVolume(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	if err := steps.Records.ReplaceVolume(ctx, steps.ReplaceVolumeIn{Fence: s.Fence, NewVolumeID: e.Ref}); err != nil {
		return err
	}
	return steps.Cinder.EndSwap(ctx, steps.SwapVolumeIn{Fence: s.Fence, NewVolumeID: e.Ref})
}
