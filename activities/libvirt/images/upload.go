package images

// Images on their way to Glance.

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/netguard"
)

// uploadTime bounds one upload; it fits into the time of its step.
const uploadTime = 18 * time.Minute

// Uploads brings files to the deployment's Glance: the API says over the host
// link where an image belongs, and the bytes go to Glance itself.
type Uploads struct {
	link   *hostlink.Client
	client *http.Client
}

// NewUploads makes the uploads of a host.
func NewUploads(link *hostlink.Client) *Uploads {
	return &Uploads{link: link, client: netguard.Policy{Use: "image upload", Timeout: uploadTime}.Client()}
}

// Upload asks the API.
func (u *Uploads) Upload(ctx context.Context, serverID string) (hostlink.Upload, error) {
	return u.link.Upload(ctx, serverID)
}

// Send streams the file into the image. Errors: NotFound, there is no such image
// any more; OverLimit, it is too large; Invalid, Glance won't have it.
func (u *Uploads) Send(ctx context.Context, to hostlink.Upload, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return unreadable(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return unreadable(err)
	}
	if info.Size() > maxImage {
		return faults.New(faults.OverLimit, "ImageTooLarge", "the copy for image %s has %d bytes, more than %d", to.ImageID, info.Size(), int64(maxImage))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, to.URL, file)
	if err != nil {
		return faults.Wrap(err, faults.Unavailable, "ImageService", "the image service's address is not usable")
	}
	r.ContentLength = info.Size()
	if info.Size() == 0 {
		r.Body = http.NoBody
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("X-Auth-Token", to.Token)
	resp, err := u.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var f *faults.Error
		if errors.As(err, &f) {
			return f
		}
		return faults.Wrap(err, faults.Unavailable, "ImageService", "the image service can't be reached")
	}
	_ = resp.Body.Close() // nothing of it is wanted
	return sent(to.ImageID, resp)
}

// sent is what Glance's answer to an upload means.
func sent(imageID string, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusNoContent:
		return nil
	case http.StatusNotFound, http.StatusGone:
		return faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", imageID)
	case http.StatusRequestEntityTooLarge:
		return faults.New(faults.OverLimit, "ImageQuotaExceeded", "Quota exceeded or out of space for image %s in the image service.", imageID)
	case http.StatusBadRequest, http.StatusUnsupportedMediaType:
		return faults.New(faults.Invalid, "ImageBadRequest", "the image service refuses the data of image %s", imageID)
	}
	return faults.New(faults.Unavailable, "ImageService", "the image service answered %s", resp.Status)
}

func unreadable(err error) error {
	return faults.Wrap(err, faults.Unavailable, "HostStorage", "the host's storage failed")
}
