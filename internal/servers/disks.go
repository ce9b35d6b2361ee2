package servers

// What a guest's disks are called, and on which bus they are: as Nova's libvirt
// driver has it (contracts: image-properties.json).

import (
	"fmt"
	"strings"

	"holdfast.dev/internal/faults"
)

// Disk is one of a guest's.
type Disk struct {
	// Name is "vda"; one that a disk has already it keeps.
	Name string
	// Bus is what was asked for; one that the machine lacks counts as none.
	Bus string
	// CDROM disks are on a bus for such drives.
	CDROM bool
}

// prefixes are the buses of x86_64 that QEMU has, with the first letters of the
// names of their devices.
var prefixes = map[string]string{"virtio": "vd", "scsi": "sd", "sata": "sd", "usb": "sd", "ide": "hd", "fdc": "fd"}

// maxDisks is how many a server may have: for as many Nova's libvirt driver has names.
const maxDisks = 256

// CheckDisks refuses more disks than a server may have. Errors: Forbidden.
func CheckDisks(n int) error {
	if n <= maxDisks {
		return nil
	}
	return faults.New(faults.Forbidden, "TooManyDiskDevices",
		"The maximum allowed number of disk devices (%d) to attach to a single instance has been exceeded.", maxDisks)
}

// NameDisks gives disks their buses, by the properties of the image where they
// ask for none, and then the first names that are free, in their order. Errors:
// Invalid, the image names a bus that there is not.
func NameDisks(image map[string]string, disks []Disk) error {
	buses, err := busesOf(image)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, d := range disks {
		taken[d.Name] = true
	}
	for i := range disks {
		d := &disks[i]
		if prefixes[d.Bus] == "" {
			d.Bus = buses[d.CDROM]
		}
		for n := 0; d.Name == ""; n++ {
			if name := prefixes[d.Bus] + letter(n); !taken[name] {
				d.Name, taken[name] = name, true
			}
		}
	}
	return nil
}

// busesOf are those of disks and of drives (true).
func busesOf(image map[string]string) (map[bool]string, error) {
	buses := map[bool]string{false: "virtio", true: "sata"}
	if machine := image["hw_machine_type"]; strings.HasPrefix(machine, "pc") && !strings.Contains(machine, "q35") {
		buses[true] = "ide" // that machine has no SATA
	}
	for drive, property := range map[bool]string{false: "hw_disk_bus", true: "hw_cdrom_bus"} {
		wanted := image[property]
		switch {
		case wanted == "":
		case prefixes[wanted] == "" || drive && wanted == "fdc":
			return nil, faults.New(faults.Invalid, "InvalidImageProperty",
				"Invalid image metadata. Error: %s is %q; it must be a bus of the machine", property, wanted)
		default:
			buses[drive] = wanted
		}
	}
	return buses, nil
}

// letter counts a, b ... z, aa, ab ...
func letter(n int) string {
	if n < 26 {
		return fmt.Sprintf("%c", 'a'+n)
	}
	return letter(n/26-1) + letter(n%26)
}

// BareName is a disk's name without its folder: "vda" of "/dev/vda".
func BareName(device string) string { return strings.TrimPrefix(device, "/dev/") }

// DevicePath is "/dev/vda" of "vda"; nothing of nothing.
func DevicePath(name string) string {
	if name == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return "/dev/" + name
}
