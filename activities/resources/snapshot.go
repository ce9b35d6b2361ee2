package resources

// Snapshots: the copies of a stack's resources, made and taken away.

import (
	"context"
	"errors"
	"net/url"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// copyOf names the copy that a snapshot has of what bears a mark; empty if none is
// taken.
func copyOf(mark, snapshot string) string {
	if snapshot == "" {
		return ""
	}
	const most = 255
	own := "-" + snapshot[:min(len(snapshot), 8)]
	return mark[max(0, len(mark)+len(own)-most):] + own
}

// readKept reads what the snapshot that is being taken has of a resource's copy.
func (s *shift) readKept(ctx context.Context, tx store.Tx, r *orchestration.Resource) error {
	if s.phase != steps.Snapshot {
		return nil
	}
	s.kept[r.ID] = &value.Map{}
	if _, copies := s.o.Types[r.Carrier()].(Snapshotter); !copies {
		return nil
	}
	row, err := orchestration.ResourceSnapshotNamed(ctx, tx, s.input.Snapshot, r.Name)
	if err != nil || row == nil {
		return err
	}
	kept, err := stacks.OpenKept(row, s.o.Box)
	if err == nil {
		s.kept[r.ID] = kept.Copy
	}
	return err
}

// writeKept writes what the snapshot that is being taken has by now, before anything
// is copied and after.
func (s *shift) writeKept(ctx context.Context, tx store.Tx) error {
	if s.phase != steps.Snapshot {
		return nil
	}
	var rows []*orchestration.ResourceSnapshot
	for _, r := range s.touched {
		state, err := s.world.Of(r)
		if err != nil {
			return err
		}
		row := &orchestration.ResourceSnapshot{SnapshotID: s.input.Snapshot, Name: r.Name, Type: r.Type, CarriedBy: r.CarriedBy, Mark: orchestration.MarkOf(s.stack, r),
			Action: r.Action, Status: r.Status, PhysicalID: r.PhysicalID, Metadata: r.Metadata}
		if err := (&stacks.Kept{Data: state.Data, Copy: s.kept[r.ID]}).Seal(row, s.o.Box); err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return orchestration.PutResourceSnapshots(ctx, tx, rows)
}

// planForget has the copies that are to go; they need nothing of each other.
func (j *job) planForget(ctx context.Context, tx store.Tx) (out steps.PlanOut, err error) {
	var rows []*orchestration.ResourceSnapshot
	if j.input.Snapshot != "" {
		rows, err = orchestration.ResourceSnapshots(ctx, tx, []string{j.input.Snapshot})
	} else {
		rows, err = orchestration.ResourceSnapshotsOfStack(ctx, tx, j.stack.ID)
	}
	for node, r := range rows {
		out.IDs = append(out.IDs, r.ID)
		if _, copies := j.o.Types[r.Carrier()].(Snapshotter); !copies {
			out.Instant = append(out.Instant, node)
		}
	}
	out.Needs = make([][]int, len(rows))
	return out, err
}

// forgetAll forgets what nothing was copied of.
func (a *Activities) forgetAll(ctx context.Context, in steps.WorkIn) (out steps.WorkOut, err error) {
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		j, err := a.open(ctx, tx, in.Fence, in.Phase)
		if err != nil {
			return err
		}
		out = steps.WorkOut{Done: in.IDs, CancelRequested: j.op.CancelRequestedAt != nil}
		return orchestration.DeleteResourceSnapshots(ctx, tx, in.IDs)
	})
	return out, err
}

