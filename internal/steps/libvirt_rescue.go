package steps

// Rescue: a guest runs from another image for a while, with its own disk beside it.

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Rescue is the input of operations.ServerRescue: the image to run from. Its
// file a host asks for over the host link.
type Rescue struct {
	ImageID         string            `json:"image_id"`
	ImageProperties map[string]string `json:"image_properties,omitempty"`
}

// Stable says that the guest keeps all of its disks where they are, the image's
// coming last; otherwise it has the image's and, second, its own root disk.
func (r Rescue) Stable() bool {
	return r.ImageProperties["hw_rescue_device"] != "" || r.ImageProperties["hw_rescue_bus"] != ""
}

// RescueIn has a guest run from an image.
type RescueIn struct {
	Token  Token  `json:"token"`
	Rescue Rescue `json:"rescue"`
}

const (
	// PowerUnrescue has the guest run from its own disk again; what the rescue
	// has made is gone.
	PowerUnrescue PowerAction = "unrescue"
	// PowerUndoRescue takes a rescue back: the guest is on its own disk, running
	// or not as it was before.
	PowerUndoRescue PowerAction = "undo-rescue"
)

var libvirtRescue = define(Step{Name: "libvirt.Rescue", Place: OnHost, StartToClose: 20 * time.Minute,
	ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})

// Rescue has a guest run from an image.
func (libvirtSteps) Rescue(ctx workflow.Context, host string, in RescueIn) (PowerOut, error) {
	return call[PowerOut](ctx, libvirtRescue, HostQueue(host), in)
}
