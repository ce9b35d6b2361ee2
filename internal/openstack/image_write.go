package openstack

// Images that callers have made in their own name.

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
)

// CreateImage makes an image without data, shared with a project unless member is
// empty, and gives its address as Nova does. Errors: Invalid, Forbidden,
// OverLimit, Unavailable.
func (c *Caller) CreateImage(ctx context.Context, who identity.Identity, document map[string]any, member string) (location string, err error) {
	client, err := c.client(who, keystone.NewImageV2)
	if err != nil {
		return "", err
	}
	var made struct{ ID string }
	answer, err := client.Post(ctx, client.ServiceURL("images"), document, &made, &gophercloud.RequestOpts{OkCodes: []int{http.StatusCreated}})
	if err != nil {
		closeBody(answer)
		return "", refusedImage(err)
	}
	if member != "" {
		answer, err := client.Post(ctx, client.ServiceURL("images", made.ID, "members"), map[string]string{"member": member}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
		if err != nil {
			closeBody(answer)
			return "", errors.Join(refusedImage(err), c.DeleteImage(context.WithoutCancel(ctx), who, made.ID))
		}
		closeBody(answer)
	}
	return strings.TrimRight(client.Endpoint, "/") + "/images/" + made.ID, nil
}

// DeleteImage deletes an image. Errors: NotFound, Unavailable.
func (c *Caller) DeleteImage(ctx context.Context, who identity.Identity, id string) error {
	client, err := c.client(who, keystone.NewImageV2)
	if err != nil {
		return err
	}
	answer, err := client.Delete(ctx, client.ServiceURL("images", id), nil)
	if err != nil {
		closeBody(answer)
		return imageFault(err, id)
	}
	return nil
}

func closeBody(answer *http.Response) {
	if answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the error is told already
	}
}

// refusedImage gives Glance's answer to a new image as Nova passes it on.
func refusedImage(err error) error {
	for status, kind := range map[int]faults.Kind{
		http.StatusBadRequest: faults.Invalid, http.StatusForbidden: faults.Forbidden, http.StatusRequestEntityTooLarge: faults.OverLimit,
	} {
		if gophercloud.ResponseCodeIs(err, status) {
			return faults.Wrap(err, kind, "ImageRefused", "The image service refuses the image.")
		}
	}
	return faults.Wrap(err, faults.Unavailable, "GlanceConnectionFailed", "Connection to glance host failed")
}
