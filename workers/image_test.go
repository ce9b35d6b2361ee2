package workers_test

// Images of servers, with both roles and a Glance: made, cut short by a delete,
// and never begun.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/cinder"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hosts"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/workers"
)

// fakeGlance has one image: its status, "" when it is gone, and its data.
type fakeGlance struct {
	hosts.Services
	mu           sync.Mutex
	base         string
	status, data string
}

const imageID = "5d8f2b5e-1c1a-4c57-9d5f-7a1b3c5d0001"

func (f *fakeGlance) serve(t *testing.T) {
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.base = server.URL
}

func (f *fakeGlance) client(context.Context) (*gophercloud.ServiceClient, error) {
	return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: f.base + "/", ResourceBase: f.base + "/v2/", Type: "image"}, nil
}

func (f *fakeGlance) ImageUpload(context.Context, string) (openstack.ImageUpload, error) {
	status, _ := f.image()
	return openstack.ImageUpload{Active: status == "active", URL: f.base + "/v2/images/" + imageID + "/file", Token: "t"}, nil
}

func (f *fakeGlance) image() (status, data string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status, f.data
}

func (f *fakeGlance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil || f.status == "" || !strings.Contains(r.URL.Path, imageID):
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPut:
		f.status, f.data = "active", string(data)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodDelete:
		f.status = ""
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id": %q, "status": %q}`, imageID, f.status)
	}
}

// imaging accepts an image of a server, as a request does that has made it.
func (c *cloud) imaging(t *testing.T, images *fakeGlance, id string, offered bool) {
	t.Helper()
	images.mu.Lock()
	images.status = "queued"
	images.mu.Unlock()
	var accepted engine.Accepted
	err := c.db.InTx(t.Context(), func(tx store.Tx) (err error) {
		if _, err := compute.LockServer(t.Context(), tx, "p", id); err != nil {
			return err
		}
		accepted, err = c.engine.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerCreateImage, ResourceID: id, ProjectID: "p", UserID: "u",
			Input:   steps.ImageInput{ImageID: imageID, Name: "i", Owner: "p"},
			Effects: []operations.Effect{{Kind: operations.EffectImage, Ref: imageID, State: operations.Done}}})
		if err != nil {
			return err
		}
		return compute.SetTask(t.Context(), tx, id, servers.TaskImageSnapshotPending)
	})
	if err != nil {
		t.Fatal(err)
	}
	if offered {
		c.offer(accepted.OperationID)
	}
}

func copiesOn(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "guests", "*", "snapshot.*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestImageOfAServer(t *testing.T) {
	t.Parallel()
	images, dir := &fakeGlance{}, t.TempDir()
	c := newCloudOf(t, neutron.Options{}, cinder.Options{}, images, func(*workers.ControlConfig) {})
	c.host(t, "h1", dir)
	id := c.build(t)
	idle := func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT vm_state = 'active' AND task_state IS NULL AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	}
	c.eventually(t, "active", idle)
	c.imaging(t, images, id, true)
	c.eventually(t, "the image has its data", func(ctx context.Context) (bool, error) {
		status, _ := images.image()
		is, err := idle(ctx)
		return is && status == "active", err
	})
	if _, data := images.image(); data != "the disk of server "+id+"\n" || copiesOn(t, dir) != 0 {
		t.Errorf("the image is %q, %d copies are left on the host", data, copiesOn(t, dir))
	}
	c.silent(t)
}

// A delete that comes while a disk is being copied, or before that was begun,
// leaves neither image nor copy.
func TestDeleteCutsAnImageShort(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{true, false} {
		t.Run(fmt.Sprintf("begun %t", begun), func(t *testing.T) {
			t.Parallel()
			images, dir := &fakeGlance{}, t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "simulated.json"), []byte(`{"delay":"snapshot.done=hang"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			c := newCloudOf(t, neutron.Options{}, cinder.Options{}, images, func(*workers.ControlConfig) {})
			c.host(t, "h1", dir)
			id := c.build(t)
			c.eventually(t, "active", func(ctx context.Context) (bool, error) {
				return c.one(ctx, `SELECT vm_state = 'active' AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
			})
			c.imaging(t, images, id, begun)
			if begun {
				c.eventually(t, "the disk is copied", func(context.Context) (bool, error) { return copiesOn(t, dir) == 1, nil })
			}
			c.delete(t, id)
			c.eventually(t, "deleted", func(ctx context.Context) (bool, error) {
				return c.one(ctx, `SELECT deleted_at IS NOT NULL AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
			})
			if status, _ := images.image(); status != "" || len(guests(t, dir)) != 0 {
				t.Errorf("the image is %q, guests %v", status, guests(t, dir))
			}
			c.silent(t)
		})
	}
}
