package domain

// Disks: local ones, volumes, and the config drive.

import (
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/servers"
)

// Disk is one that the guest sees.
type Disk struct {
	// Path is a file's or a block device's.
	Path string
	// Format is what QEMU is told to read: raw or qcow2. It never guesses.
	Format string
	// Block says that Path is a block device.
	Block bool
	// CDROM disks hold the config drive: read-only, on a bus for such drives.
	CDROM    bool
	ReadOnly bool
	// Shareable disks other guests may have too.
	Shareable bool
	// Name is "vda"; empty is the first that is free. Bus overrides the image's
	// hw_disk_bus.
	Name, Bus string
	// Serial is what the guest finds the disk by: a volume's id.
	Serial string
	// Cache is QEMU's mode; empty is its default.
	Cache string
	// Boots says that the guest boots from this disk, wherever it stands among
	// the others.
	Boots bool
}

func disks(p *Plan, properties Properties, d *libvirtxml.Domain) error {
	names := make([]servers.Disk, len(p.Disks))
	for i, disk := range p.Disks {
		names[i] = servers.Disk{Name: disk.Name, Bus: disk.Bus, CDROM: disk.CDROM}
	}
	if err := servers.NameDisks(p.Spec.ImageProperties, names); err != nil {
		return err
	}
	scsi := false
	for i, disk := range p.Disks {
		scsi = scsi || names[i].Bus == "scsi"
		d.Devices.Disks = append(d.Devices.Disks, disk.xml(names[i]))
	}
	if scsi {
		model, err := properties.oneOf("hw_scsi_model", "virtio-scsi", "virtio-scsi", "lsilogic", "lsisas1068", "lsisas1078", "vmpvscsi")
		if err != nil {
			return err
		}
		first := uint(0)
		d.Devices.Controllers = append(d.Devices.Controllers, libvirtxml.DomainController{Type: "scsi", Index: &first, Model: model})
	}
	return nil
}

func (disk Disk) xml(on servers.Disk) libvirtxml.DomainDisk {
	x := libvirtxml.DomainDisk{
		Device: "disk",
		Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: disk.Format, Cache: disk.Cache},
		Source: disk.source(),
		Target: &libvirtxml.DomainDiskTarget{Dev: on.Name, Bus: on.Bus},
		Serial: disk.Serial,
	}
	if disk.CDROM {
		x.Device = "cdrom"
	}
	if disk.Boots {
		x.Boot = &libvirtxml.DomainDeviceBoot{Order: 1}
	}
	if disk.CDROM || disk.ReadOnly {
		x.ReadOnly = &libvirtxml.DomainDiskReadOnly{}
	}
	if disk.Shareable {
		x.Shareable = &libvirtxml.DomainDiskShareable{}
	}
	return x
}

func (disk Disk) source() *libvirtxml.DomainDiskSource {
	if disk.Block {
		return &libvirtxml.DomainDiskSource{Block: &libvirtxml.DomainDiskSourceBlock{Dev: disk.Path}}
	}
	return &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: disk.Path}}
}
