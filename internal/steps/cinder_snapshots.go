package steps

// Family cinder: snapshots of a server's volumes, which an image stands on.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// SnapshotVolumesIn makes a snapshot of every volume of the fenced operation's
// server.
type SnapshotVolumesIn struct {
	Fence Fence `json:"fence"`
	// ImageID is the image that they are for, Name what it is called.
	ImageID string `json:"image_id"`
	Name    string `json:"name"`
}

// SnapshotVolumesOut has them all.
type SnapshotVolumesOut struct {
	Snapshots []VolumeSnapshot `json:"snapshots,omitempty"`
}

// VolumeSnapshot is the snapshot of the volume of one of the server's devices.
type VolumeSnapshot struct {
	Position int    `json:"position"`
	ID       string `json:"id"`
}

// DropSnapshotsIn deletes the snapshots that were made for an image.
type DropSnapshotsIn struct {
	Fence   Fence  `json:"fence"`
	ImageID string `json:"image_id"`
}

// CinderSnapshots is a part of CinderActivities.
type CinderSnapshots interface {
	// Snapshot finds by mark what an earlier call has made. Errors: NotFound,
	// OverLimit, Conflict (with the original's codes and texts), Unavailable,
	// Superseded.
	Snapshot(context.Context, SnapshotVolumesIn) (SnapshotVolumesOut, error)
	// DropSnapshots: what is gone already is success. Errors: Unavailable,
	// Superseded.
	DropSnapshots(context.Context, DropSnapshotsIn) (struct{}, error)
}

var (
	cinderSnapshot      = serviceStep("cinder.Snapshot", service)
	cinderDropSnapshots = serviceStep("cinder.DropSnapshots", undo)
)

// Snapshot makes snapshots of a server's volumes.
func (cinderSteps) Snapshot(ctx workflow.Context, in SnapshotVolumesIn) (SnapshotVolumesOut, error) {
	return call[SnapshotVolumesOut](ctx, cinderSnapshot, ControlQueue, in)
}

// DropSnapshots deletes them.
func (cinderSteps) DropSnapshots(ctx workflow.Context, in DropSnapshotsIn) error {
	_, err := call[struct{}](ctx, cinderDropSnapshots, ControlQueue, in)
	return err
}
