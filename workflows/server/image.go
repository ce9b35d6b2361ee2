package server

// CreateImage makes an image of a server, which goes on as it was: createImage,
// and createBackup, whose images take turns.
//
//	an image in Glance that waits for its data, made by the request
//	   ──snapshot──► a copy of the root disk on the host ──upload──► the image has its data
//	   ──volumes──► snapshots of all volumes ──upload──► the image says so (boots from a volume)
//	                                          ──rotate──► the oldest backups are deleted
//
// Point of no return: none for an image, which is undone until it finishes; for
// a backup the step rotate, since what that deletes nobody brings back.
//
//	step      before it                  after it                     its undo
//	(request) nothing                    the image waits in Glance,   the image is deleted
//	                                     the ledger has it
//	snapshot  the same                   a copy of the disk, as it    the copy is removed,
//	                                     was at one moment, is on     or owed by the host
//	                                     the host
//	volumes   the same                   every volume has a snapshot  they are deleted
//	upload    the same                   the image is active, the     none of its own: the
//	                                     copy is gone                 image is deleted
//	rotate    the same                   of the backup's type as many none; what Glance does
//	                                     images are left as were      not delete now goes with
//	                                     asked for                    the next backup
//	finish    the same                   the image is the user's
//
//	cancelled or failed before rotate: no image, copy or snapshot is left, or a
//	debt of who is down; the server is as it was

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// CreateImage is the workflow of operations.ServerCreateImage and ServerCreateBackup.
func CreateImage(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	return s.Close(saga.Outcome{Server: unchanged(), OnFailure: unchanged()}, createImage(s))
}

func createImage(s *saga.Saga) error {
	asked, err := saga.Input[steps.ImageInput](s)
	if err != nil {
		return err
	}
	switch {
	case asked.OfVolumes:
		return captureVolumes(s, asked)
	case s.Begun.Step == operations.StepRotate:
		return rotate(s, asked) // an earlier run was lost there; the image has its data
	}
	if err := captureDisk(s, asked.ImageID); err != nil || s.Begun.Kind != operations.ServerCreateBackup {
		return err
	}
	return rotate(s, asked)
}

// captureDisk copies the server's root disk and brings the copy to Glance.
func captureDisk(s *saga.Saga, imageID string) error {
	host, err := homeOf(s)
	if err != nil {
		return err
	}
	err = s.Step(operations.StepSnapshot, saga.Move{
		Host:   host,
		Intend: []operations.Effect{{Kind: operations.EffectSnapshotFile, Ref: s.Begun.ResourceID, Host: host}},
	})
	if err != nil {
		return err
	}
	err = saga.OnHost(s.Context(), host, func(ctx workflow.Context) error {
		return steps.Libvirt.Snapshot(ctx, host, steps.SnapshotIn{Token: s.Token(), ImageID: imageID})
	})
	if err != nil {
		return err
	}
	if err := s.Step(operations.StepUpload, saga.Move{Host: host}); err != nil {
		return err
	}
	return saga.OnHost(s.Context(), host, func(ctx workflow.Context) error {
		return steps.Libvirt.Upload(ctx, host, steps.UploadIn{Token: s.Token(), ImageID: imageID})
	})
}

// captureVolumes makes snapshots of all volumes and says so in the image.
func captureVolumes(s *saga.Saga, asked steps.ImageInput) error {
	err := s.Step(operations.StepVolumes, saga.Move{
		Intend: []operations.Effect{{Kind: operations.EffectSnapshots, Ref: asked.ImageID}},
	})
	if err != nil {
		return err
	}
	made, err := steps.Cinder.Snapshot(s.Context(), steps.SnapshotVolumesIn{Fence: s.Fence, ImageID: asked.ImageID, Name: asked.Name})
	if err != nil {
		return err
	}
	if err := s.Step(operations.StepUpload, saga.Move{}); err != nil {
		return err
	}
	return steps.Glance.Fill(s.Context(), steps.FillIn{Fence: s.Fence, ImageID: asked.ImageID, Snapshots: made.Snapshots})
}

// rotate deletes the oldest backups. The new one is there whether or not that
// succeeds.
func rotate(s *saga.Saga, asked steps.ImageInput) error {
	if err := s.Step(operations.StepRotate, saga.Move{}); err != nil {
		return err
	}
	err := steps.Glance.Rotate(s.Context(), steps.RotateIn{Fence: s.Fence, BackupType: asked.BackupType, Rotation: asked.Rotation, Owner: asked.Owner})
	if err == nil || steps.IsSuperseded(err) {
		return err
	}
	workflow.GetLogger(s.Context()).Warn("old backups stay", "server", s.Begun.ResourceID, "error", err)
	return nil
}

// rotateAgain is what a recovery does for a backup that was lost in rotate.
func rotateAgain(s *saga.Saga) (*steps.ServerOutcome, error) {
	asked, err := saga.Input[steps.ImageInput](s)
	if err != nil {
		return unchanged(), err
	}
	return unchanged(), rotate(s, asked)
}

// undoImage deletes the image.
func undoImage(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return steps.Glance.Delete(ctx, steps.DeleteImageIn{Fence: s.Fence, ImageID: e.Ref})
}

// undoSnapshots deletes the snapshots that were made for the image.
func undoSnapshots(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return steps.Cinder.DropSnapshots(ctx, steps.DropSnapshotsIn{Fence: s.Fence, ImageID: e.Ref})
}

// undoSnapshotFile removes the copy of the disk.
func undoSnapshotFile(ctx workflow.Context, s *saga.Saga, e operations.Effect) error {
	return saga.OnHost(ctx, e.Host, func(ctx workflow.Context) error {
		return steps.Libvirt.DropSnapshot(ctx, e.Host, steps.DropSnapshotIn{Token: s.Token()})
	})
}
