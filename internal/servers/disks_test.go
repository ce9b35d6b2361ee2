package servers_test

import (
	"reflect"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
)

func TestNameDisks(t *testing.T) {
	t.Parallel()
	disk, drive := servers.Disk{}, servers.Disk{CDROM: true}
	for name, c := range map[string]struct {
		image map[string]string
		disks []servers.Disk
		want  string
	}{
		"in their order":          {nil, []servers.Disk{disk, disk, disk}, "vda virtio, vdb virtio, vdc virtio"},
		"by the image":            {map[string]string{"hw_disk_bus": "scsi"}, []servers.Disk{disk, disk}, "sda scsi, sdb scsi"},
		"by themselves":           {nil, []servers.Disk{disk, {Bus: "ide"}, {Bus: "usb"}, {Bus: "sata"}, disk}, "vda virtio, hda ide, sda usb, sdb sata, vdb virtio"},
		"a bus that is not":       {nil, []servers.Disk{{Bus: "xen"}}, "vda virtio"},
		"drives":                  {nil, []servers.Disk{disk, drive}, "vda virtio, sda sata"},
		"drives of the older":     {map[string]string{"hw_machine_type": "pc"}, []servers.Disk{disk, drive}, "vda virtio, hda ide"},
		"drives by the image":     {map[string]string{"hw_cdrom_bus": "scsi"}, []servers.Disk{drive}, "sda scsi"},
		"names that stand remain": {nil, []servers.Disk{{Name: "vdb"}, disk, {Name: "vdd"}, disk, disk}, "vdb virtio, vda virtio, vdd virtio, vdc virtio, vde virtio"},
	} {
		if err := servers.NameDisks(c.image, c.disks); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, d := range c.disks {
			got = append(got, d.Name+" "+d.Bus)
		}
		if all := strings.Join(got, ", "); all != c.want {
			t.Errorf("%s: %s, want %s", name, all, c.want)
		}
	}
	many := make([]servers.Disk, 28)
	if err := servers.NameDisks(nil, many); err != nil || many[25].Name != "vdz" || many[27].Name != "vdab" {
		t.Errorf("%v %v", many, err)
	}
	for _, image := range []map[string]string{{"hw_disk_bus": "xen"}, {"hw_cdrom_bus": "fdc"}} {
		if err := servers.NameDisks(image, nil); !faults.Is(err, faults.Invalid) {
			t.Errorf("%v: %v", image, err)
		}
	}
}

func TestDevicePath(t *testing.T) {
	t.Parallel()
	got := []string{servers.DevicePath("vda"), servers.DevicePath("/dev/vda"), servers.DevicePath(""), servers.BareName("/dev/vda"), servers.BareName("vda")}
	if want := []string{"/dev/vda", "/dev/vda", "", "vda", "vda"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
