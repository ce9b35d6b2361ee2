package hosts

// What a host is told of servers: of those that it has a claim for, and no other.

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// services answers with what it was asked for.
type services struct{}

func (services) ImageUpload(_ context.Context, id string) (openstack.ImageUpload, error) {
	return openstack.ImageUpload{URL: "http://glance/" + id, Token: "t"}, nil
}

func (services) ImageFile(_ context.Context, id string) (openstack.ImageFile, error) {
	return openstack.ImageFile{DiskFormat: "raw", Size: 4, HashAlgo: "sha512", HashValue: "h", Checksum: "c", URL: "http://glance/" + id, Token: "t"}, nil
}

func (services) Attachment(_ context.Context, project, id string) (string, json.RawMessage, error) {
	return "local", json.RawMessage(`{"of": "` + project + "/" + id + `"}`), nil
}

func (services) ConfigDrive(_ context.Context, serverID string) (map[string][]byte, error) {
	return map[string][]byte{"openstack/latest/meta_data.json": []byte(serverID)}, nil
}

func TestServersOfAHost(t *testing.T) {
	t.Parallel()
	_, db := open(t)
	s := computetest.AddServer(t, db, "p")
	host, other := computetest.AddHost(t, db, "h", computetest.Room), computetest.AddHost(t, db, "other", computetest.Room)
	computetest.InTx(t, db, func(tx store.Tx) error {
		if ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, host, "build", compute.Claim{Room: s.Size()}); !ok {
			t.Fatalf("no claim (%v)", err)
		}
		return compute.InsertBlockDevices(t.Context(), tx, s.ID, []compute.BlockDevice{
			{SourceType: "volume", DestinationType: "volume", VolumeID: "v-1", AttachmentID: "a-1"},
			{SourceType: "blank", DestinationType: "local"},
			{SourceType: "volume", DestinationType: "volume", VolumeID: "v-2"},
			{SourceType: "volume", DestinationType: "volume", VolumeID: "v-3", AttachmentID: "a-3"},
		})
	})
	told := &Servers{DB: db, Drives: services{}, Services: services{}}
	image, err := told.Image(t.Context(), host, s.ID)
	if want := (hostlink.Image{ID: "cirros", DiskFormat: "raw", Size: 4, HashAlgo: "sha512", HashValue: "h", Checksum: "c", URL: "http://glance/cirros", Token: "t"}); err != nil || image != want {
		t.Errorf("image %+v, %v; want %+v", image, err, want)
	}
	drive, err := told.ConfigDrive(t.Context(), host, s.ID)
	if err != nil || string(drive.Files["openstack/latest/meta_data.json"]) != s.ID {
		t.Errorf("config drive %v, %v", drive, err)
	}
	volumes, err := told.Volumes(t.Context(), host, s.ID)
	want := hostlink.Volumes{Connections: []hostlink.Connection{
		{VolumeID: "v-1", DriverType: "local", Data: json.RawMessage(`{"of": "p/a-1"}`)},
		{VolumeID: "v-3", DriverType: "local", Data: json.RawMessage(`{"of": "p/a-3"}`)},
	}}
	if err != nil || !reflect.DeepEqual(volumes, want) {
		t.Errorf("volumes %+v, %v; want %+v", volumes, err, want)
	}
	// Of one that is swapped it is told both, until the new one has its place.
	computetest.InTx(t, db, func(tx store.Tx) error {
		return compute.SetSwap(t.Context(), tx, &compute.BlockDevice{ServerID: s.ID, Position: 3, Swap: compute.Swap{VolumeID: "v-4", AttachmentID: "a-4"}})
	})
	want.Connections = append(want.Connections, hostlink.Connection{VolumeID: "v-4", DriverType: "local", Data: json.RawMessage(`{"of": "p/a-4"}`)})
	if volumes, err := told.Volumes(t.Context(), host, s.ID); err != nil || !reflect.DeepEqual(volumes, want) {
		t.Errorf("volumes %+v, %v; want %+v", volumes, err, want)
	}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.ReplaceVolume(t.Context(), tx, s.ID, "v-4") })
	want.Connections = want.Connections[:2]
	want.Connections[1].Data = json.RawMessage(`{"of": "p/a-4"}`)
	if volumes, err := told.Volumes(t.Context(), host, s.ID); err != nil || !reflect.DeepEqual(volumes, want) {
		t.Errorf("volumes %+v, %v; want %+v", volumes, err, want)
	}
	_, atImage := told.Image(t.Context(), other, s.ID)
	_, atDrive := told.ConfigDrive(t.Context(), other, s.ID)
	_, atVolumes := told.Volumes(t.Context(), other, s.ID)
	for i, err := range []error{atImage, atDrive, atVolumes} {
		if !faults.Is(err, faults.NotFound) {
			t.Errorf("%d: another host was told (%v)", i, err)
		}
	}
}

