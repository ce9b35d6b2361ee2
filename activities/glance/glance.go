package glance

// The three steps: Fill, Rotate, Delete.

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"go.temporal.io/sdk/activity"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Options of the steps.
type Options struct {
	// Client gives Glance in the name of the service user.
	Client func(ctx context.Context) (*gophercloud.ServiceClient, error)
	// Log gets what no error tells: images that stay behind.
	Log *slog.Logger
	// Heartbeat sends one; nil is Temporal's.
	Heartbeat func(context.Context)
}

// Activities implements steps.GlanceActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	o      Options
}

var _ steps.GlanceActivities = (*Activities)(nil)

// New gives the steps.
func New(db *store.DB, e *engine.Engine, o Options) *Activities {
	if o.Heartbeat == nil {
		o.Heartbeat = func(ctx context.Context) { activity.RecordHeartbeat(ctx) }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Activities{db: db, engine: e, o: o}
}

// begin checks the fence, reads the server's devices and reaches Glance.
func (a *Activities) begin(ctx context.Context, f steps.Fence) (*calls, *compute.Server, []*compute.BlockDevice, error) {
	var server *compute.Server
	var devices []*compute.BlockDevice
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		op, err := a.engine.CheckFence(ctx, tx, f)
		if err != nil {
			return err
		}
		if server, err = compute.GetServerOrDeleted(ctx, tx, "", op.ResourceID); err != nil {
			return err
		}
		devices, err = compute.BlockDevices(ctx, tx, op.ResourceID)
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	client, err := a.o.Client(ctx)
	return &calls{client: client, alive: func() { a.o.Heartbeat(ctx) }}, server, devices, err
}

// Fill is idempotent by the image's state: what it consists of is written
// before it becomes active.
func (a *Activities) Fill(ctx context.Context, in steps.FillIn) (struct{}, error) {
	c, server, devices, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	image, err := c.get(ctx, in.ImageID)
	if err != nil || image.Status == images.ImageStatusActive {
		return struct{}{}, err
	}
	text, err := json.Marshal(mapping(devices, in.Snapshots))
	if err != nil {
		return struct{}{}, faults.Wrap(err, faults.Internal, "InternalError", "the image's devices can't be written down")
	}
	properties := map[string]string{"block_device_mapping": string(text), "bdm_v2": "True"}
	if server.RootDevice != "" {
		properties["root_device_name"] = server.RootDevice
	}
	if err := c.describe(ctx, in.ImageID, properties); err != nil {
		return struct{}{}, err
	}
	c.alive()
	return struct{}{}, fault(imagedata.Upload(ctx, c.client, in.ImageID, bytes.NewReader(nil)).ExtractErr(), in.ImageID)
}

// Rotate is idempotent by what Glance lists: the newest stay.
func (a *Activities) Rotate(ctx context.Context, in steps.RotateIn) (struct{}, error) {
	c, server, _, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	backups, err := c.backups(ctx, server.ID, in.BackupType)
	if err != nil {
		return struct{}{}, err
	}
	kept := 0
	for _, image := range backups {
		if image.Owner != in.Owner {
			continue // another project's, which can't rotate this one's either
		}
		if kept < in.Rotation {
			kept++
			continue
		}
		if err := a.remove(ctx, c, image.ID); err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, nil
}

// Delete is idempotent by the image's id: what is gone is left alone.
func (a *Activities) Delete(ctx context.Context, in steps.DeleteImageIn) (struct{}, error) {
	c, _, _, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, a.remove(ctx, c, in.ImageID)
}

// Pay does what Delete could not while Glance was down. It is idempotent as that
// is. Errors: Unavailable.
func (a *Activities) Pay(ctx context.Context, d engine.Debt) error {
	client, err := a.o.Client(ctx)
	if err != nil {
		return err
	}
	if err := a.remove(ctx, &calls{client: client, alive: func() {}}, d.Ref); err != nil {
		return err
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		_, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq)
		return err
	})
}

// remove deletes an image. One that its owner has protected meanwhile stays the
// owner's, as the original leaves it.
func (a *Activities) remove(ctx context.Context, c *calls, id string) error {
	err := c.erase(ctx, id)
	switch {
	case faults.Is(err, faults.NotFound):
		return nil
	case faults.Is(err, faults.Forbidden):
		a.o.Log.WarnContext(ctx, "an image stays behind", "image", id, "error", err)
		return nil
	}
	return err
}

// mapping is what the image says of its devices: those of the server, volumes as
// the snapshots that were made of them.
func mapping(devices []*compute.BlockDevice, snapshots []steps.VolumeSnapshot) []map[string]any {
	of := map[int]string{}
	for _, s := range snapshots {
		of[s.Position] = s.ID
	}
	all := []map[string]any{}
	for _, d := range devices {
		one := map[string]any{
			"source_type": d.SourceType, "destination_type": d.DestinationType, "guest_format": orNull(d.GuestFormat),
			"device_type": orNull(d.DeviceType), "disk_bus": orNull(d.DiskBus), "device_name": orNull(d.DeviceName),
			"boot_index": d.BootIndex, "delete_on_termination": d.DeleteOnTermination, "no_device": nil, "tag": orNull(d.Tag),
			"image_id": nil, "snapshot_id": nil, "volume_id": nil, "volume_type": nil, "volume_size": d.VolumeSizeGB,
		}
		if d.IsVolume() {
			one["source_type"], one["snapshot_id"], one["volume_type"] = "snapshot", of[d.Position], orNull(d.VolumeType)
		}
		all = append(all, one)
	}
	return all
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
