package cinder

// Snapshots of a server's volumes, which an image of it stands on.

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// imageMark is the member of a snapshot's metadata that names the image it was
// made for.
const imageMark = "holdfast_image"

// Snapshot is idempotent by mark: a snapshot of the image's is looked for among
// those of its volume before it is made.
func (a *Activities) Snapshot(ctx context.Context, in steps.SnapshotVolumesIn) (out steps.SnapshotVolumesOut, err error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return out, err
	}
	for _, d := range t.devices {
		made, err := t.snapshotsFor(ctx, d, in.ImageID)
		if err != nil {
			return out, err
		}
		if len(made) == 0 {
			one, err := t.snapshot(ctx, d, in)
			if err != nil {
				return out, err
			}
			made = append(made, *one)
		}
		out.Snapshots = append(out.Snapshots, steps.VolumeSnapshot{Position: d.Position, ID: made[0].ID})
	}
	return out, nil
}

// DropSnapshots is idempotent by what Cinder says: what is gone is left alone.
func (a *Activities) DropSnapshots(ctx context.Context, in steps.DropSnapshotsIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	if err := t.dropSnapshots(ctx, in.ImageID); err != nil {
		return struct{}{}, refuses(err)
	}
	return struct{}{}, nil
}

// PaySnapshots does what DropSnapshots could not while Cinder was down. It is
// idempotent as that is. Errors: Unavailable.
func (a *Activities) PaySnapshots(ctx context.Context, d engine.Debt) error {
	t := &task{a: a}
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		op, err := a.engine.Get(ctx, tx, d.OperationID)
		if err != nil {
			return err
		}
		return t.read(ctx, tx, op.ResourceID)
	})
	if err != nil {
		return err
	}
	if err := t.reach(ctx, func() {}); err != nil {
		return err
	}
	if err := t.dropSnapshots(ctx, d.Ref); err != nil {
		return refuses(err)
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq)
		return err
	})
}

func (t *task) dropSnapshots(ctx context.Context, imageID string) error {
	for _, d := range t.devices {
		made, err := t.snapshotsFor(ctx, d, imageID)
		if faults.Is(err, faults.NotFound) {
			continue // the volume is gone
		}
		if err != nil {
			return err
		}
		for _, one := range made {
			t.alive()
			err := fault(snapshots.Delete(ctx, t.client, one.ID).ExtractErr(), about{snapshot: one.ID})
			if err != nil && !faults.Is(err, faults.NotFound) {
				return err
			}
		}
	}
	return nil
}

// snapshotsFor lists those of a device's volume that an image stands on.
func (c *calls) snapshotsFor(ctx context.Context, d *compute.BlockDevice, imageID string) (made []snapshots.Snapshot, err error) {
	if d.VolumeID == "" {
		return nil, nil
	}
	c.alive()
	page, err := snapshots.ListDetail(c.client, snapshots.ListOpts{VolumeID: d.VolumeID}).AllPages(ctx)
	if err != nil {
		return nil, fault(err, about{volume: d.VolumeID})
	}
	all, err := snapshots.ExtractSnapshots(page)
	if err != nil {
		return nil, fault(err, about{})
	}
	for _, one := range all {
		if one.Metadata[imageMark] == imageID {
			made = append(made, one)
		}
	}
	return made, nil
}

// snapshot makes one, though the volume is in use. A cancel doesn't cut the call
// short: nobody would know whether there is a snapshot.
func (c *calls) snapshot(ctx context.Context, d *compute.BlockDevice, in steps.SnapshotVolumesIn) (*snapshots.Snapshot, error) {
	c.alive()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openstack.CallTimeout)
	defer cancel()
	one, err := snapshots.Create(ctx, c.client, snapshots.CreateOpts{VolumeID: d.VolumeID, Force: true,
		Name: fmt.Sprintf("snapshot for %s", in.Name), Metadata: map[string]string{imageMark: in.ImageID}}).Extract()
	if err != nil {
		return nil, fault(err, about{volume: d.VolumeID})
	}
	return one, nil
}