// A host is told of the images that it is to have, and of no other, until it has done
// with them.
func TestWantedImages(t *testing.T) {
	t.Parallel()
	r, db := open(t)
	id, other := uuid.NewString(), uuid.NewString()
	for name, host := range map[string]string{"a": id, "b": other} {
		if _, err := r.Register(t.Context(), host, registration(name, 1, "x")); err != nil {
			t.Fatal(err)
		}
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		a, err := compute.CreateAggregate(t.Context(), tx, "a", "")
		if err == nil {
			err = compute.AddToAggregate(t.Context(), tx, a, &compute.Host{ID: id, Name: "a"})
		}
		if err == nil {
			err = compute.WantImages(t.Context(), tx, a.ID, []string{"i"}, 0)
		}
		return err
	})
	told := &Servers{DB: db, Drives: services{}, Services: services{}}
	listed := func(host string, want ...string) {
		t.Helper()
		answer, err := r.Heartbeat(t.Context(), host, registration("", 1, "x").Report)
		if err != nil || !slices.Equal(answer.Images, want) {
			t.Errorf("listed %v, %v, want %v", answer.Images, err, want)
		}
	}
	listed(id, "i")
	listed(other)
	image, err := told.WantedImage(t.Context(), id, "i")
	if want := (hostlink.Image{ID: "i", DiskFormat: "raw", Size: 4, HashAlgo: "sha512", HashValue: "h", Checksum: "c", URL: "http://glance/i", Token: "t"}); err != nil || image != want {
		t.Errorf("image %+v, %v; want %+v", image, err, want)
	}
	refused := func(host, image string) {
		t.Helper()
		if _, err := told.WantedImage(t.Context(), host, image); !faults.Is(err, faults.NotFound) {
			t.Errorf("told of %s: %v, want not found", image, err)
		}
	}
	refused(other, "i")
	refused(id, "j")
	for range 2 {
		if err := r.ImageSettled(t.Context(), id, "i"); err != nil {
			t.Error(err)
		}
		listed(id)
		refused(id, "i")
	}
}

// A host is told where an image belongs while one is being made of a server on it,
// and the server is shown to be uploading then.
func TestUploads(t *testing.T) {
	t.Parallel()
	r, db := open(t)
	s := computetest.AddServer(t, db, "p")
	host, other := computetest.AddHost(t, db, "h", computetest.Room), computetest.AddHost(t, db, "other", computetest.Room)
	told := &Servers{DB: db, Drives: services{}, Services: services{}}
	computetest.InTx(t, db, func(tx store.Tx) error {
		if ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, host, "build", compute.Claim{Room: s.Size()}); !ok {
			t.Fatalf("no claim (%v)", err)
		}
		return nil
	})
	if _, err := told.Upload(t.Context(), host, s.ID); !faults.Is(err, faults.NotFound) {
		t.Errorf("without an operation: %v", err)
	}
	computetest.InTx(t, db, func(tx store.Tx) error {
		_, err := r.engine.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerCreateImage, ResourceID: s.ID, Input: steps.ImageInput{ImageID: "i"}})
		if err != nil {
			return err
		}
		return compute.SetTask(t.Context(), tx, s.ID, servers.TaskImagePendingUpload)
	})
	for range 2 {
		to, err := told.Upload(t.Context(), host, s.ID)
		if want := (hostlink.Upload{ImageID: "i", URL: "http://glance/i", Token: "t"}); err != nil || to != want {
			t.Errorf("upload %+v, %v; want %+v", to, err, want)
		}
		if now, err := compute.GetServer(t.Context(), db.Pool, "", s.ID); err != nil || now.TaskState != servers.TaskImageUploading {
			t.Errorf("the server shows %q, %v", now.TaskState, err)
		}
	}
	if _, err := told.Upload(t.Context(), other, s.ID); !faults.Is(err, faults.NotFound) {
		t.Errorf("another host was told (%v)", err)
	}
}
