package steps

// Family libvirt: the disks of a guest that moves while it stands still.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// FetchIn brings the disks of a server to the host that is asked, for a guest of
// the spec that Build makes of them.
type FetchIn struct {
	Token Token      `json:"token"`
	Spec  ServerSpec `json:"spec"`
	// Source is the id of the host where the guest stands still, Address where
	// that one's link listens.
	Source  string `json:"source"`
	Address string `json:"address"`
}

// FetchOut is what has come.
type FetchOut struct {
	// Shared says that both hosts see the same storage, so that nothing went over
	// the link.
	Shared bool `json:"shared,omitempty"`
	// Bytes went from host to host in the call that ended it.
	Bytes int64 `json:"bytes,omitempty"`
}

// DiskActivities are those of LibvirtActivities about the disks of moves.
type DiskActivities interface {
	// Fetch goes on where an earlier call has stopped; disks that are there are
	// whole and stay. They grow to what the spec has. Destroy undoes it. Errors:
	// NotFound (the source has no such guest), Conflict (it runs there),
	// Unavailable, Superseded.
	Fetch(context.Context, FetchIn) (FetchOut, error)
}

var libvirtFetch = define(Step{Name: "libvirt.Fetch", Place: OnHost, StartToClose: 12 * time.Hour,
	ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})

// Fetch brings a guest's disks from another host.
func (libvirtSteps) Fetch(ctx workflow.Context, host string, in FetchIn) (FetchOut, error) {
	return call[FetchOut](ctx, libvirtFetch, HostQueue(host), in)
}
