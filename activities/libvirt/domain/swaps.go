package domain

// Disks of volumes that take the place of others.

import (
	"slices"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
)

// VolumeDisk is the disk of a volume in a domain that is there.
type VolumeDisk struct {
	xml libvirtxml.DomainDisk
}

// FindVolume finds the disk of a volume in a domain's XML; nil if it is not there.
func FindVolume(domainXML, id string) (*VolumeDisk, error) {
	d := &libvirtxml.Domain{}
	if err := d.Unmarshal(domainXML); err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "InvalidDomain", "a domain can't be read")
	}
	if d.Devices == nil {
		return nil, nil
	}
	i := slices.IndexFunc(d.Devices.Disks, func(x libvirtxml.DomainDisk) bool { return x.Serial == id && x.Target != nil })
	if i < 0 {
		return nil, nil
	}
	return &VolumeDisk{d.Devices.Disks[i]}, nil
}

// Name is what the domain calls it: "vdb".
func (v *VolumeDisk) Name() string { return v.xml.Target.Dev }

// Path is the file or block device that it is, Format how that is read.
func (v *VolumeDisk) Path() string { return pathOf(v.xml.Source) }

// Format is how the domain reads it: raw or qcow2.
func (v *VolumeDisk) Format() string {
	if v.xml.Driver == nil {
		return ""
	}
	return v.xml.Driver.Type
}

// Copy is where it is being copied to, and whether all of it is there; empty if it
// isn't copied.
func (v *VolumeDisk) Copy() (path string, ready bool) {
	if v.xml.Mirror == nil {
		return "", false
	}
	return pathOf(v.xml.Mirror.Source), v.xml.Mirror.Ready == "yes"
}

// At writes the disk as it is when it is another file or block device, and in
// nothing else another.
func (v *VolumeDisk) At(to Disk) (string, error) {
	x := v.xml
	x.Mirror, x.BackingStore, x.Source = nil, nil, to.source()
	driver := libvirtxml.DomainDiskDriver{}
	if x.Driver != nil {
		driver = *x.Driver
	}
	driver.Type = to.Format
	x.Driver = &driver
	text, err := x.Marshal()
	if err != nil {
		return "", faults.Wrap(err, faults.Unavailable, "InvalidDomain", "a device of a domain can't be written")
	}
	return text, nil
}

func pathOf(s *libvirtxml.DomainDiskSource) string {
	switch {
	case s == nil:
	case s.File != nil:
		return s.File.File
	case s.Block != nil:
		return s.Block.Dev
	}
	return ""
}
