package server_test

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// imaging is a server of which an image is made.
func imaging() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerCreateImage, workflowtest.Server{VMState: "active", TaskState: "image_snapshot_pending", PowerState: 1}, "host-1")
	return w.Place("host-1").Image(steps.ImageInput{})
}

// imagingVolumes is one that boots from a volume.
func imagingVolumes() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerCreateImage, workflowtest.Server{VMState: "stopped", TaskState: "image_snapshot_pending", PowerState: 4}, "host-1")
	w.Cinder.Asked = 1
	return w.Place("host-1").Image(steps.ImageInput{OfVolumes: true})
}

// backingUp is a server with three backups of a kind, of which two may stay.
func backingUp() *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerCreateBackup, workflowtest.Server{VMState: "active", TaskState: "image_backup", PowerState: 1}, "host-1")
	w.Place("host-1").Image(steps.ImageInput{BackupType: "daily", Rotation: 2})
	w.Glance.Backups = 3
	return w
}

// as is a world after a change to it.
func as(world func() *workflowtest.World, change func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := world()
		change(w)
		return w
	}
}

const (
	withVolumesStopped = "stopped, power 4, on a host, with volumes"
	noSpace            = "no space left"
	silent             = "the host did not answer in time"
)

func TestCreateImage(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.CreateImage,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: imaging, Result: operations.ResultDone},
			{Name: "of volumes", World: imagingVolumes, Result: operations.ResultDone},
			{Name: "cancelled before it began", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(imaging()) }},
			{Name: "out of time", Result: operations.ResultFailed, Message: "the operation did not end in time",
				World: as(imaging, func(w *workflowtest.World) { w.Op.Deadline = workflowtest.Epoch.Add(-1) })},
			{Name: "the host can't", Result: operations.ResultFailed, Message: noSpace,
				World: as(imaging, func(w *workflowtest.World) { w.Hosts["host-1"].Broken = true })},
			{Name: "host down", Result: operations.ResultFailed, Message: silent, Debts: 1,
				World: as(imaging, func(w *workflowtest.World) { w.Down("host-1") })},
			{Name: "Glance is full", Result: operations.ResultFailed,
				Message: "Quota exceeded or out of space for image " + workflowtest.ImageID + " in the image service.",
				World:   as(imaging, func(w *workflowtest.World) { w.Glance.Full = true })},
			{Name: "Glance down", Result: operations.ResultFailed, Message: "the service is down", Debts: 1,
				World: as(imaging, func(w *workflowtest.World) { w.Glance.Down = true })},
			{Name: "the image was deleted meanwhile", Result: operations.ResultFailed,
				Message: "Image " + workflowtest.ImageID + " could not be found.",
				World:   as(imaging, func(w *workflowtest.World) { w.Glance.Status = "" })},
			{Name: "Cinder down", Result: operations.ResultFailed, Message: "the service is down", Debts: 1,
				World: as(imagingVolumes, func(w *workflowtest.World) { w.Cinder.Down = true })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isActive, withVolumesStopped},
			operations.ResultFailed:    {isActive, withVolumesStopped},
			operations.ResultCancelled: {isActive, withVolumesStopped},
		},
	})
}

// A backup leaves as many of its kind as were asked for, and does if Glance
// won't let old ones go.
func TestCreateBackup(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.CreateImage,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: backingUp, Result: operations.ResultDone},
			{Name: "cancelled before it began", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(backingUp()) }},
			{Name: "host down", Result: operations.ResultFailed, Message: silent, Debts: 1,
				World: as(backingUp, func(w *workflowtest.World) { w.Down("host-1") })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isActive},
			operations.ResultFailed:    {isActive},
			operations.ResultCancelled: {isActive},
		},
	})
	if w := workflowtest.Told(t, server.CreateImage, backingUp); w.Glance.Backups != 1 {
		t.Errorf("%d older backups are left, want 1", w.Glance.Backups)
	}
}

// An image that is lost is undone; a backup that is lost while old ones are
// deleted is finished.
func TestRecoverImage(t *testing.T) {
	at := func(kind operations.Kind, step string, setUp func(*workflowtest.World)) func() *workflowtest.World {
		return lost(kind, step, func(w *workflowtest.World) {
			w.Place("host-1").Image(steps.ImageInput{BackupType: "daily", Rotation: 2})
			setUp(w)
		})
	}
	half := func(w *workflowtest.World) {
		w.Glance.Copies = map[string]bool{"host-1": true}
		w.Ledger = append(w.Ledger, operations.Effect{Seq: 2, Kind: operations.EffectSnapshotFile, Ref: workflowtest.ServerID,
			Host: "host-1", Attempt: 1, State: operations.Intended})
	}
	const undone = " was interrupted by an operator or a fault of the control plane and has been undone."
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "image", World: at(operations.ServerCreateImage, operations.StepSnapshot, half), Result: operations.ResultDone,
				Message: "The create-image" + undone},
			{Name: "image that has its data", Result: operations.ResultDone, Message: "The create-image" + undone,
				World: at(operations.ServerCreateImage, operations.StepUpload, func(w *workflowtest.World) { w.Glance.Status = "active" })},
			{Name: "backup", World: at(operations.ServerCreateBackup, operations.StepUpload, half), Result: operations.ResultDone,
				Message: "The create-backup" + undone},
			{Name: "backup in rotation", Result: operations.ResultDone,
				World: at(operations.ServerCreateBackup, operations.StepRotate, func(w *workflowtest.World) { w.Glance.Status = "active" })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:   {isActive},
			operations.ResultFailed: {isActive},
		},
	})
}
