package openstack

// Cinder, as callers see it.

import (
	"context"
	"maps"
	"strconv"

	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/identity"
)

// Volume is a volume or a snapshot of Cinder.
type Volume struct {
	ID          string `json:"id"`
	Status      string `json:"status"`
	SizeGB      int    `json:"size"`
	Bootable    string `json:"bootable"`
	Multiattach bool   `json:"multiattach"`
	// MigrationStatus is empty, or null, of a volume that isn't migrated.
	MigrationStatus string `json:"migration_status"`
	// Attachments are those that servers use it by.
	Attachments []VolumeAttachment `json:"attachments"`
	// ImageMetadata are the properties of the image that the volume comes from.
	ImageMetadata map[string]string `json:"volume_image_metadata"`
	// VolumeID is the volume of a snapshot.
	VolumeID string `json:"volume_id"`
}

// VolumeAttachment is what is read of a volume's attachment.
type VolumeAttachment struct {
	ServerID string `json:"server_id"`
}

// Image is the image that the volume comes from, as far as Cinder remembers it.
func (v *Volume) Image() *Image {
	image := &Image{ID: v.ImageMetadata["image_id"], Status: "active", Properties: maps.Clone(v.ImageMetadata)}
	delete(image.Properties, "image_id")
	delete(image.Properties, "image_name")
	for name, kept := range basics {
		if kept == "" {
			delete(image.Properties, name)
		}
	}
	// What isn't a number asks for nothing.
	image.MinDiskGB, _ = strconv.ParseInt(v.ImageMetadata["min_disk"], 10, 64)
	image.MinRAMMB, _ = strconv.ParseInt(v.ImageMetadata["min_ram"], 10, 64)
	return image
}

// Volume reads a volume. Errors: NotFound, Unavailable.
func (c *Caller) Volume(ctx context.Context, who identity.Identity, id string) (*Volume, error) {
	var document struct{ Volume Volume }
	err := c.volume(ctx, who, &document, "volumes", id)
	return &document.Volume, err
}

// Snapshot reads a snapshot. Errors: NotFound, Unavailable.
func (c *Caller) Snapshot(ctx context.Context, who identity.Identity, id string) (*Volume, error) {
	var document struct{ Snapshot Volume }
	err := c.volume(ctx, who, &document, "snapshots", id)
	return &document.Snapshot, err
}

// VolumeTypes gives the names of the volume types that the caller may use, by id
// and by name. Errors: Unavailable.
func (c *Caller) VolumeTypes(ctx context.Context, who identity.Identity) (map[string]string, error) {
	var document struct {
		Types []struct{ ID, Name string } `json:"volume_types"`
	}
	if err := c.volume(ctx, who, &document, "types"); err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, t := range document.Types {
		names[t.ID], names[t.Name] = t.Name, t.Name
	}
	return names, nil
}

func (c *Caller) volume(ctx context.Context, who identity.Identity, into any, path ...string) error {
	client, err := c.client(who, keystone.NewBlockStorageV3)
	if err != nil {
		return err
	}
	return get(ctx, client, into, path...)
}
