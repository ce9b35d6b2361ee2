package cinder

// The three steps: Attach, Complete, Release; one.go has what they do for one
// volume.

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"go.temporal.io/sdk/activity"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Options of the steps.
type Options struct {
	// Client gives Cinder in the name of the service user in a project.
	Client func(ctx context.Context, projectID string) (*gophercloud.ServiceClient, error)
	// Patience is told to the workflow.
	Patience time.Duration
	// Look is how long one call of Attach waits for volumes, Pause the time
	// between two looks; zero are 50 s and 2 s.
	Look, Pause time.Duration
	// Log gets what no error tells: volumes that stay behind.
	Log *slog.Logger
	// Heartbeat sends one; nil is Temporal's.
	Heartbeat func(context.Context)
}

// Activities implements steps.CinderActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	o      Options
}

var _ steps.CinderActivities = (*Activities)(nil)

// New gives the steps.
func New(db *store.DB, e *engine.Engine, o Options) *Activities {
	if o.Heartbeat == nil {
		o.Heartbeat = func(ctx context.Context) { activity.RecordHeartbeat(ctx) }
	}
	if o.Look == 0 {
		o.Look, o.Pause = 50*time.Second, 2*time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Activities{db: db, engine: e, o: o}
}

// task is what one call works on.
type task struct {
	*calls
	a       *Activities
	fence   steps.Fence
	server  *compute.Server
	devices []*compute.BlockDevice
}

// begin checks the fence, reads the rows and reaches Cinder.
func (a *Activities) begin(ctx context.Context, f steps.Fence) (*task, error) {
	t := &task{a: a, fence: f}
	err := t.write(ctx, func(tx store.Tx, serverID string) error { return t.read(ctx, tx, serverID) })
	if err != nil {
		return nil, err
	}
	return t, t.reach(ctx, func() { a.o.Heartbeat(ctx) })
}

func (t *task) read(ctx context.Context, tx store.Tx, serverID string) (err error) {
	if t.server, err = compute.GetServerOrDeleted(ctx, tx, "", serverID); err != nil {
		return err
	}
	t.devices, err = compute.BlockDevices(ctx, tx, serverID)
	t.devices = slices.DeleteFunc(t.devices, func(d *compute.BlockDevice) bool { return !d.IsVolume() })
	return err
}

func (t *task) reach(ctx context.Context, alive func()) error {
	client, err := t.a.o.Client(ctx, t.server.ProjectID)
	t.calls = &calls{client: client, alive: alive}
	return err
}

// Pay does what Release could not while Cinder was down. It is idempotent as
// that is, and waits while an operation or a host has the server: then it may
// have volumes again. Errors: Unavailable.
func (a *Activities) Pay(ctx context.Context, d engine.Debt) error {
	t := &task{a: a}
	if d.Kind == operations.EffectVolume {
		return t.payOne(ctx, d)
	}
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		if err := t.read(ctx, tx, d.Ref); err != nil {
			return err
		}
		return t.server.Unused()
	})
	if err != nil {
		return err
	}
	if err := t.reach(ctx, func() {}); err != nil {
		return err
	}
	// A build that was undone had no end; whoever recovered one, or a deletion,
	// left the row as a witness.
	_, _, verb, _ := operations.ParseID(d.OperationID)
	terminate := verb != verbOf(operations.ServerBuild) && t.server.DeletedAt != nil
	if err := t.release(ctx, terminate); err != nil {
		return refuses(err)
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq); err != nil {
			return err
		}
		return compute.ReleaseVolumes(ctx, tx, d.Ref)
	})
}

func verbOf(k operations.Kind) string {
	spec, _ := operations.Lookup(k)
	return spec.Verb
}

// write is a transaction under the fence.
func (t *task) write(ctx context.Context, rows func(tx store.Tx, serverID string) error) error {
	return t.a.db.InTx(ctx, func(tx store.Tx) error {
		op, err := t.a.engine.CheckFence(ctx, tx, t.fence)
		if err != nil {
			return err
		}
		return rows(tx, op.ResourceID)
	})
}

// Attach is idempotent by mark: a volume of ours is looked for by its name
// before it is made, an attachment by the server's id.
func (a *Activities) Attach(ctx context.Context, in steps.AttachIn) (steps.AttachOut, error) {
	out := steps.AttachOut{Patience: a.o.Patience}
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return out, err
	}
	if err := t.only(in.VolumeID); err != nil {
		return out, err
	}
	var connector map[string]any
	if in.HostID != "" {
		if connector, err = a.connector(ctx, in.HostID); err != nil {
			return out, err
		}
	}
	if err := t.makeAll(ctx); err != nil {
		return out, err
	}
	late, err := t.made(ctx)
	if err != nil {
		return out, err
	}
	if late != nil {
		out.Pending, out.Status = late.ID, late.Status
		return out, nil
	}
	return out, t.attachAll(ctx, connector)
}

// Complete is idempotent by the attachment's state.
func (a *Activities) Complete(ctx context.Context, in steps.CompleteIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return struct{}{}, err
	}
	for _, at := range have {
		if at.Status == attached || in.VolumeID != "" && at.VolumeID != in.VolumeID {
			continue
		}
		if err := t.complete(ctx, at); err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, nil
}

