package bmctest

// Glance: the images that conductors find there.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
)

// Glance has images by their ids.
type Glance struct {
	url    string
	images map[string]Image
}

// Image is one of them; Private is nobody's whom it is lent to, and Down is what Glance has
// no answer about.
type Image struct {
	Data, DiskFormat string
	Properties       map[string]any
	Private, Down    bool
}

// glanceToken is what Glance's data is read with.
const glanceToken = "a-token-of-glance"

// StartGlance starts one with images.
func StartGlance(t testing.TB, images map[string]Image) *Glance {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Auth-Token") != glanceToken {
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(out, images[path.Base(r.URL.Path)].Data) // to somebody who may be gone
	}))
	t.Cleanup(server.Close)
	return &Glance{server.URL, images}
}

// ImageFile is internal/openstack's.
func (g *Glance) ImageFile(_ context.Context, id string) (openstack.ImageFile, error) {
	i, ok := g.images[id]
	if !ok {
		return openstack.ImageFile{}, faults.New(faults.NotFound, "ImageNotFound", "Image %s could not be found.", id)
	}
	if i.Down {
		return openstack.ImageFile{}, faults.New(faults.Unavailable, "GlanceConnectionFailed", "Glance doesn't answer about image %s", id)
	}
	return openstack.ImageFile{DiskFormat: i.DiskFormat, ContainerFormat: "bare", Size: int64(len(i.Data)), HashAlgo: "sha256", HashValue: Sum(i.Data),
		Properties: i.Properties, URL: g.url + "/" + id, Token: glanceToken}, nil
}

// LentImageFile is internal/openstack's.
func (g *Glance) LentImageFile(ctx context.Context, id string) (openstack.ImageFile, error) {
	if g.images[id].Private {
		id = ""
	}
	return g.ImageFile(ctx, id)
}

// Sum is the SHA-256 of a text.
func Sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
