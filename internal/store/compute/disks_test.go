package compute_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/store/compute"
)

// What a server has of disks, with sizes and names, and what its rows are called.
func TestDisksOfAServer(t *testing.T) {
	t.Parallel()
	plain := compute.Flavor{RootGB: 5}
	full := compute.Flavor{RootGB: 5, EphemeralGB: 4, SwapMB: 512}
	image := compute.BlockDevice{SourceType: "image", DestinationType: "local", BootIndex: new(0)}
	data := compute.BlockDevice{SourceType: "blank", DestinationType: "volume", DeviceName: "vdz"}
	root := compute.BlockDevice{SourceType: "volume", DestinationType: "volume", BootIndex: new(0)}
	ephemeral := func(size int) compute.BlockDevice {
		return compute.BlockDevice{SourceType: "blank", DestinationType: "local", VolumeSizeGB: size}
	}
	swap := func(size int) compute.BlockDevice {
		return compute.BlockDevice{SourceType: "blank", DestinationType: "local", VolumeSizeGB: size, GuestFormat: "swap"}
	}
	with := func(d compute.BlockDevice, f func(*compute.BlockDevice)) compute.BlockDevice { f(&d); return d }
	for name, c := range map[string]struct {
		server  compute.Server
		devices []compute.BlockDevice
		// want is "kind size name" of each disk, named the names of the rows.
		want, named string
	}{
		"an image":                {compute.Server{ImageID: "i", Flavor: plain}, nil, "root 5120 vda", ""},
		"an image, full flavor":   {compute.Server{ImageID: "i", Flavor: full}, nil, "root 5120 vda, ephemeral 4096 vdb, swap 512 vdc", ""},
		"an image that names":     {compute.Server{ImageID: "i", Flavor: plain, ImageProperties: map[string]string{"root_device_name": "/dev/sda", "hw_disk_bus": "scsi"}}, nil, "root 5120 sda", ""},
		"asked for less":          {compute.Server{ImageID: "i", Flavor: full}, []compute.BlockDevice{image, ephemeral(1), ephemeral(2), swap(64)}, "root 5120 vda, ephemeral 1024 vdb, ephemeral 2048 vdc, swap 64 vdd", "/dev/vda /dev/vdb /dev/vdc /dev/vdd"},
		"asked for without sizes": {compute.Server{ImageID: "i", Flavor: full}, []compute.BlockDevice{image, ephemeral(0), swap(0)}, "root 5120 vda, ephemeral 4096 vdb, swap 512 vdc", "/dev/vda /dev/vdb /dev/vdc"},
		"volumes come last":       {compute.Server{ImageID: "i", Flavor: full}, []compute.BlockDevice{data, image, swap(1)}, "root 5120 vda, ephemeral 4096 vdb, swap 1 vdc,  0 vdd", "/dev/vdd /dev/vda /dev/vdc"},
		"from a volume":           {compute.Server{Flavor: full}, []compute.BlockDevice{data, root}, " 0 vda, ephemeral 4096 vdb, swap 512 vdc,  0 vdd", "/dev/vdd /dev/vda"},
		"from a volume, an image": {compute.Server{ImageID: "i", Flavor: plain}, []compute.BlockDevice{root}, " 0 vda", "/dev/vda"},
		"a root by name":          {compute.Server{Flavor: plain}, []compute.BlockDevice{with(root, func(d *compute.BlockDevice) { d.DeviceName = "vdb" }), data}, " 0 vdb,  0 vda", "/dev/vdb /dev/vda"},
		"a drive":                 {compute.Server{ImageID: "i", Flavor: plain}, []compute.BlockDevice{image, with(data, func(d *compute.BlockDevice) { d.DeviceType = "cdrom" })}, "root 5120 vda,  0 sda", "/dev/vda /dev/sda"},
	} {
		if err := compute.NameDevices(&c.server, c.devices); err != nil {
			t.Fatal(err)
		}
		var rows []*compute.BlockDevice
		var named []string
		for i := range c.devices {
			rows, named = append(rows, &c.devices[i]), append(named, c.devices[i].DeviceName)
		}
		disks, err := compute.Disks(&c.server, rows)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range disks {
			got = append(got, fmt.Sprintf("%s %d %s", d.Kind, d.SizeMB, d.Name))
		}
		if all := strings.Join(got, ", "); all != c.want {
			t.Errorf("%s: disks %q, want %q", name, all, c.want)
		}
		if all := strings.Join(named, " "); all != c.named {
			t.Errorf("%s: named %q, want %q", name, all, c.named)
		}
	}
}
