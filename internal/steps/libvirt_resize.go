package steps

// Resize and cold migration: a guest that stood still is made of disks that are
// there, in another size or on another host.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// Resize is the input of operations.ServerResize and operations.ServerMigrate;
// the sizes are in the migration's row.
type Resize struct {
	// Host is the name of the one to go to; empty leaves it to the scheduler.
	Host string `json:"host,omitempty"`
	// SameHost lets the server stay where it is.
	SameHost bool `json:"same_host,omitempty"`
}

// Size names one of the two that a server's open migration has.
type Size string

// Sizes of a migration; the zero Size is the one that the server has by its row.
const (
	OldSize Size = "old"
	NewSize Size = "new"
)

// ResizeIn makes a guest of the spec on disks that are there.
type ResizeIn struct {
	Token Token      `json:"token"`
	Spec  ServerSpec `json:"spec"`
	// Aside keeps what the guest has been made of, beside copies that it is made of
	// now, until PowerKeepResize or PowerUndoResize.
	Aside bool `json:"aside,omitempty"`
	// Off leaves the guest off.
	Off bool `json:"off,omitempty"`
}

const (
	// PowerKeepResize removes what a resize has set aside; the guest is left alone.
	PowerKeepResize PowerAction = "keep-resize"
	// PowerUndoResize has the guest be what was set aside, standing still. One
	// that nothing was set aside of is left alone.
	PowerUndoResize PowerAction = "undo-resize"
)

// ResizeActivities are those of LibvirtActivities about guests that move or grow
// while they stand still.
type ResizeActivities interface {
	// Resize: a guest that runs already is success. Root disks grow to what the
	// spec has, never shrink. Errors: NotFound (no such guest), Superseded.
	Resize(context.Context, ResizeIn) (PowerOut, error)
}

var libvirtResize = define(Step{Name: "libvirt.Resize", Place: OnHost, StartToClose: 2 * time.Hour,
	ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})

// Resize makes a guest of the spec on disks that are there.
func (libvirtSteps) Resize(ctx workflow.Context, host string, in ResizeIn) (PowerOut, error) {
	return call[PowerOut](ctx, libvirtResize, HostQueue(host), in)
}
