package records

// Disks: what a host is told to make, and to attach.

import (
	"context"

	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// giveDisks writes all disks of a server to its spec, those on the host and the
// volumes that are attached, in the order of their names; how a volume is reached
// the host asks over the host link.
func giveDisks(ctx context.Context, q store.Queryer, s *compute.Server, spec *steps.ServerSpec) error {
	var devices []*compute.BlockDevice
	var err error
	if s.HasDevices {
		if devices, err = compute.BlockDevices(ctx, q, s.ID); err != nil {
			return err
		}
	}
	disks, err := compute.Disks(s, devices)
	if err != nil {
		return err
	}
	for _, d := range disks {
		switch {
		case d.Kind == "" && d.Device.Boots():
			// The image is the volume's source, if it is anything.
			spec.ImageID = ""
			fallthrough
		case d.Kind == "":
			if d.Device.AttachmentID != "" {
				spec.Volumes = append(spec.Volumes, volumeOf(d))
			}
			continue
		case d.Kind == steps.DiskEphemeral:
			spec.EphemeralGB += d.SizeMB >> 10
		case d.Kind == steps.DiskSwap:
			spec.SwapMB = d.SizeMB
		}
		spec.Disks = append(spec.Disks, steps.Disk{Kind: d.Kind, SizeMB: d.SizeMB, Device: d.Name, Bus: d.Bus, Format: d.Format})
	}
	return nil
}

func volumeOf(d compute.Disk) steps.Volume {
	return steps.Volume{ID: d.Device.VolumeID, AttachmentID: d.Device.AttachmentID, Boot: d.Device.Boots(),
		Bus: d.Bus, Device: d.Name, CDROM: d.CDROM, Ours: d.Device.Ours, DeleteOnTermination: d.Device.DeleteOnTermination, Shared: d.Device.Multiattach}
}
