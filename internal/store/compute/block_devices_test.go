package compute_test

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// A server's devices are asked for, made and attached, shown with the server,
// held, and let go of.
func TestBlockDevicesOfAServer(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	s := computetest.AddServer(t, db, "p")
	in := func(f func(store.Tx) error) {
		t.Helper()
		computetest.InTx(t, db, f)
	}
	asked := []compute.BlockDevice{
		{ServerID: s.ID, SourceType: "image", DestinationType: "volume", SourceID: "cirros", VolumeSizeGB: 2, VolumeType: "fast", BootIndex: new(0),
			DeviceName: "vda", DeviceType: "disk", DiskBus: "virtio", Tag: "root", DeleteOnTermination: true, Ours: true},
		{ServerID: s.ID, Position: 1, SourceType: "volume", DestinationType: "volume", VolumeID: "own"},
		{ServerID: s.ID, Position: 2, SourceType: "blank", DestinationType: "local", VolumeSizeGB: 1, GuestFormat: "swap"},
	}
	in(func(tx store.Tx) error { return compute.InsertBlockDevices(t.Context(), tx, s.ID, asked) })
	want := func(what string, want []compute.BlockDevice, shown []compute.AttachedVolume, holds ...operations.Effect) {
		t.Helper()
		rows, err := compute.BlockDevices(t.Context(), db.Pool, s.ID, "not-an-id")
		if err != nil {
			t.Fatal(err)
		}
		var got []compute.BlockDevice
		for _, r := range rows {
			if _, err := uuid.Parse(r.ID); err != nil {
				t.Errorf("%s: id %q: %v", what, r.ID, err)
			}
			r.ID = ""
			got = append(got, *r)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\nwant\n%+v", what, got, want)
		}
		if server, err := compute.GetServer(t.Context(), db.Pool, "p", s.ID); err != nil || !reflect.DeepEqual(server.Volumes, shown) || server.RootDevice != "vda" || !server.HasDevices {
			t.Errorf("%s, shown: %+v (%v), want %+v", what, server.Volumes, err, shown)
		}
		if held, err := compute.Holds(t.Context(), db.Pool, s.ID); err != nil || !reflect.DeepEqual(held, holds) {
			t.Errorf("%s, held: %+v (%v), want %+v", what, held, err, holds)
		}
	}
	volumes := operations.Effect{Kind: operations.EffectVolumes, Ref: s.ID, State: operations.Done}
	want("asked for", asked, nil)

	attached := append([]compute.BlockDevice(nil), asked...)
	attached[0].VolumeID, attached[0].AttachmentID = "made", "a-1"
	attached[1].AttachmentID = "a-2"
	in(func(tx store.Tx) error {
		for i := range attached[:2] {
			if err := compute.SetVolume(t.Context(), tx, &attached[i]); err != nil {
				return err
			}
		}
		return nil
	})
	want("attached", attached, []compute.AttachedVolume{{ID: "made", DeleteOnTermination: true}, {ID: "own"}}, volumes)

	in(func(tx store.Tx) error { return compute.ReleaseVolumes(t.Context(), tx, s.ID) })
	want("let go of", asked, nil)
}

// A volume that ends with the server is held before it is attached: the server
// may be deleted before it was ever built.
func TestVolumeThatEndsWithTheServerIsHeld(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	s := computetest.AddServer(t, db, "p")
	computetest.InTx(t, db, func(tx store.Tx) error {
		return compute.InsertBlockDevices(t.Context(), tx, s.ID, []compute.BlockDevice{
			{SourceType: "volume", DestinationType: "volume", VolumeID: "own", DeleteOnTermination: true}})
	})
	holds, err := compute.Holds(t.Context(), db.Pool, s.ID)
	if want := []operations.Effect{{Kind: operations.EffectVolumes, Ref: s.ID, State: operations.Done}}; err != nil || !reflect.DeepEqual(holds, want) {
		t.Errorf("%+v (%v), want %+v", holds, err, want)
	}
}
