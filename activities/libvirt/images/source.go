package images

// Where images come from.

import (
	"context"
	"crypto/md5" // Glance's old checksum
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/netguard"
)

// Image is what a host has to know of an image to get it.
type Image = hostlink.Image

// Source says what an image is and reads it.
type Source interface {
	// Image tells of the image that a server on this host starts from. Errors:
	// NotFound, Unavailable.
	Image(ctx context.Context, serverID string) (Image, error)
	// Wanted tells of one that this host is to have. Errors: as Image.
	Wanted(ctx context.Context, imageID string) (Image, error)
	// Open begins to read its file.
	Open(ctx context.Context, image Image) (io.ReadCloser, error)
}

// Download is the half of a Source that reads from Glance.
type Download struct{ client *http.Client }

// maxImage bounds an image's file (1 TiB), downloadTime how long it may take.
const (
	maxImage     = 1 << 40
	downloadTime = 18 * time.Minute
)

// NewDownload reads images from wherever the deployment's Glance is, each within a time.
func NewDownload(longest time.Duration) *Download {
	return &Download{netguard.Policy{Use: "image download", MaxBody: maxImage, Timeout: longest}.Client()}
}

// Open asks Glance for the image's data.
func (d *Download) Open(ctx context.Context, image Image) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, image.URL, nil)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "ImageService", "the image service's address is not usable")
	}
	if image.Token != "" {
		r.Header.Set("X-Auth-Token", image.Token)
	}
	resp, err := d.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var f *faults.Error
		if errors.As(err, &f) {
			return nil, f
		}
		return nil, faults.Wrap(err, faults.Unavailable, "ImageService", "the image service can't be reached")
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	_ = resp.Body.Close() // nothing of it is wanted
	switch resp.StatusCode {
	case http.StatusNotFound:
		return nil, faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", image.ID)
	case http.StatusNoContent:
		return nil, Unacceptable(image.ID, "Image has no associated data")
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, faults.New(faults.Unavailable, "ImageNotAuthorized", "Not authorized for image %s.", image.ID)
	}
	return nil, faults.New(faults.Unavailable, "ImageService", "the image service answered %s", resp.Status)
}

// Copy reads an image's data, and checks that it is what Glance knows.
func (d *Download) Copy(ctx context.Context, image Image, into io.Writer) (err error) {
	from, err := d.Open(ctx, image)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	sum, want := sumOf(image)
	if sum != nil {
		into = io.MultiWriter(into, sum)
	}
	n, err := io.Copy(into, from)
	if err != nil {
		return err
	}
	return check(image, sum, want, n)
}

// Glance is the deployment's: the API says over the host link what an image is,
// and the bytes come from Glance itself.
type Glance struct {
	*Download
	link *hostlink.Client
}

// NewGlance makes the source of a host.
func NewGlance(link *hostlink.Client) *Glance { return &Glance{NewDownload(downloadTime), link} }

// Image asks the API.
func (g *Glance) Image(ctx context.Context, serverID string) (Image, error) {
	return g.link.Image(ctx, serverID)
}

// Wanted asks the API.
func (g *Glance) Wanted(ctx context.Context, imageID string) (Image, error) {
	return g.link.WantedImage(ctx, imageID)
}

// sumOf is the hash to check an image by, and its value; nil if there is none.
func sumOf(i Image) (hash.Hash, string) {
	switch i.HashAlgo {
	case "sha512":
		return sha512.New(), i.HashValue
	case "sha256":
		return sha256.New(), i.HashValue
	case "md5":
		return md5.New(), i.HashValue
	}
	if i.Checksum != "" {
		return md5.New(), i.Checksum
	}
	return nil, ""
}

// check compares what was read with what Glance knows.
func check(i Image, sum hash.Hash, want string, n int64) error {
	if i.Size > 0 && n != i.Size {
		return faults.New(faults.Unavailable, "CorruptedImage", "image %s has %d bytes, %d were downloaded", i.ID, i.Size, n)
	}
	if sum != nil && !strings.EqualFold(hex.EncodeToString(sum.Sum(nil)), want) {
		return faults.New(faults.Unavailable, "CorruptedImage", "the hash of image %s is not what the image service has", i.ID)
	}
	return nil
}
