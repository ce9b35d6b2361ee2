package cinder

// The calls that are made, each with what is read of the answer.

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/attachments"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store/compute"
)

// volume is what is read of one.
type volume struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	// MigrationStatus is told to administrators only.
	MigrationStatus string `json:"migration_status"`
}

// making says that it will be ready.
func (v *volume) making() bool { return v.Status == "creating" || v.Status == "downloading" }

func (v *volume) broken() bool { return strings.HasPrefix(v.Status, "error") }

// attachment is what is read of one; how the volume is reached is not.
type attachment struct {
	ID       string `json:"id"`
	VolumeID string `json:"volume_id"`
	Status   string `json:"status"`
}

// Values of an attachment's status.
const (
	reserved = "reserved"
	attached = "attached"
)

// calls are made one after the other; each says first that the step is alive.
type calls struct {
	client *gophercloud.ServiceClient
	alive  func()
}

// marked looks for the volume that was made for a device; nil if there is none.
func (c *calls) marked(ctx context.Context, d *compute.BlockDevice) (*volume, error) {
	c.alive()
	page, err := volumes.List(c.client, volumes.ListOpts{Name: mark(d)}).AllPages(ctx)
	if err != nil {
		return nil, fault(err, about{})
	}
	var found []*volume
	if err := volumes.ExtractVolumesInto(page, &found); err != nil {
		return nil, fault(err, about{})
	}
	for _, v := range found {
		if v.Name == mark(d) {
			return v, nil
		}
	}
	return nil, nil
}

func (c *calls) volume(ctx context.Context, id string) (*volume, error) {
	c.alive()
	v := &volume{}
	if err := volumes.Get(ctx, c.client, id).ExtractInto(v); err != nil {
		return nil, fault(err, about{volume: id})
	}
	return v, nil
}

// create makes the volume of a device. A cancel doesn't cut the call short:
// nobody would know whether there is a volume.
func (c *calls) create(ctx context.Context, d *compute.BlockDevice) (*volume, error) {
	c.alive()
	opts := volumes.CreateOpts{Name: mark(d), Size: d.VolumeSizeGB, VolumeType: d.VolumeType}
	switch d.SourceType {
	case "image":
		opts.ImageID = d.SourceID
	case "snapshot":
		opts.SnapshotID = d.SourceID
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openstack.CallTimeout)
	defer cancel()
	v := &volume{}
	if err := volumes.Create(ctx, c.client, opts, nil).ExtractInto(v); err != nil {
		return nil, fault(err, about{snapshot: opts.SnapshotID})
	}
	return v, nil
}

func (c *calls) erase(ctx context.Context, id string) error {
	c.alive()
	return fault(volumes.Delete(ctx, c.client, id, nil).ExtractErr(), about{volume: id})
}

// attachmentsOf lists the attachments that carry a server's id.
func (c *calls) attachmentsOf(ctx context.Context, serverID string) ([]*attachment, error) {
	c.alive()
	var body struct {
		Attachments []*attachment `json:"attachments"`
	}
	_, err := c.client.Get(ctx, c.client.ServiceURL("attachments", "detail")+"?instance_id="+url.QueryEscape(serverID), &body, nil)
	return body.Attachments, fault(err, about{})
}

// reserve makes an attachment that no host has yet.
func (c *calls) reserve(ctx context.Context, d *compute.BlockDevice) (*attachment, error) {
	c.alive()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openstack.CallTimeout)
	defer cancel()
	var body struct {
		Attachment attachment `json:"attachment"`
	}
	result := attachments.Create(ctx, c.client, attachments.CreateOpts{VolumeUUID: d.VolumeID, InstanceUUID: d.ServerID})
	if err := into(result.Result, &body); err != nil {
		return nil, fault(err, about{volume: d.VolumeID})
	}
	return &body.Attachment, nil
}

// connect gives an attachment its host. How the volume is reached is in the
// answer, and left there: the host asks for it itself.
func (c *calls) connect(ctx context.Context, at *attachment, connector map[string]any) error {
	c.alive()
	return fault(attachments.Update(ctx, c.client, at.ID, attachments.UpdateOpts{Connector: connector}).Err, about{volume: at.VolumeID})
}

func (c *calls) complete(ctx context.Context, at *attachment) error {
	c.alive()
	return fault(attachments.Complete(ctx, c.client, at.ID).ExtractErr(), about{volume: at.VolumeID})
}

func (c *calls) detach(ctx context.Context, at *attachment) error {
	c.alive()
	return fault(attachments.Delete(ctx, c.client, at.ID).ExtractErr(), about{volume: at.VolumeID})
}

// into reads the part of an answer that is of use.
func into(r gophercloud.Result, v any) error {
	if r.Err != nil {
		return r.Err
	}
	text, err := json.Marshal(r.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
