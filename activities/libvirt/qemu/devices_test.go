package qemu

// Devices that come and go while a guest runs, and while it is off.

import (
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/dev/image"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

func TestDevicesComeAndGo(t *testing.T) {
	t.Parallel()
	const dataID, portID = "0a6f3b1e-3333-4a4e-8b9a-0c2a47c2f6a1", "0a6f3b1e-4444-4a4e-8b9a-0c2a47c2f6a1"
	from := bootable(t)
	from.volumes = []hostlink.Connection{reachedAt(t, dataID, volumeFile(t, "data", nil, 32*mib), "raw")}
	d := host(t, t.TempDir(), from, nil)
	s := spec()
	s.ImageID, s.RootGB, s.MemoryMB, s.ImageProperties = from.image.ID, 5, 192, image.Properties
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	says(t, d, s.ServerID, image.Banner, 1)
	devices := []libvirt.Device{
		{Volume: &steps.Volume{ID: dataID, AttachmentID: "a-1", Device: "vdb"}},
		{Port: &steps.Port{ID: portID, MAC: "fa:16:3e:00:44:44", VIFType: "bridge", Bridge: "brhotplug"}},
	}
	want := func(there bool) {
		t.Helper()
		for _, device := range devices {
			if got, err := d.Plugged(t.Context(), s.ServerID, device.ID()); err != nil || got != there {
				t.Errorf("%s: there %t, %v, want %t", device.ID(), got, err, there)
			}
		}
	}
	all := func(there bool) {
		t.Helper()
		for range 2 {
			for _, device := range devices {
				var err error
				if there {
					err = d.Plug(t.Context(), s.ServerID, device, confirmed)
				} else {
					err = d.Unplug(t.Context(), s.ServerID, device.ID(), confirmed)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			want(there)
		}
	}
	want(false)
	all(true)
	all(false)
	all(true)
	if _, err := d.Power(t.Context(), s.ServerID, steps.PowerForceStop, "", confirmed); err != nil {
		t.Fatal(err)
	}
	want(true)
	all(false)
	all(true)
	// A hard reboot defines the guest anew, of its record.
	if _, err := d.Power(t.Context(), s.ServerID, steps.PowerHardReboot, "m", confirmed); err != nil {
		t.Fatal(err)
	}
	want(true)
}
