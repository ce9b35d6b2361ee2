package steps

// Family libvirt: a copy of a guest's root disk, and its way to Glance.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// SnapshotIn copies a guest's root disk, as it is at one moment, to a file of
// its host.
type SnapshotIn struct {
	Token Token `json:"token"`
	// ImageID is the image that the copy is for.
	ImageID string `json:"image_id"`
}

// UploadIn brings the copy to Glance. Where to, and by what right, the host asks
// over the host link.
type UploadIn struct {
	Token   Token  `json:"token"`
	ImageID string `json:"image_id"`
}

// DropSnapshotIn removes the copy.
type DropSnapshotIn struct {
	Token Token `json:"token"`
}

// LibvirtSnapshots is a part of LibvirtActivities.
type LibvirtSnapshots interface {
	// Snapshot: a copy for the same image that is whole is success; half-made
	// ones and those for other images are removed. The guest goes on meanwhile.
	// Errors: NotFound (no such guest), Invalid (it has no root disk on the
	// host), Superseded.
	Snapshot(context.Context, SnapshotIn) (struct{}, error)
	// Upload: an image that has its data is success. The copy is gone
	// afterwards. Errors: NotFound (no such image), OverLimit, Superseded.
	Upload(context.Context, UploadIn) (struct{}, error)
	// DropSnapshot: a copy that is gone already is success. Errors: Superseded.
	DropSnapshot(context.Context, DropSnapshotIn) (struct{}, error)
}

var (
	libvirtSnapshot = define(Step{Name: "libvirt.Snapshot", Place: OnHost, StartToClose: 20 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtUpload = define(Step{Name: "libvirt.Upload", Place: OnHost, StartToClose: 20 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: service})
	libvirtDropSnapshot = define(Step{Name: "libvirt.DropSnapshot", Place: OnHost, StartToClose: 5 * time.Minute,
		ScheduleToStart: HostPatience, Heartbeat: 10 * time.Second, Retry: undo})
)

// Snapshot copies a guest's root disk on its host.
func (libvirtSteps) Snapshot(ctx workflow.Context, host string, in SnapshotIn) error {
	_, err := call[struct{}](ctx, libvirtSnapshot, HostQueue(host), in)
	return err
}

// Upload brings the copy to Glance.
func (libvirtSteps) Upload(ctx workflow.Context, host string, in UploadIn) error {
	_, err := call[struct{}](ctx, libvirtUpload, HostQueue(host), in)
	return err
}

// DropSnapshot removes the copy.
func (libvirtSteps) DropSnapshot(ctx workflow.Context, host string, in DropSnapshotIn) error {
	_, err := call[struct{}](ctx, libvirtDropSnapshot, HostQueue(host), in)
	return err
}
