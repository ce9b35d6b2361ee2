package domain

// Disks: local ones, volumes, and the config drive.

import (
	"fmt"

	"libvirt.org/go/libvirtxml"
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
	// Bus overrides the image's hw_disk_bus.
	Bus string
	// Serial is what the guest finds the disk by: a volume's id.
	Serial string
	// Cache is QEMU's mode; empty is its default.
	Cache string
}

// buses are those of x86_64 that QEMU has, with the first letters of the names
// of their devices.
var buses = map[string]string{"virtio": "vd", "scsi": "sd", "sata": "sd", "usb": "sd", "ide": "hd", "fdc": "fd"}

func disks(p *Plan, properties Properties, d *libvirtxml.Domain) error {
	bus, err := properties.oneOf("hw_disk_bus", "virtio", "virtio", "scsi", "sata", "usb", "ide", "fdc")
	if err != nil {
		return err
	}
	drive := "sata"
	if d.OS.Type.Machine == "pc" {
		drive = "ide" // that machine has no SATA
	}
	drive, err = properties.oneOf("hw_cdrom_bus", drive, "virtio", "scsi", "sata", "usb", "ide")
	if err != nil {
		return err
	}
	used, scsi := map[string]int{}, false
	for _, disk := range p.Disks {
		on := bus
		if disk.CDROM {
			on = drive
		}
		if disk.Bus != "" {
			on = disk.Bus
		}
		letters, ok := buses[on]
		if !ok {
			return invalid("hw_disk_bus", on, "a bus of the machine")
		}
		name := letters + letter(used[letters])
		used[letters]++
		scsi = scsi || on == "scsi"
		d.Devices.Disks = append(d.Devices.Disks, disk.xml(name, on))
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

func (disk Disk) xml(name, bus string) libvirtxml.DomainDisk {
	x := libvirtxml.DomainDisk{
		Device: "disk",
		Driver: &libvirtxml.DomainDiskDriver{Name: "qemu", Type: disk.Format, Cache: disk.Cache},
		Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: disk.Path}},
		Target: &libvirtxml.DomainDiskTarget{Dev: name, Bus: bus},
		Serial: disk.Serial,
	}
	if disk.Block {
		x.Source = &libvirtxml.DomainDiskSource{Block: &libvirtxml.DomainDiskSourceBlock{Dev: disk.Path}}
	}
	if disk.CDROM {
		x.Device = "cdrom"
	}
	if disk.CDROM || disk.ReadOnly {
		x.ReadOnly = &libvirtxml.DomainDiskReadOnly{}
	}
	return x
}

// letter counts a, b ... z, aa, ab ...
func letter(n int) string {
	if n < 26 {
		return fmt.Sprintf("%c", 'a'+n)
	}
	return letter(n/26-1) + letter(n%26)
}
