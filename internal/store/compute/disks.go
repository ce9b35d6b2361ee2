package compute

// All disks of a server, with their names: those of its block devices, and those
// that image and flavor give where it has none. It reads no row itself.

import (
	"cmp"
	"slices"

	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

// Disk is one of a server's.
type Disk struct {
	servers.Disk
	// Device is its row; nil for one that the image or the flavor gives.
	Device *BlockDevice
	// Kind is empty for a volume.
	Kind steps.DiskKind
	// SizeMB is in MiB; 0 of a root disk is the image's size.
	SizeMB int
	Format string
}

// Disks are a server's in the order in which they are named: the one to boot
// from, ephemeral ones, swap, volumes. Devices that have names keep them. Errors:
// Invalid, the image asks for a bus that there is not.
func Disks(s *Server, devices []*BlockDevice) ([]Disk, error) {
	disks := slices.Concat(rootDisk(s, devices), ephemeralDisks(s, devices), swapDisk(s, devices))
	for _, d := range devices {
		if d.IsVolume() && !d.Boots() {
			disks = append(disks, of(d, Disk{}))
		}
	}
	names := make([]servers.Disk, len(disks))
	for i, d := range disks {
		names[i] = d.Disk
	}
	if err := servers.NameDisks(s.ImageProperties, names); err != nil {
		return nil, err
	}
	for i := range disks {
		disks[i].Disk = names[i]
	}
	return disks, nil
}

// of is the disk of a device.
func of(d *BlockDevice, disk Disk) Disk {
	disk.Device, disk.Format = d, d.GuestFormat
	disk.Disk = servers.Disk{Name: servers.BareName(d.DeviceName), Bus: d.DiskBus, CDROM: d.DeviceType == "cdrom"}
	return disk
}

func rootDisk(s *Server, devices []*BlockDevice) []Disk {
	image := Disk{Kind: steps.DiskRoot, SizeMB: int(s.Flavor.RootGB) << 10}
	named := servers.BareName(s.ImageProperties["root_device_name"])
	i := slices.IndexFunc(devices, (*BlockDevice).Boots)
	switch {
	case i < 0 && s.ImageID == "":
		return nil
	case i < 0:
		image.Name = named
		return []Disk{image}
	case devices[i].IsVolume():
		image = Disk{}
	}
	root := of(devices[i], image)
	root.Name = cmp.Or(root.Name, named)
	return []Disk{root}
}

// ephemeralDisks: one that says no size has the flavor's.
func ephemeralDisks(s *Server, devices []*BlockDevice) (disks []Disk) {
	flavor := Disk{Kind: steps.DiskEphemeral, SizeMB: int(s.Flavor.EphemeralGB) << 10}
	for _, d := range devices {
		if d.IsEphemeral() {
			disk := of(d, flavor)
			disk.SizeMB = cmp.Or(d.VolumeSizeGB<<10, flavor.SizeMB)
			disks = append(disks, disk)
		}
	}
	if len(disks) == 0 {
		disks = append(disks, flavor)
	}
	return slices.DeleteFunc(disks, isEmpty)
}

func swapDisk(s *Server, devices []*BlockDevice) []Disk {
	disk := Disk{Kind: steps.DiskSwap, SizeMB: int(s.Flavor.SwapMB)}
	if i := slices.IndexFunc(devices, (*BlockDevice).IsSwap); i >= 0 {
		flavor := disk.SizeMB
		disk = of(devices[i], disk)
		disk.SizeMB = cmp.Or(devices[i].VolumeSizeGB, flavor)
	}
	return slices.DeleteFunc([]Disk{disk}, isEmpty)
}

func isEmpty(d Disk) bool { return d.SizeMB == 0 }

// NameDevices calls a new server's devices what the guest will: what the request
// says counts for the disk to boot from only, as with the original. Errors: Forbidden,
// there are too many.
func NameDevices(s *Server, devices []BlockDevice) error {
	rows := make([]*BlockDevice, len(devices))
	for i := range devices {
		if rows[i] = &devices[i]; !rows[i].Boots() {
			rows[i].DeviceName = ""
		}
	}
	disks, err := Disks(s, rows)
	if err == nil {
		err = servers.CheckDisks(len(disks))
	}
	if err != nil {
		return err
	}
	for _, disk := range disks {
		if disk.Device != nil {
			disk.Device.DeviceName = servers.DevicePath(disk.Name)
		}
	}
	return nil
}
