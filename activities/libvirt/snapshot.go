package libvirt

// The steps of family "libvirt" that make images of guests: a copy of the root
// disk, and its way to Glance.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// DefaultSnapshots is how many images of guests a host makes at once (contracts:
// quotas-and-limits.json, max_concurrent_snapshots).
const DefaultSnapshots = 5

// SnapshotDriver is a part of Driver.
type SnapshotDriver interface {
	// Snapshot copies the guest's root disk, as it is at one moment, to a file of
	// its own and gives its path. A copy with the same mark is the answer; what is
	// half-made, and copies with other marks, are removed. The guest goes on
	// meanwhile. Errors: NotFound; Invalid, it has no root disk on the host.
	Snapshot(ctx context.Context, serverID, mark string, confirm Confirm) (path string, err error)
	// DropSnapshots removes all that Snapshot has made.
	DropSnapshots(ctx context.Context, serverID string) error
}

// Uploads brings files to Glance.
type Uploads interface {
	// Upload tells where the image that is being made of a server on this host
	// belongs. Errors: NotFound, none is being made; Unavailable.
	Upload(ctx context.Context, serverID string) (hostlink.Upload, error)
	// Send gives the image the file's content.
	Send(ctx context.Context, to hostlink.Upload, path string) error
}

// Snapshot is idempotent by the image's id, with which the copy is marked.
func (a *Activities) Snapshot(ctx context.Context, in steps.SnapshotIn) (struct{}, error) {
	if !validID(in.ImageID) {
		return struct{}{}, faults.New(faults.Invalid, "InvalidImage", "%q is no image id", in.ImageID)
	}
	_, err := a.slotted(ctx, a.snapshots, in.Token, actSnapshot, func(ctx context.Context, confirm Confirm) (Guest, error) {
		_, err := a.driver.Snapshot(ctx, in.Token.ServerID, in.ImageID, confirm)
		return Guest{}, err
	})
	return struct{}{}, err
}

// Upload is idempotent by the image's state: one that has its data needs no more.
func (a *Activities) Upload(ctx context.Context, in steps.UploadIn) (struct{}, error) {
	if !validID(in.ImageID) {
		return struct{}{}, faults.New(faults.Invalid, "InvalidImage", "%q is no image id", in.ImageID)
	}
	_, err := a.slotted(ctx, a.snapshots, in.Token, actSnapshot, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := a.upload(ctx, in, confirm); err != nil {
			return Guest{}, err
		}
		return Guest{}, a.driver.DropSnapshots(ctx, in.Token.ServerID)
	})
	return struct{}{}, err
}

func (a *Activities) upload(ctx context.Context, in steps.UploadIn, confirm Confirm) error {
	to, err := a.uploads.Upload(ctx, in.Token.ServerID)
	switch {
	case err != nil:
		return err
	case to.ImageID != in.ImageID:
		return faults.New(faults.Superseded, "Superseded", "another image is being made of server %s", in.Token.ServerID)
	case to.Active:
		return nil
	}
	path, err := a.driver.Snapshot(ctx, in.Token.ServerID, in.ImageID, confirm)
	if err != nil {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	return a.uploads.Send(ctx, to, path)
}

// DropSnapshot is idempotent by the server's id: what is gone already is success.
func (a *Activities) DropSnapshot(ctx context.Context, in steps.DropSnapshotIn) (struct{}, error) {
	_, err := a.guest(ctx, in.Token, actSnapshot, func(ctx context.Context, _ Confirm) (Guest, error) {
		return Guest{}, a.driver.DropSnapshots(ctx, in.Token.ServerID)
	})
	return struct{}{}, err
}

// payCopy removes the copy that is owed. A later step on the server is no reason
// to keep it, unless that is a snapshot: that one has removed older ones, and the
// debt is void.
func (a *Activities) payCopy(ctx context.Context, t steps.Token) error {
	stood, err := a.fences.stands(t.ServerID)
	if err != nil {
		return err
	}
	why := actSnapshot
	if t.Older(stood.Token) {
		if stood.Act == actSnapshot && stood.Token.Step != t.Step {
			return nil
		}
		t, why = stood.Token, stood.Act
	}
	return a.fences.Within(ctx, t, why, func(ctx context.Context, _ Confirm) error {
		return a.driver.DropSnapshots(ctx, t.ServerID)
	})
}
