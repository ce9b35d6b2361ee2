package volume

// os-volume_upload_image: a volume becomes an image.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// statusUploading is that of a volume whose bytes are on their way to the image
// that its row names.
const statusUploading = "uploading"

// uploadImage makes the image as the caller and leaves its data to the work.
func uploadImage(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Name       string `json:"image_name"`
		Force      any    `json:"force"`
		Format     string `json:"disk_format"`
		Container  string `json:"container_format"`
		Visibility string `json:"visibility"`
		Protected  any    `json:"protected"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if in.Name == "" || len(in.Name) > longestName {
		return nil, service.Fail(http.StatusBadRequest, "Invalid input for field/attribute image_name. It has from 1 to %d characters.", longestName)
	}
	format, container := "raw", "bare"
	if in.Format != "" {
		format = in.Format
	}
	if in.Container != "" {
		container = in.Container
	}
	if format != "raw" && format != "qcow2" || container != "bare" {
		return nil, service.Fail(http.StatusBadRequest, "Invalid input received: an image of a volume is raw or qcow2 in a bare container, not %s in %s.", bounded(format), bounded(container))
	}
	forced := truth(fmt.Sprint(in.Force))
	if d.v.Status != statusAvailable && !(forced && d.v.Status == statusInUse) {
		return nil, invalidVolume("Volume %s status must be available, but current status is: %s.", d.v.ID, d.v.Status)
	}
	if d.s.Images == nil {
		return nil, service.Fail(http.StatusBadRequest, "There is no image service.")
	}
	image := map[string]any{"name": in.Name, "disk_format": format, "container_format": container, "protected": truth(fmt.Sprint(in.Protected)), "min_disk": d.v.Size}
	if in.Visibility != "" {
		image["visibility"] = in.Visibility
	}
	id, err := d.s.Images.create(ctx, d.caller.Token, image)
	if err != nil {
		return nil, err
	}
	if _, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET upload_to = $2, status = $3, updated_at = now() WHERE id = $1`, d.v.ID, id, statusUploading); err != nil {
		return nil, err
	}
	return map[string]any{"os-volume_upload_image": map[string]any{
		"id": d.v.ID, "image_id": id, "image_name": in.Name, "status": statusUploading, "size": d.v.Size, "display_description": d.v.Description,
		"disk_format": format, "container_format": container, "updated_at": stamp(&d.v.UpdatedAt), "visibility": in.Visibility, "protected": image["protected"],
		"volume_type": map[string]any{"id": d.v.TypeID, "name": d.v.TypeName},
	}}, nil
}

// create makes an image without data, and gives its id.
func (i *Images) create(ctx context.Context, token string, image map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	body, err := json.Marshal(image)
	if err != nil {
		return "", err
	}
	answer, err := i.send(ctx, token, http.MethodPost, "", "application/json", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&made); err != nil {
		return "", fmt.Errorf("the image service's answer: %w", err)
	}
	return made.ID, nil
}

// send asks the image service; what it refuses is refused in its words.
func (i *Images) send(ctx context.Context, token, method, path, kind string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(i.URL, "/")+"/v2/images"+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, &service.Error{Status: http.StatusServiceUnavailable, Message: "The image service can't be reached.", Err: err}
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096)) // for the log only
	status := answer.StatusCode
	if status >= 500 || status == http.StatusUnauthorized {
		status = http.StatusServiceUnavailable
	}
	return nil, &service.Error{Status: status, Message: fmt.Sprintf("The image service refused the image with status %d.", answer.StatusCode), Err: errors.New(string(text))}
}

// workOnUploads sends the data of volumes that wait for it. An image that can't
// be filled is deleted; the volume is what it was, either way.
func (s *Service) workOnUploads(ctx context.Context) error {
	type upload struct{ ID, UploadTo string }
	waiting, err := rows[upload](ctx, s.Pool, `SELECT id, upload_to FROM volume.volumes WHERE status = 'uploading' AND upload_to IS NOT NULL ORDER BY number LIMIT 100`)
	if err != nil {
		return err
	}
	for _, one := range waiting {
		err := s.sendImage(ctx, one.ID, one.UploadTo)
		if ctx.Err() != nil {
			return ctx.Err() // a stop isn't a failure
		}
		if err != nil {
			s.Log.Error("upload a volume as an image", "volume", one.ID, "image", one.UploadTo, "error", err)
		}
		err = s.write(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `UPDATE volume.volumes SET upload_to = NULL WHERE id = $1`, one.ID); err != nil {
				return err
			}
			return settle(ctx, tx, one.ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) sendImage(ctx context.Context, volume, image string) error {
	if s.Images == nil {
		return errors.New("there is no image service")
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	token, err := s.Images.Token(ctx)
	if err != nil {
		return fmt.Errorf("a token for the image service: %w", err)
	}
	err = s.sendData(ctx, token, volume, image)
	var refused *service.Error
	if errors.As(err, &refused) && refused.Status == http.StatusConflict {
		return nil // it has its data, from before a stop
	}
	if err != nil && ctx.Err() == nil {
		answer, gone := s.Images.send(ctx, token, http.MethodDelete, "/"+url.PathEscape(image), "application/json", nil)
		if gone == nil {
			_ = answer.Body.Close() // there is nothing in it
		}
		err = errors.Join(err, gone)
	}
	return err
}

func (s *Service) sendData(ctx context.Context, token, volume, image string) error {
	described, err := s.Images.get(ctx, token, url.PathEscape(image))
	if err != nil {
		return err
	}
	defer described.Body.Close()
	var shown struct {
		Format string `json:"disk_format"`
	}
	if err := json.NewDecoder(io.LimitReader(described.Body, 1<<20)).Decode(&shown); err != nil {
		return err
	}
	path := s.file(volume)
	if shown.Format == "qcow2" {
		converted := path + ".upload"
		defer os.Remove(converted)
		if err := run(ctx, "qemu-img", "convert", "-f", "raw", "-O", "qcow2", path, converted); err != nil {
			return err
		}
		path = converted
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	answer, err := s.Images.send(ctx, token, http.MethodPut, "/"+url.PathEscape(image)+"/file", "application/octet-stream", file)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
