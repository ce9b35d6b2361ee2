package steps

// Family cinder: the volumes of a server, all of them in one step, or the one
// that comes or goes while it runs. What a server
// asked for and what it got are rows; how a volume is reached goes by the host
// link and never through the history.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// VolumeInput is what an operation on one volume of a server was asked for.
type VolumeInput struct {
	VolumeID string `json:"volume_id"`
}

// AttachIn makes the volumes of the fenced operation's server and attaches
// them to a host.
type AttachIn struct {
	Fence Fence `json:"fence"`
	// HostID is empty for a server that is on none: its attachment waits.
	HostID string `json:"host_id"`
	// VolumeID names the only one that is meant; empty means all.
	VolumeID string `json:"volume_id,omitempty"`
}

// AttachOut says whether it has come to an end.
type AttachOut struct {
	// Pending names a volume that is still being made; the step is called again
	// after a while.
	Pending string `json:"pending,omitempty"`
	Status  string `json:"status,omitempty"`
	// Patience is how long volumes may take to be made (Nova:
	// block_device_allocate_retries and its interval).
	Patience time.Duration `json:"patience,omitempty"`
}

// CompleteIn tells Cinder that the guest has its volumes.
type CompleteIn struct {
	Fence Fence `json:"fence"`
	// VolumeID names the only one that is meant; empty means all.
	VolumeID string `json:"volume_id,omitempty"`
}

// ReleaseVolumesIn takes the fenced operation's server off its volumes.
type ReleaseVolumesIn struct {
	Fence Fence `json:"fence"`
	// Terminate deletes volumes as a server's end has it, by
	// delete_on_termination; without it the build is undone, and what was made
	// for it is deleted.
	Terminate bool `json:"terminate,omitempty"`
	// VolumeID names the only one that is meant, which is the server's no more
	// then and is never deleted; empty means all.
	VolumeID string `json:"volume_id,omitempty"`
}

// DisconnectIn takes the volumes of the fenced operation's server off their host.
type DisconnectIn struct {
	Fence Fence `json:"fence"`
}

// CinderActivities is implemented by activities/cinder.
type CinderActivities interface {
	// Attach finds by mark what an earlier call has made. Errors: Invalid,
	// NotFound, Conflict, OverLimit (with the original's codes and texts),
	// Unavailable, Superseded.
	Attach(context.Context, AttachIn) (AttachOut, error)
	// Complete: what is complete already is success. Errors: Unavailable,
	// NotFound, Superseded.
	Complete(context.Context, CompleteIn) (struct{}, error)
	// Release: what is gone already is success. Errors: Unavailable, Superseded.
	Release(context.Context, ReleaseVolumesIn) (struct{}, error)
	// Disconnect: every volume is reserved for the server afterwards, on no host;
	// what is so already is success. Errors: Unavailable, Superseded.
	Disconnect(context.Context, DisconnectIn) (struct{}, error)
	// Follow: every volume is the host's afterwards, and no other's. Errors:
	// Unavailable, Superseded.
	Follow(context.Context, FollowIn) (struct{}, error)
	// Move: every volume is in use on the host afterwards, and attached to no other.
	// The guest stands still meanwhile. Errors: Unavailable, NotFound, Superseded.
	Move(context.Context, FollowIn) (struct{}, error)
	CinderSnapshots
	CinderReimage
	CinderSwaps
}

// Cinder is the family's caller.
var Cinder cinderSteps

type cinderSteps struct{}

var (
	cinderAttach   = serviceStep("cinder.Attach", service)
	cinderComplete = serviceStep("cinder.Complete", service)
	cinderRelease  = serviceStep("cinder.Release", undo)

	cinderMove       = serviceStep("cinder.Move", service)
	cinderDisconnect = serviceStep("cinder.Disconnect", undo)
	cinderFollow     = serviceStep("cinder.Follow", undo)
)

// Attach makes and attaches a server's volumes.
func (cinderSteps) Attach(ctx workflow.Context, in AttachIn) (AttachOut, error) {
	return call[AttachOut](ctx, cinderAttach, ControlQueue, in)
}

// Complete says that a server's volumes are in use.
func (cinderSteps) Complete(ctx workflow.Context, in CompleteIn) error {
	_, err := call[struct{}](ctx, cinderComplete, ControlQueue, in)
	return err
}

// Release takes a server off its volumes.
func (cinderSteps) Release(ctx workflow.Context, in ReleaseVolumesIn) error {
	_, err := call[struct{}](ctx, cinderRelease, ControlQueue, in)
	return err
}

// Disconnect takes a server's volumes off their host and keeps them for it.
func (cinderSteps) Disconnect(ctx workflow.Context, in DisconnectIn) error {
	_, err := call[struct{}](ctx, cinderDisconnect, ControlQueue, in)
	return err
}

// Follow has a server's volumes follow it to a host.
func (cinderSteps) Follow(ctx workflow.Context, in FollowIn) error {
	_, err := call[struct{}](ctx, cinderFollow, ControlQueue, in)
	return err
}

// Move takes a server's volumes from one host to another.
func (cinderSteps) Move(ctx workflow.Context, in FollowIn) error {
	_, err := call[struct{}](ctx, cinderMove, ControlQueue, in)
	return err
}
