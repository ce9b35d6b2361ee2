package hosts

// What a host is told of servers: of those that it has a claim for, and no other.

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// services answers with what it was asked for.
type services struct{}

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
		if ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, host, "build", s.Room()); !ok {
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
	_, atImage := told.Image(t.Context(), other, s.ID)
	_, atDrive := told.ConfigDrive(t.Context(), other, s.ID)
	_, atVolumes := told.Volumes(t.Context(), other, s.ID)
	for i, err := range []error{atImage, atDrive, atVolumes} {
		if !faults.Is(err, faults.NotFound) {
			t.Errorf("%d: another host was told (%v)", i, err)
		}
	}
}
