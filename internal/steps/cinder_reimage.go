package steps

// Family cinder: the volume that a server boots from is filled anew from an image.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// ReimageIn fills a volume of the fenced operation's server, whose guest is off.
type ReimageIn struct {
	Fence Fence `json:"fence"`
	// HostID is the host that the volume is the guest's on before and after.
	HostID   string `json:"host_id"`
	VolumeID string `json:"volume_id"`
	ImageID  string `json:"image_id"`
}

// ReimageOut says whether it has come to an end.
type ReimageOut struct {
	// Pending: the volume is still being filled; the step is called again after a
	// while.
	Pending bool `json:"pending,omitempty"`
}

// CinderReimage is a part of CinderActivities.
type CinderReimage interface {
	// Reimage: a volume that has been filled for the operation already is not
	// filled again. Errors: NotFound, Invalid, Conflict (Cinder could not),
	// Unavailable, Superseded.
	Reimage(context.Context, ReimageIn) (ReimageOut, error)
}

var cinderReimage = serviceStep("cinder.Reimage", service)

// Reimage fills a volume anew.
func (cinderSteps) Reimage(ctx workflow.Context, in ReimageIn) (ReimageOut, error) {
	return call[ReimageOut](ctx, cinderReimage, ControlQueue, in)
}
