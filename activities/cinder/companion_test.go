package cinder_test

// The same steps against the development cloud's volume service.

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/volume"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/testenv"
)

func TestAgainstTheCompanion(t *testing.T) {
	t.Parallel()
	service, err := volume.New(volume.Config{Pool: companiontest.Pool(t, "volume", volume.Migrations()),
		Auth: companiontest.Callers{}, Log: companiontest.Log(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c := companiontest.Serve(t, service)
	own := c.Want(202, "demo", "POST", "/v3/volumes", `{"volume":{"size":1,"name":"mine"}}`).TextAt("volume", "id")
	for c.Want(200, "demo", "GET", "/v3/volumes/"+own, "").TextAt("volume", "status") != "available" {
		time.Sleep(20 * time.Millisecond)
	}
	w := newWorldOf(t, companiontest.DemoProject,
		compute.BlockDevice{SourceType: "blank", DestinationType: "volume", VolumeSizeGB: 1, BootIndex: new(0), DeleteOnTermination: true},
		compute.BlockDevice{SourceType: "volume", DestinationType: "volume", VolumeID: own})
	w.client = &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{TokenID: "demo"},
		Endpoint: c.Base + "/v3/", Type: "block-storage", Microversion: "3.44", MoreHeaders: map[string]string{"X-Service-Token": "service"}}
	for pending := true; pending; {
		out, err := w.a.Attach(t.Context(), steps.AttachIn{Fence: w.fence, HostID: w.host})
		if err != nil {
			t.Fatal(err)
		}
		pending = out.Pending != ""
	}
	for range 2 {
		if err := inUse(w); err != nil {
			t.Fatal(err)
		}
	}
	for i, d := range w.devices() {
		v := c.Want(200, "demo", "GET", "/v3/volumes/"+d.VolumeID, "")
		if d.AttachmentID == "" || v.TextAt("volume", "status") != "in-use" || v.TextAt("volume", "attachments", 0, "server_id") != w.server {
			t.Errorf("device %d is %+v, its volume %s", i, d, v.Text)
		}
	}
	// An image of the server stands on snapshots of both, found again by their mark.
	image := steps.SnapshotVolumesIn{Fence: w.fence, ImageID: "image-1", Name: "i"}
	first, err := w.a.Snapshot(t.Context(), image)
	if err != nil || len(first.Snapshots) != 2 || first.Snapshots[1].Position != 1 {
		t.Fatalf("snapshots %+v, %v", first, err)
	}
	if again, err := w.a.Snapshot(t.Context(), image); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("snapshots %+v, %v; were %+v", again, err, first)
	}
	others := image
	others.ImageID = "image-2"
	if _, err := w.a.Snapshot(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(time.Minute)
	drop := func(imageID string) error {
		_, err := w.a.DropSnapshots(t.Context(), steps.DropSnapshotsIn{Fence: w.fence, ImageID: imageID})
		return err
	}
	for _, k := range []struct {
		image string
		left  int
	}{{"image-1", 2}, {"image-2", 0}} {
		for len(c.Want(200, "demo", "GET", "/v3/snapshots", "").At("snapshots").([]any)) != k.left {
			if err := drop(k.image); err != nil && !faults.Is(err, faults.Unavailable) || time.Now().After(limit) {
				t.Fatalf("%s: %v", k.image, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := drop(k.image); err != nil {
			t.Error(err)
		}
	}
	// Another server can't have the user's volume meanwhile.
	other := newWorldOf(t, companiontest.DemoProject, compute.BlockDevice{SourceType: "volume", DestinationType: "volume", VolumeID: own})
	other.client = w.client
	if err := attach(other); err == nil || faults.As(err).Code != "InvalidVolume" {
		t.Errorf("a volume in use: %v", err)
	}
	deadline := time.Now().Add(testenv.Patience)
	for err := release(true)(w); err != nil; err = release(true)(w) {
		if !faults.Is(err, faults.Unavailable) || time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := release(true)(w); err != nil {
		t.Error(err)
	}
	if v := c.Want(200, "demo", "GET", "/v3/volumes/"+own, ""); v.TextAt("volume", "status") != "available" {
		t.Errorf("the user's own volume is %s", v.Text)
	}
	for len(c.Want(200, "demo", "GET", "/v3/volumes", "").At("volumes").([]any)) != 1 {
		if time.Now().After(deadline) {
			t.Fatal("the volume that was made is left")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
