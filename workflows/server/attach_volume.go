package server

// AttachVolume gives a volume to a server, and to its guest while that runs.
//
//	as it was ──volumes──► Cinder has the attachment ──guest──► the guest has the disk ──► attached
//	    ▲                      │                          │ failed, cancelled
//	    └──────────────────────┴──────────────────────────┘
//
// It has no point of no return: until it has finished, it can be undone. It
// shares the server with others of its like, one after the other, and shows no
// task.
//
//	step     before it                    after it                   undo
//	volumes  the row has the disk's name  the volume is reserved     the attachment is deleted, and
//	         and place; Cinder knows      and connected to the host  the row with it
//	         nothing
//	guest    the same                     the guest has the disk,    the guest lets go of the disk
//	                                      running or not
//	finish   the volume is in use         the same
//
// A server that is on no host has no guest: its attachment waits for one.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// AttachVolume is the workflow of operations.ServerAttachVolume.
func AttachVolume(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	return s.Close(saga.Outcome{}, attachVolume(s))
}

func attachVolume(s *saga.Saga) error {
	asked, err := saga.Input[steps.VolumeInput](s)
	if err != nil {
		return err
	}
	host := s.Begun.Server.Host
	err = s.Step(operations.StepVolumes, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectVolume, Ref: asked.VolumeID}},
	})
	if err != nil {
		return err
	}
	if _, err := steps.Cinder.Attach(s.Context(), steps.AttachIn{Fence: s.Fence, HostID: host, VolumeID: asked.VolumeID}); err != nil {
		return err
	}
	if host != "" {
		volume, err := volumeOf(s, asked.VolumeID)
		if err != nil {
			return err
		}
		if err := plugIn(s, host, asked.VolumeID, steps.PlugIn{Volume: volume}); err != nil {
			return err
		}
	}
	return steps.Cinder.Complete(s.Context(), steps.CompleteIn{Fence: s.Fence, VolumeID: asked.VolumeID})
}
