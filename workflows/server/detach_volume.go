package server

// DetachVolume takes a volume from a server, and from its guest while that runs.
//
//	attached ──guest──► the guest has let go ──volumes──► Cinder too ──► as if it had never been there
//	   ▲        │ the guest keeps it, its host is down
//	   └────────┘
//
// Point of no return: the step guest. A guest that is about to let go can't be
// told not to, so a cancel that comes later is noted, and the work is finished
// or fails. It shares the server with others of its like, one after the other,
// and shows no task.
//
//	step     before it                      after it
//	guest    nothing has been done          the guest has the disk no more; or it keeps
//	                                        it, and the volume is attached as before
//	volumes  the same                       the attachment is gone, or is a debt of
//	                                        Cinder, and the row with it
//	finish   the same                       the volume is anybody's
//
// A volume that is not the server's any more is success: one of two who asked.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// DetachVolume is the workflow of operations.ServerDetachVolume.
func DetachVolume(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	_, err = detachVolume(s)
	return s.Close(saga.Outcome{}, err)
}

func detachVolume(s *saga.Saga) (*steps.ServerOutcome, error) {
	asked, err := saga.Input[steps.VolumeInput](s)
	if err != nil {
		return nil, err
	}
	return nil, takeOut(s, asked.VolumeID, operations.StepVolumes, operations.Effect{Kind: operations.EffectVolume, Ref: asked.VolumeID})
}
