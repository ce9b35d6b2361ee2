package resources

// The copy of a server: an image of it.

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// imaging are the task states of servers that images are made of.
var imaging = []string{"image_uploading", "image_snapshot_pending", "image_snapshot", "image_pending_upload"}

// Snapshot is idempotent by the image's name.
func (t Server) Snapshot(ctx context.Context, c *Call) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	glance, err := open(ctx, t.Cloud, c, images.service, "")
	if err != nil {
		return 0, err
	}
	status, _, err := images.take(ctx, glance, c, func() (any, error) {
		answer, err := w.do(ctx, http.MethodPost, w.scope.Path(w.path()+"/action"), value.NewMap("createImage", value.NewMap("name", c.Copy)))
		return under(answer, "image_id"), err
	})
	switch {
	case faults.Is(err, faults.Conflict) && c.until(blockedFor) > 0:
		return pause, nil
	case err != nil:
		return 0, err
	case status == "":
		return soon, nil
	case slices.Contains([]string{"killed", "deleted", "pending_delete"}, strings.ToLower(status)):
		return 0, faults.New(faults.Invalid, "Error", "%s", status)
	case strings.ToLower(status) != "active":
		return pause, nil
	}
	server, _, err := w.server(ctx)
	if err != nil {
		return 0, err
	}
	if task, _ := server.Get("OS-EXT-STS:task_state"); slices.Contains(imaging, value.Str(task)) {
		return pause, nil
	}
	return 0, nil
}

// DeleteSnapshot is idempotent by the image that is gone.
func (t Server) DeleteSnapshot(ctx context.Context, c *Call) (time.Duration, error) {
	glance, err := open(ctx, t.Cloud, c, images.service, "")
	if err != nil {
		return 0, err
	}
	id, err := images.find(ctx, glance, c)
	if err != nil || id == "" {
		return 0, err
	}
	_, err = glance.do(ctx, http.MethodDelete, images.path+"/"+id, nil)
	if faults.Is(err, faults.NotFound) {
		err = nil
	}
	return 0, err
}
