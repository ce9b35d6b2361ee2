package steps

// Family glance: the images that are made of servers.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// FillIn gives an image of a server that boots from a volume what it consists
// of: its description, and no data.
type FillIn struct {
	Fence   Fence  `json:"fence"`
	ImageID string `json:"image_id"`
	// Snapshots are those of the server's volumes.
	Snapshots []VolumeSnapshot `json:"snapshots"`
}

// RotateIn deletes the oldest backups of the fenced operation's server until as
// many are left as Rotation says.
type RotateIn struct {
	Fence      Fence  `json:"fence"`
	BackupType string `json:"backup_type"`
	Rotation   int    `json:"rotation"`
	// Owner is the project whose backups they are.
	Owner string `json:"owner"`
}

// DeleteImageIn deletes an image that the fenced operation is for.
type DeleteImageIn struct {
	Fence   Fence  `json:"fence"`
	ImageID string `json:"image_id"`
}

// GlanceActivities is implemented by activities/glance.
type GlanceActivities interface {
	// Fill: an image that is active is success. Errors: NotFound, Unavailable,
	// Superseded.
	Fill(context.Context, FillIn) (struct{}, error)
	// Rotate: what is gone already is success. Errors: Unavailable, Superseded.
	Rotate(context.Context, RotateIn) (struct{}, error)
	// Delete: what is gone already is success. Errors: Unavailable, Superseded.
	Delete(context.Context, DeleteImageIn) (struct{}, error)
}

// Glance is the family's caller.
var Glance glanceSteps

type glanceSteps struct{}

var (
	glanceFill   = serviceStep("glance.Fill", service)
	glanceRotate = serviceStep("glance.Rotate", service)
	glanceDelete = serviceStep("glance.Delete", undo)
)

// Fill gives an image without data its description.
func (glanceSteps) Fill(ctx workflow.Context, in FillIn) error {
	_, err := call[struct{}](ctx, glanceFill, ControlQueue, in)
	return err
}

// Rotate deletes the oldest backups.
func (glanceSteps) Rotate(ctx workflow.Context, in RotateIn) error {
	_, err := call[struct{}](ctx, glanceRotate, ControlQueue, in)
	return err
}

// Delete deletes an image.
func (glanceSteps) Delete(ctx workflow.Context, in DeleteImageIn) error {
	_, err := call[struct{}](ctx, glanceDelete, ControlQueue, in)
	return err
}
