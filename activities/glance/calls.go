package glance

// The calls that are made, each with what is read of the answer, and what
// Glance's errors mean.

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"holdfast.dev/internal/faults"
)

// image is what is read of one.
type image struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
}

// calls are made one after the other; each says first that the step is alive.
type calls struct {
	client *gophercloud.ServiceClient
	alive  func()
}

func (c *calls) get(ctx context.Context, id string) (*images.Image, error) {
	c.alive()
	found, err := images.Get(ctx, c.client, id).Extract()
	return found, fault(err, id)
}

// describe writes properties; those that are there are replaced.
func (c *calls) describe(ctx context.Context, id string, properties map[string]string) error {
	c.alive()
	var changes images.UpdateOpts
	for name, value := range properties {
		changes = append(changes, images.UpdateImageProperty{Op: images.AddOp, Name: name, Value: value})
	}
	return fault(images.Update(ctx, c.client, id, changes).Err, id)
}

func (c *calls) erase(ctx context.Context, id string) error {
	c.alive()
	return fault(images.Delete(ctx, c.client, id).ExtractErr(), id)
}

// mostPages bounds the list of a server's backups.
const mostPages = 100

// backups lists a server's backups of a type, the newest first.
func (c *calls) backups(ctx context.Context, serverID, backupType string) ([]image, error) {
	query := url.Values{"image_type": {"backup"}, "instance_uuid": {serverID}, "backup_type": {backupType},
		"sort_key": {"created_at"}, "sort_dir": {"desc"}, "limit": {"100"}}
	var all []image
	for range mostPages {
		c.alive()
		var page struct {
			Images []image `json:"images"`
			Next   string  `json:"next"`
		}
		_, err := c.client.Get(ctx, c.client.ServiceURL("images")+"?"+query.Encode(), &page, nil)
		if err != nil {
			return nil, fault(err, "")
		}
		all = append(all, page.Images...)
		if page.Next == "" || len(page.Images) == 0 {
			break
		}
		query.Set("marker", page.Images[len(page.Images)-1].ID)
	}
	return all, nil
}

// fault gives the meaning of a call's error; nil for nil.
func fault(err error, imageID string) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &answer):
		return faults.Wrap(err, faults.Unavailable, "GlanceConnectionFailed", "Connection to glance host failed: no answer")
	}
	switch answer.Actual {
	case http.StatusNotFound:
		return faults.Wrap(err, faults.NotFound, "ImageNotFound", "Image %s could not be found.", imageID)
	case http.StatusForbidden:
		return faults.Wrap(err, faults.Forbidden, "ImageNotAuthorized", "Not authorized for image %s.", imageID)
	}
	return faults.Wrap(err, faults.Unavailable, "GlanceConnectionFailed", "Connection to glance host failed: it answered %d", answer.Actual)
}
