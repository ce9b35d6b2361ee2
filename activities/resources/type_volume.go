package resources

// OS::Cinder::Volume: a disk, which can be copied to a backup and made of one.

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// Volume is OS::Cinder::Volume.
type Volume struct{ REST }

const (
	// fillingKey is where it is kept which backup the disk is being made of,
	// inServersKey which servers it was taken out of for that.
	fillingKey   = "filled_from"
	inServersKey = "taken_out_of"
)

// Create is idempotent by the mark. One that is made of a backup is made empty, and
// then filled.
func (t Volume) Create(ctx context.Context, c *Call) (time.Duration, error) {
	backup := c.text("backup_id")
	if backup == "" {
		return t.REST.Create(ctx, c)
	}
	given := c.Properties
	defer func() { c.Properties = given }()
	c.Properties = given.Without("backup_id")
	if size, _ := given.Get("size"); size == nil {
		s, err := open(ctx, t.Cloud, c, backups.service, "")
		if err != nil {
			return 0, err
		}
		_, of, err := backups.status(ctx, s, backup)
		if err != nil {
			return 0, err
		}
		size, _ := of.Get("size")
		c.Properties.Set("size", size)
	}
	wait, err := t.REST.Create(ctx, c)
	if wait > 0 || err != nil {
		return wait, err
	}
	wait, err = t.fill(ctx, c, backup)
	return filled(c, wait, err)
}

// Update is idempotent as the service is, and fills the disk once.
func (t Volume) Update(ctx context.Context, c *Call, changed []string) (time.Duration, error) {
	if backup := c.text("backup_id"); backup != "" && slices.Contains(changed, "backup_id") {
		if wait, err := t.fill(ctx, c, backup); wait > 0 || err != nil {
			return wait, err
		}
	}
	wait, err := t.REST.Update(ctx, c, changed)
	return filled(c, wait, err)
}

// filled forgets, when all is done, what was kept on the way there.
func filled(c *Call, wait time.Duration, err error) (time.Duration, error) {
	if wait == 0 && err == nil {
		c.Data = c.Data.Without(fillingKey, inServersKey)
	}
	return wait, err
}

// fill has the disk be what a backup has. It is taken out of the servers that have it
// for as long as that takes.
func (t Volume) fill(ctx context.Context, c *Call, backup string) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	object, err := w.get(ctx, w.scope.Path(w.path()), w.Type.REST.One)
	if err != nil {
		return 0, err
	}
	volume, _ := object.(*value.Map)
	status, _ := volume.Get("status")
	filling, _ := c.Data.Get(fillingKey)
	switch {
	case slices.Contains(w.Type.REST.Ready.Fails, value.Str(status)):
		return 0, inError(value.Str(status), w.scope, w.Type.REST.Ready.Why, object)
	case filling == backup && status == "available":
		return t.putBack(ctx, c)
	case filling == backup && status == "in-use":
		return 0, nil
	case status == "in-use":
		return t.takeOut(ctx, c, volume)
	case status != "available":
		return pause, nil
	}
	busy, of, err := backups.status(ctx, w.service, backup)
	switch {
	case err != nil:
		return 0, err
	case of != nil && busy != "available" && busy != "error":
		return pause, nil // another disk is filled from it
	}
	// Whoever is told twice to fill it fills it with the same.
	body := value.NewMap("restore", value.NewMap("volume_id", c.PhysicalID))
	if _, err := w.do(ctx, http.MethodPost, backups.path+"/"+url.PathEscape(backup)+"/restore", body); err != nil {
		return 0, err
	}
	c.Data.Set(fillingKey, backup)
	return pause, nil
}

// takeOut takes the disk out of its servers; which those are is written down first.
func (t Volume) takeOut(ctx context.Context, c *Call, volume *value.Map) (time.Duration, error) {
	if !c.Data.Has(inServersKey) {
		servers := []any{}
		attached, _ := volume.Get("attachments")
		list, _ := attached.([]any)
		for _, one := range list {
			m, _ := one.(*value.Map)
			if id, _ := m.Get("server_id"); id != nil {
				servers = append(servers, id)
			}
		}
		c.Data.Set(inServersKey, servers)
		return soon, nil
	}
	compute, err := open(ctx, t.Cloud, c, "compute", "")
	if err != nil {
		return 0, err
	}
	for _, server := range serversOf(c) {
		_, err := compute.do(ctx, http.MethodDelete, "servers/"+server+"/os-volume_attachments/"+c.PhysicalID, nil)
		if err != nil && !faults.Is(err, faults.NotFound) && !(faults.Is(err, faults.Conflict) && c.until(blockedFor) > 0) {
			return 0, err
		}
	}
	return pause, nil
}

// putBack puts the disk, which is filled, into the servers that had it.
func (t Volume) putBack(ctx context.Context, c *Call) (time.Duration, error) {
	servers := serversOf(c)
	if len(servers) == 0 {
		return 0, nil
	}
	compute, err := open(ctx, t.Cloud, c, "compute", "")
	if err != nil {
		return 0, err
	}
	for _, server := range servers {
		body := value.NewMap("volumeAttachment", value.NewMap("volumeId", c.PhysicalID))
		_, err := compute.do(ctx, http.MethodPost, "servers/"+server+"/os-volume_attachments", body)
		if err != nil && !faults.Is(err, faults.NotFound) && !(faults.Is(err, faults.Conflict) && c.until(blockedFor) > 0) {
			return 0, err
		}
	}
	return pause, nil
}

func serversOf(c *Call) (ids []string) {
	v, _ := c.Data.Get(inServersKey)
	list, _ := v.([]any)
	for _, id := range list {
		ids = append(ids, url.PathEscape(value.Str(id)))
	}
	return ids
}

// Snapshot is idempotent by the backup's name.
func (t Volume) Snapshot(ctx context.Context, c *Call) (time.Duration, error) {
	s, err := open(ctx, t.Cloud, c, backups.service, "")
	if err != nil {
		return 0, err
	}
	status, backup, err := backups.take(ctx, s, c, func() (any, error) {
		answer, err := s.do(ctx, http.MethodPost, backups.path,
			value.NewMap("backup", value.NewMap("volume_id", c.PhysicalID, "name", c.Copy, "force", true)))
		made, _ := under(answer, backups.one).(*value.Map)
		id, _ := made.Get("id")
		return id, err
	})
	switch {
	case err != nil:
		return 0, err
	case status == "":
		return soon, nil
	case status == "creating":
		return pause, nil
	case status == "available":
		return 0, nil
	}
	why, _ := backup.Get("fail_reason")
	if why == nil {
		why = status
	}
	return 0, faults.New(faults.Invalid, "Error", "%s", value.Clip(value.Str(why), maxSaid))
}

// DeleteSnapshot is idempotent by the backup that is gone. One that is at work is
// waited for.
func (t Volume) DeleteSnapshot(ctx context.Context, c *Call) (time.Duration, error) {
	s, err := open(ctx, t.Cloud, c, backups.service, "")
	if err != nil {
		return 0, err
	}
	id, err := backups.find(ctx, s, c)
	if err != nil || id == "" {
		return 0, err
	}
	switch status, _, err := backups.status(ctx, s, id); {
	case err != nil || status == "":
		return 0, err
	case status == "error_deleting":
		return 0, faults.New(faults.Invalid, "Error", "the backup %s can't be deleted", id)
	case status != "available" && status != "error":
		return pause, nil
	}
	_, err = s.do(ctx, http.MethodDelete, backups.path+"/"+id, nil)
	if err != nil && !faults.Is(err, faults.NotFound) {
		return 0, err
	}
	return pause, nil
}