// Release is idempotent by what Cinder says: what is gone is left alone.
func (a *Activities) Release(ctx context.Context, in steps.ReleaseVolumesIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence)
	if err != nil {
		return struct{}{}, err
	}
	if in.VolumeID != "" {
		return struct{}{}, t.releaseOne(ctx, in.VolumeID)
	}
	if err := t.release(ctx, in.Terminate); err != nil {
		return struct{}{}, refuses(err)
	}
	return struct{}{}, t.write(ctx, func(tx store.Tx, serverID string) error {
		return compute.ReleaseVolumes(ctx, tx, serverID)
	})
}

// mark names the volume that is made for a server's device.
func mark(d *compute.BlockDevice) string {
	return openstack.Mark(d.ServerID, d.Position)
}

// makeAll gives every device of ours its volume; each is written down at once.
func (t *task) makeAll(ctx context.Context) error {
	for _, d := range t.devices {
		if d.VolumeID != "" {
			continue
		}
		v, err := t.marked(ctx, d)
		if err != nil {
			return err
		}
		if v == nil {
			if v, err = t.create(ctx, d); err != nil {
				return err
			}
		}
		d.VolumeID = v.ID
		if err := t.note(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (t *task) note(ctx context.Context, d *compute.BlockDevice) error {
	return t.write(ctx, func(tx store.Tx, _ string) error { return compute.SetVolume(ctx, tx, d) })
}

// made waits for the volumes of ours for as long as one call may, and gives one
// that is not ready; nil if all are.
func (t *task) made(ctx context.Context) (*volume, error) {
	since, looks := time.Now(), 0
	for _, d := range t.devices {
		for d.Ours {
			v, err := t.volume(ctx, d.VolumeID)
			if err != nil {
				return nil, err
			}
			looks++
			if !v.making() {
				if v.broken() {
					return nil, notCreated(v, time.Since(since), looks)
				}
				break
			}
			if time.Since(since) >= t.a.o.Look {
				return v, nil
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(t.a.o.Pause):
			}
		}
	}
	return nil, nil
}

// notCreated has the words of nova.exception.VolumeNotCreated.
func notCreated(v *volume, waited time.Duration, looks int) error {
	return faults.New(faults.Conflict, "VolumeNotCreated",
		"Volume %s did not finish being created even after we waited %d seconds or %d attempts. And its status is %s.",
		v.ID, int(waited.Seconds()), looks, v.Status)
}

// attachAll attaches every volume to the host that the connector speaks of.
func (t *task) attachAll(ctx context.Context, connector map[string]any) error {
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	for _, d := range t.devices {
		at, err := t.attach(ctx, have, d, connector)
		if err != nil {
			return err
		}
		d.AttachmentID = at.ID
		if err := t.note(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// attach finds the attachment of a device's volume or makes it, and connects it to the
// host, if there is one.
func (t *task) attach(ctx context.Context, have []*attachment, d *compute.BlockDevice, connector map[string]any) (at *attachment, err error) {
	i := slices.IndexFunc(have, func(at *attachment) bool { return at.VolumeID == d.VolumeID })
	if i >= 0 {
		at = have[i]
	} else if at, err = t.reserve(ctx, d); err != nil {
		return nil, err
	}
	if at.Status == reserved && connector != nil {
		err = t.connect(ctx, at, connector)
	}
	return at, err
}

// leave takes the server off a volume; an attachment that is gone is success.
func (t *task) leave(ctx context.Context, have []*attachment, volumeID string) error {
	for _, at := range have {
		if at.VolumeID != volumeID {
			continue
		}
		if err := t.detach(ctx, at); err != nil && !faults.Is(err, faults.NotFound) {
			return err
		}
	}
	return nil
}

// release deletes the server's attachments, and volumes as the end has it.
func (t *task) release(ctx context.Context, terminate bool) error {
	if err := t.unswapAll(ctx, ""); err != nil {
		return err
	}
	have, err := t.attachmentsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	for _, at := range have {
		if err := t.detach(ctx, at); err != nil && !faults.Is(err, faults.NotFound) {
			return err
		}
	}
	for _, d := range t.devices {
		goes := d.Ours
		if terminate {
			goes = d.DeleteOnTermination
		}
		if !goes {
			continue
		}
		id := d.VolumeID
		if id == "" && d.Ours {
			v, err := t.marked(ctx, d)
			if err != nil {
				return err
			}
			if v == nil {
				continue
			}
			id = v.ID
		}
		if err := t.remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a volume. One that Cinder refuses to delete although nothing is
// going on with it, since it has snapshots for example, stays the user's, as the
// original leaves it.
func (t *task) remove(ctx context.Context, id string) error {
	err := t.erase(ctx, id)
	if err == nil || faults.Is(err, faults.NotFound) {
		return nil
	}
	if f := faults.As(err); f.Kind.Retryable() {
		return err
	}
	v, lookErr := t.volume(ctx, id)
	switch {
	case faults.Is(lookErr, faults.NotFound):
		return nil
	case lookErr != nil:
		return lookErr
	case v.Status == "deleting":
		return nil
	case v.Status == "available" || v.broken():
		t.a.o.Log.WarnContext(ctx, "a volume stays behind", "server", t.server.ID, "volume", id, "status", v.Status, "error", err)
		return nil
	}
	return err
}