// forget takes one copy away, and then forgets it.
func (a *Activities) forget(ctx context.Context, in steps.WorkIn) (out steps.WorkOut, err error) {
	id := in.IDs[0]
	var c *Call
	var t Snapshotter
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		j, err := a.open(ctx, tx, in.Fence, in.Phase)
		if err != nil {
			return err
		}
		out.CancelRequested = j.op.CancelRequestedAt != nil
		rows, err := orchestration.ResourceSnapshotsByID(ctx, tx, in.IDs)
		if err != nil || len(rows) == 0 {
			return err
		}
		t, _ = a.o.Types[rows[0].Carrier()].(Snapshotter)
		kept, err := stacks.OpenKept(rows[0], a.o.Box)
		if err != nil {
			return err
		}
		trust, _, err := orchestration.TrustOf(ctx, tx, j.stack.ID)
		if err != nil {
			return err
		}
		now, err := store.Now(ctx, tx)
		c = &Call{Name: rows[0].Name, Mark: rows[0].Mark, Action: orchestration.ActionDelete, ProjectID: j.stack.ProjectID, UserID: j.stack.UserID, TrustID: trust, Now: now,
			PhysicalID: rows[0].PhysicalID, Properties: &value.Map{}, Data: kept.Data, Attributes: &value.Map{}, Copy: copyOf(rows[0].Mark, rows[0].SnapshotID), Kept: kept.Copy}
		return err
	})
	if err != nil {
		return out, err
	}
	if t != nil {
		a.beat(ctx)
		wait, failure := t.DeleteSnapshot(ctx, c)
		switch {
		case faults.Is(failure, faults.Unavailable) || ctx.Err() != nil:
			return out, errors.Join(ctx.Err(), failure)
		case failure != nil:
			out.Failed = &steps.FailedResource{ID: id, Reason: "Resource snapshot DELETE failed: " + reasonAt("resources."+c.Name, failure)}
			return out, nil
		case wait > 0:
			out.Waiting = []steps.Wait{{ID: id, After: wait}}
			return out, nil
		}
	}
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.CheckFence(ctx, tx, in.Fence); err != nil {
			return err
		}
		out.Done = in.IDs
		return orchestration.DeleteResourceSnapshots(ctx, tx, in.IDs)
	})
	return out, err
}

// copies are things of a service that are copies of resources.
type copies struct {
	service string
	// path is of one, list of all with a query for a name; in and one are their keys.
	path, list, in, one string
	// key is where the type keeps a copy's id.
	key string
}

var (
	images  = copies{service: "image", path: "images", list: "images", in: "images", key: stacks.SnapshotImage}
	backups = copies{service: "block-storage", path: "backups", list: "backups/detail", in: "backups", one: "backup", key: stacks.SnapshotBackup}
)

// find gives the id of the call's copy, if one was asked for; empty is none.
func (k copies) find(ctx context.Context, s *service, c *Call) (string, error) {
	if id, _ := c.Kept.Get(k.key); id != nil {
		return value.Str(id), nil
	}
	all, err := s.list(ctx, k.list+"?"+url.Values{"name": {c.Copy}}.Encode(), k.in)
	if err != nil {
		return "", err
	}
	for _, one := range all {
		if name, _ := one.Get("name"); name == c.Copy {
			id, _ := one.Get("id")
			return value.Str(id), nil
		}
	}
	return "", nil
}

// status is how far a copy has come, and the copy; empty if it is gone.
func (k copies) status(ctx context.Context, s *service, id string) (string, *value.Map, error) {
	object, err := s.get(ctx, k.path+"/"+id, k.one)
	if faults.Is(err, faults.NotFound) {
		return "", nil, nil
	}
	m, _ := object.(*value.Map)
	status, _ := m.Get("status")
	return value.Str(status), m, err
}

// take makes the call's copy, if it isn't there, and gives what it is like; nothing
// as long as that isn't written down.
func (k copies) take(ctx context.Context, s *service, c *Call, ask func() (id any, err error)) (status string, copied *value.Map, err error) {
	known := c.Kept.Has(k.key)
	id, err := k.find(ctx, s, c)
	if err == nil && id == "" {
		var made any
		if made, err = ask(); err == nil && made == nil {
			err = faults.New(faults.Invalid, "NoID", "the service gave no id for a copy")
		}
		id = value.Str(made)
	}
	if err != nil {
		return "", nil, err
	}
	c.Kept.Set(k.key, id)
	if !known {
		return "", nil, nil
	}
	status, copied, err = k.status(ctx, s, id)
	if err == nil && status == "" {
		err = faults.New(faults.NotFound, "NotFound", "the copy %s is gone", id)
	}
	return status, copied, err
}
