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
	client, err := s.client(ctx, "", "image", keystone.NewImageV2)
	if err != nil {
		return ImageFile{}, err
	}
	image, err := images.Get(ctx, client, imageID).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return ImageFile{}, faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", imageID)
	}
	if err != nil {
		return ImageFile{}, faults.Wrap(err, faults.Unavailable, "GlanceConnectionFailed", "Connection to glance host failed")
	}
	word := func(name string) string { text, _ := image.Properties[name].(string); return text }
	return ImageFile{DiskFormat: image.DiskFormat, Size: image.SizeBytes, Checksum: image.Checksum,
		HashAlgo: word("os_hash_algo"), HashValue: word("os_hash_value"),
		URL: client.ServiceURL("images", imageID, "file"), Token: client.Token()}, nil
}
