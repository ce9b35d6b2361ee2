package cinder

// The volume that a server boots from, filled anew from an image.

import (
	"context"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// reimageMicroversion is the first that fills volumes anew.
const reimageMicroversion = "3.68"

// Reimage is idempotent by the device's row: what the operation has asked for is
// not asked for again, and what is done is done. The volume leaves its host
// meanwhile, reserved for the server, and is the host's again afterwards.
func (a *Activities) Reimage(ctx context.Context, in steps.ReimageIn) (steps.ReimageOut, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return steps.ReimageOut{}, err
	}
	if err := t.only(in.VolumeID); err != nil {
		return steps.ReimageOut{}, err
	}
	var noted compute.Refill
	err = t.write(ctx, func(tx store.Tx, serverID string) (err error) {
		noted, err = compute.RefillFor(ctx, tx, serverID, in.VolumeID, in.Fence.OperationID)
		return err
	})
	if err != nil {
		return steps.ReimageOut{}, err
	}
	if !noted.Done {
		if pending, err := t.refill(ctx, in, noted.Asked); pending || err != nil {
			return steps.ReimageOut{Pending: pending}, err
		}
	}
	return steps.ReimageOut{}, t.follow(ctx, in.HostID, t.note)
}

// refill has Cinder fill the volume, and says whether it is still at it.
func (t *task) refill(ctx context.Context, in steps.ReimageIn, asked bool) (pending bool, err error) {
	if !asked {
		if err := t.renew(ctx, t.note, func(*attachment) error { return nil }); err != nil {
			return false, err
		}
		v, err := t.volume(ctx, in.VolumeID)
		if err != nil {
			return false, err
		}
		// One that is being filled already was asked for by a call whose answer is lost.
		if !v.making() {
			if err := t.reimage(ctx, in.VolumeID, in.ImageID); err != nil {
				return false, err
			}
		}
		if err := t.noteRefill(ctx, in, false); err != nil {
			return false, err
		}
	}
	for since := time.Now(); ; {
		v, err := t.volume(ctx, in.VolumeID)
		switch {
		case err != nil:
			return false, err
		case v.broken():
			return false, faults.New(faults.Conflict, "ReimageException", "Reimaging volume failed.")
		case !v.making():
			return false, t.noteRefill(ctx, in, true)
		case time.Since(since) >= t.a.o.Look:
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(t.a.o.Pause):
		}
	}
}

func (t *task) noteRefill(ctx context.Context, in steps.ReimageIn, done bool) error {
	return t.write(ctx, func(tx store.Tx, serverID string) error {
		return compute.NoteRefill(ctx, tx, serverID, in.VolumeID, in.Fence.OperationID, done)
	})
}

// reimage asks for it; the volume is reserved for the server.
func (c *calls) reimage(ctx context.Context, volumeID, imageID string) error {
	c.alive()
	client := *c.client
	client.Microversion = reimageMicroversion
	return fault(volumes.ReImage(ctx, &client, volumeID, volumes.ReImageOpts{ImageID: imageID, ReImageReserved: true}).ExtractErr(), about{volume: volumeID})
}
