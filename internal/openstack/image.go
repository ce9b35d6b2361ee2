package openstack

// Glance: where an image's data is, and what to check it by.

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	keystone "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/members"

	"holdfast.dev/internal/faults"
)

// ImageFile is an image's file in Glance.
type ImageFile struct {
	DiskFormat, ContainerFormat string
	Size                        int64
	// HashAlgo and HashValue are os_hash_algo and os_hash_value, Checksum is MD5.
	HashAlgo, HashValue, Checksum string
	// Properties are those of the image's own.
	Properties map[string]any
	// URL gives the data to who sends Token as X-Auth-Token, a secret.
	URL, Token string
}

// ImageFile looks an image up as the service user. Errors: NotFound, Unavailable.
func (s *Session) ImageFile(ctx context.Context, imageID string) (ImageFile, error) {
	client, image, err := s.imageOf(ctx, imageID)
	if err != nil {
		return ImageFile{}, err
	}
	return fileOf(client, image), nil
}

// imageOf looks an image up with a client that can be asked more of it.
func (s *Session) imageOf(ctx context.Context, imageID string) (*gophercloud.ServiceClient, *images.Image, error) {
	client, err := s.Image(ctx)
	if err != nil {
		return nil, nil, err
	}
	image, err := images.Get(ctx, client, imageID).Extract()
	return client, image, imageFault(err, imageID)
}

func fileOf(client *gophercloud.ServiceClient, image *images.Image) ImageFile {
	word := func(name string) string { text, _ := image.Properties[name].(string); return text }
	return ImageFile{DiskFormat: image.DiskFormat, ContainerFormat: image.ContainerFormat, Size: image.SizeBytes, Checksum: image.Checksum,
		HashAlgo: word("os_hash_algo"), HashValue: word("os_hash_value"), Properties: image.Properties,
		URL: client.ServiceURL("images", image.ID, "file"), Token: client.Token()}
}

// LentImageFile is ImageFile of an image that nobody has asked for in their own name: the
// service user sees more than they would. It is one that everybody may use, or its project
// has, or is shared with that. Errors: as ImageFile.
func (s *Session) LentImageFile(ctx context.Context, imageID string) (ImageFile, error) {
	client, image, err := s.imageOf(ctx, imageID)
	if err != nil {
		return ImageFile{}, err
	}
	lent, err := s.lent(ctx, client, image)
	if err == nil && !lent {
		err = imageNotFound(imageID)
	}
	if err != nil {
		return ImageFile{}, err
	}
	return fileOf(client, image), nil
}

func (s *Session) lent(ctx context.Context, client *gophercloud.ServiceClient, image *images.Image) (bool, error) {
	if image.Visibility == images.ImageVisibilityPublic || image.Visibility == images.ImageVisibilityCommunity {
		return true, nil
	}
	login, ok := client.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return false, nil
	}
	project, err := login.ExtractProject()
	if err != nil || project == nil {
		return false, faults.Wrap(err, faults.Unavailable, "ServiceLoginFailed", "the service user's project isn't known")
	}
	if image.Owner == project.ID || image.Visibility != images.ImageVisibilityShared {
		return image.Owner == project.ID, nil
	}
	_, err = members.Get(ctx, client, image.ID, project.ID).Extract()
	if err = imageFault(err, image.ID); faults.Is(err, faults.NotFound) {
		return false, nil
	}
	return err == nil, err
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
	client, image, err := s.imageOf(ctx, imageID)
	if err != nil {
		return ImageUpload{}, err
	}
	return ImageUpload{Active: image.Status == images.ImageStatusActive, URL: client.ServiceURL("images", imageID, "file"), Token: client.Token()}, nil
}

// Image gives a client of Glance v2. Errors: Unavailable.
func (s *Session) Image(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.client(ctx, "", "image", keystone.NewImageV2)
}

func imageNotFound(imageID string) error {
	return faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", imageID)
}

func imageFault(err error, imageID string) error {
	switch {
	case err == nil:
		return nil
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return imageNotFound(imageID)
	}
	return faults.Wrap(err, faults.Unavailable, "GlanceConnectionFailed", "Connection to glance host failed")
}
