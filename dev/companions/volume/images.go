package volume

// Volumes of images.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"holdfast.dev/dev/companions/service"
)

// Images is the image service.
type Images struct {
	// URL is where it is, without the version: "http://127.0.0.1:9292".
	URL string
	// Token gives a token of an administrator or a service, for downloads: a
	// caller's own may end before they do.
	Token func(ctx context.Context) (string, error)
}

const (
	downloadTimeout = 15 * time.Minute
	gib             = 1 << 30
)

func (i *Images) get(ctx context.Context, token, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(i.URL, "/")+"/v2/images/"+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Auth-Token", token)
	return http.DefaultClient.Do(request)
}

// planImage checks, as the caller, that an image may become the volume.
func (s *Service) planImage(ctx context.Context, caller *service.Caller, v *record) error {
	if s.Images == nil {
		return service.Fail(http.StatusBadRequest, "Volumes of images aren't offered here.")
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	response, err := s.Images.get(ctx, caller.Token, url.PathEscape(*v.ImageID))
	if err != nil {
		return &service.Error{Status: http.StatusServiceUnavailable, Message: "The image service can't be reached.", Err: err}
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusForbidden:
		return service.Fail(http.StatusNotFound, "Image %s could not be found.", bounded(*v.ImageID))
	default:
		return service.Fail(http.StatusServiceUnavailable, "The image service answered with status %d.", response.StatusCode)
	}
	image := map[string]any{}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&image); err != nil {
		return fmt.Errorf("the image service's answer: %w", err)
	}
	if image["status"] != "active" {
		return service.Fail(http.StatusBadRequest, "Invalid image: Image %s is not active.", bounded(*v.ImageID))
	}
	size, _ := image["size"].(float64)
	if size > float64(v.Size)*gib {
		return service.Fail(http.StatusBadRequest, "Invalid input received: Size of specified image %dGB is larger than volume size %dGB.", int64((size+gib-1)/gib), v.Size)
	}
	if least, _ := image["min_disk"].(float64); least > float64(v.Size) {
		return service.Fail(http.StatusBadRequest, "Invalid input received: Volume size %dGB cannot be smaller than the image minDisk size %vGB.", v.Size, least)
	}
	v.ImageMetadata = imageMetadata(image)
	return nil
}

// notCopied are fields of an image that say where and whose it is.
var notCopied = map[string]bool{"id": true, "name": true, "self": true, "file": true, "schema": true, "owner": true, "status": true, "visibility": true,
	"created_at": true, "updated_at": true, "direct_url": true, "stores": true}

// imageMetadata is what a volume keeps of its image.
func imageMetadata(image map[string]any) map[string]string {
	all := map[string]string{"image_id": fmt.Sprint(image["id"])}
	if name, ok := image["name"].(string); ok {
		all["image_name"] = name
	}
	for key, value := range image {
		if notCopied[key] || len(all) == mostKeys {
			continue
		}
		switch value := value.(type) {
		case string:
			if len(value) <= longestName {
				all[key] = value
			}
		case float64:
			all[key] = fmt.Sprint(int64(value))
		}
	}
	return all
}

// fetchImage downloads an image and writes it as a raw file to path.
func (s *Service) fetchImage(ctx context.Context, id, path string) error {
	if s.Images == nil {
		return fmt.Errorf("there is no image service")
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	token, err := s.Images.Token(ctx)
	if err != nil {
		return fmt.Errorf("a token for the image service: %w", err)
	}
	response, err := s.Images.get(ctx, token, url.PathEscape(id)+"/file")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the image service answered with status %d", response.StatusCode)
	}
	download := path + ".image"
	defer os.Remove(download)
	file, err := os.Create(download)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, io.LimitReader(response.Body, largest*gib)); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	format, err := formatOf(ctx, download)
	if err != nil {
		return err
	}
	return run(ctx, "qemu-img", "convert", "-f", format, "-O", "raw", download, path)
}

// formatOf refuses an image that names other files of this machine.
func formatOf(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, "qemu-img", "info", "--output=json", path).Output()
	if err != nil {
		return "", fmt.Errorf("qemu-img info: %w", err)
	}
	var info struct {
		Format  string `json:"format"`
		Backing string `json:"backing-filename"`
		Details struct {
			Data struct {
				File string `json:"data-file"`
			} `json:"data"`
		} `json:"format-specific"`
	}
	if err := json.Unmarshal(out, &info); err != nil {
		return "", err
	}
	if info.Backing != "" || info.Details.Data.File != "" || info.Format != "raw" && info.Format != "qcow2" {
		return "", fmt.Errorf("an image of format %s that may name other files becomes no volume", info.Format)
	}
	return info.Format, nil
}

func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
