package openstack

// Glance: where an image's data is, and what to check it by.

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"holdfast.dev/internal/faults"
)

// ImageFile is an image's file in Glance.
type ImageFile struct {
	DiskFormat string
	Size       int64
	// HashAlgo and HashValue are os_hash_algo and os_hash_value, Checksum is MD5.
	HashAlgo, HashValue, Checksum string
	// URL gives the data to who sends Token as X-Auth-Token, a secret.
	URL, Token string
}

// ImageFile looks an image up as the service user. Errors: NotFound, Unavailable.
func (s *Session) ImageFile(ctx context.Context, imageID string) (ImageFile, error) {
	client, err := s.Image(ctx)
	if err != nil {
		return ImageFile{}, err
	}
	image, err := images.Get(ctx, client, imageID).Extract()
	if err != nil {
		return ImageFile{}, imageFault(err, imageID)
	}
	word := func(name string) string { text, _ := image.Properties[name].(string); return text }
	return ImageFile{DiskFormat: image.DiskFormat, Size: image.SizeBytes, Checksum: image.Checksum,
		HashAlgo: word("os_hash_algo"), HashValue: word("os_hash_value"),
		URL: client.ServiceURL("images", imageID, "file"), Token: client.Token()}, nil
}

// ImageUpload is where an image's data belongs.
type ImageUpload struct {
	// Active says that the image has its data.
	Active bool
	// URL takes the data from who sends Token as X-Auth-Token, a secret.
	URL, Token string
}

// ImageUpload looks an image up as the service user, to give it its data.
// Errors: NotFound, Unavailable.
func (s *Session) ImageUpload(ctx context.Context, imageID string) (ImageUpload, error) {
	client, err := s.Image(ctx)
	if err != nil {
		return ImageUpload{}, err
	}
	image, err := images.Get(ctx, client, imageID).Extract()
	if err != nil {
		return ImageUpload{}, imageFault(err, imageID)
	}
	return ImageUpload{Active: image.Status == images.ImageStatusActive, URL: client.ServiceURL("images", imageID, "file"), Token: client.Token()}, nil
}

// Image gives a client of Glance v2. Errors: Unavailable.
func (s *Session) Image(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.client(ctx, "", "image", keystone.NewImageV2)
}

func imageFault(err error, imageID string) error {
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", imageID)
	}
	return faults.Wrap(err, faults.Unavailable, "GlanceConnectionFailed", "Connection to glance host failed")
}
