package steps

// Family libvirt: what is plugged into a guest and out of it while it runs.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// PlugIn plugs one device into a guest, into its definition too, so that it is
// there after the next start: a volume or a port.
type PlugIn struct {
	Token  Token   `json:"token"`
	Volume *Volume `json:"volume,omitempty"`
	Port   *Port   `json:"port,omitempty"`
}

// UnplugIn takes one device out of a guest.
type UnplugIn struct {
	Token Token `json:"token"`
	// ID is the volume's or the port's.
	ID string `json:"id"`
	// Look only says whether it is there.
	Look bool `json:"look,omitempty"`
}

// UnplugOut says whether the guest still has the device.
type UnplugOut struct {
	Left bool `json:"left,omitempty"`
}

// DeviceActivities are those of LibvirtActivities that are about one device.
type DeviceActivities interface {
	// Plug: a device that is there already is success. Errors: NotFound (no
	// such guest), Invalid, Unavailable, Superseded.
	Plug(context.Context, PlugIn) (struct{}, error)
	// Unplug waits for the guest to let go. A device, or a guest, that is not
	// there is success. Errors: Conflict (code DeviceDetachFailed, the guest
	// keeps it), Unavailable, Superseded.
	Unplug(context.Context, UnplugIn) (UnplugOut, error)
}

var (
	libvirtPlug = define(Step{Name: "libvirt.Plug", Place: OnHost, StartToClose: 2 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtUnplug = define(Step{Name: "libvirt.Unplug", Place: OnHost, StartToClose: 5 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
)

// Plug plugs a device into a guest.
func (libvirtSteps) Plug(ctx workflow.Context, host string, in PlugIn) error {
	_, err := call[struct{}](ctx, libvirtPlug, HostQueue(host), in)
	return err
}

// Unplug takes a device out of a guest.
func (libvirtSteps) Unplug(ctx workflow.Context, host string, in UnplugIn) (UnplugOut, error) {
	return call[UnplugOut](ctx, libvirtUnplug, HostQueue(host), in)
}
