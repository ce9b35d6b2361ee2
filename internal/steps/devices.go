package steps

// What is plugged into a server: part of a ServerSpec.

import "slices"

// DiskKind is what a disk on the host is for.
type DiskKind string

// Kinds of disks on the host.
const (
	// DiskRoot is made of the image and booted from.
	DiskRoot DiskKind = "root"
	// DiskEphemeral is empty, with a file system.
	DiskEphemeral DiskKind = "ephemeral"
	// DiskSwap is the guest's swap.
	DiskSwap DiskKind = "swap"
)

// Disk is one on the server's host.
type Disk struct {
	Kind DiskKind `json:"kind"`
	// SizeMB is in MiB; 0 of a root disk is the image's size.
	SizeMB int `json:"size_mb,omitempty"`
	// Device is its name, "vda"; Bus overrides the image's hw_disk_bus.
	Device string `json:"device,omitempty"`
	Bus    string `json:"bus,omitempty"`
	// Format is the file system of an ephemeral disk; empty is the default.
	Format string `json:"format,omitempty"`
}

// Volume is the one with an id; nil if the server has none.
func (s *ServerSpec) Volume(id string) *Volume {
	i := slices.IndexFunc(s.Volumes, func(v Volume) bool { return v.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Volumes[i]
}

// LocalDisks are the disks on the host, those of the flavor where none are
// listed.
func (s *ServerSpec) LocalDisks() []Disk {
	if s.Disks != nil {
		return s.Disks
	}
	var disks []Disk
	if s.ImageID != "" {
		disks = append(disks, Disk{Kind: DiskRoot, SizeMB: s.RootGB << 10})
	}
	if s.EphemeralGB > 0 {
		disks = append(disks, Disk{Kind: DiskEphemeral, SizeMB: s.EphemeralGB << 10})
	}
	if s.SwapMB > 0 {
		disks = append(disks, Disk{Kind: DiskSwap, SizeMB: s.SwapMB})
	}
	return disks
}

// Port is a network interface as Neutron has bound it to the host.
type Port struct {
	ID  string `json:"id"`
	MAC string `json:"mac"`
	// VIFType is binding:vif_type; a host plugs "bridge" and refuses others.
	VIFType string `json:"vif_type"`
	// Bridge is the name in binding:vif_details, up to 15 characters.
	Bridge string `json:"bridge"`
	// MTU is the network's; 0 leaves the kernel's.
	MTU int `json:"mtu,omitempty"`
	// Model overrides the image's hw_vif_model.
	Model string `json:"model,omitempty"`
	// Network is Neutron's id of it, and Ours says that the port was made for the
	// server and goes with it: both are only written down with the guest.
	Network string `json:"network,omitempty"`
	Ours    bool   `json:"ours,omitempty"`
}

// Volume is a Cinder volume that is attached. Where it is reached, with what
// secrets, the host asks for over the host link.
type Volume struct {
	ID           string `json:"id"`
	AttachmentID string `json:"attachment_id"`
	// Boot says that the server boots from it.
	Boot bool `json:"boot,omitempty"`
	// Bus overrides the image's hw_disk_bus.
	Bus string `json:"bus,omitempty"`
	// Device is its name, "vdb"; empty is the first that is free. CDROM ones are
	// shown to the guest as drives.
	Device string `json:"device,omitempty"`
	CDROM  bool   `json:"cdrom,omitempty"`
	// ReadOnly volumes can't be written by the guest.
	ReadOnly bool `json:"read_only,omitempty"`
	// Shared says that other guests may have the volume too.
	Shared bool `json:"shared,omitempty"`
	// Ours says that the volume was made for the server, DeleteOnTermination that
	// it goes with it: both are only written down with the guest.
	Ours                bool `json:"ours,omitempty"`
	DeleteOnTermination bool `json:"delete_on_termination,omitempty"`
}
