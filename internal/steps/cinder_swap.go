package steps

// Family cinder: a volume that takes the place of another, which Cinder migrates.

import (
	"context"

	"go.temporal.io/sdk/workflow"
)

// SwapInput is what a swap was asked for: the volume that the server has, and the
// one that it is to have instead.
type SwapInput struct {
	VolumeID    string `json:"volume_id"`
	NewVolumeID string `json:"new_volume_id"`
}

// SwapVolumeIn is about a volume that is swapped on the fenced operation's server.
type SwapVolumeIn struct {
	Fence Fence `json:"fence"`
	// HostID is the host that the new volume is attached to; only BeginSwap has it.
	HostID string `json:"host_id,omitempty"`
	// NewVolumeID is the one that is to take the place of the one that the server has,
	// or has taken it.
	NewVolumeID string `json:"new_volume_id"`
}

// BeginSwapOut is the new volume as the server is to have it.
type BeginSwapOut struct {
	AttachmentID string `json:"attachment_id"`
}

// CinderSwaps is a part of CinderActivities.
type CinderSwaps interface {
	// BeginSwap attaches the new volume to the host; it finds what an earlier call has
	// made. Errors: Invalid (with the original's codes and texts), NotFound,
	// Unavailable, Superseded.
	BeginSwap(context.Context, SwapVolumeIn) (BeginSwapOut, error)
	// CancelSwap: Cinder has the server on the old volume afterwards, and is told
	// that the migration has failed. What is so already is success. Errors:
	// Unavailable, Superseded.
	CancelSwap(context.Context, SwapVolumeIn) (struct{}, error)
	// EndSwap: Cinder has the server on the new volume afterwards, and has completed the
	// migration. What is so already is success. Errors: Unavailable, Superseded.
	EndSwap(context.Context, SwapVolumeIn) (struct{}, error)
}

var (
	cinderBeginSwap  = serviceStep("cinder.BeginSwap", service)
	cinderCancelSwap = serviceStep("cinder.CancelSwap", undo)
	cinderEndSwap    = serviceStep("cinder.EndSwap", undo)
)

// BeginSwap attaches the volume that is to take another's place.
func (cinderSteps) BeginSwap(ctx workflow.Context, in SwapVolumeIn) (BeginSwapOut, error) {
	return call[BeginSwapOut](ctx, cinderBeginSwap, ControlQueue, in)
}

// CancelSwap lets go of it again.
func (cinderSteps) CancelSwap(ctx workflow.Context, in SwapVolumeIn) error {
	_, err := call[struct{}](ctx, cinderCancelSwap, ControlQueue, in)
	return err
}

// EndSwap lets go of the volume whose place it has taken.
func (cinderSteps) EndSwap(ctx workflow.Context, in SwapVolumeIn) error {
	_, err := call[struct{}](ctx, cinderEndSwap, ControlQueue, in)
	return err
}
