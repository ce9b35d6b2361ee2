package records

// Volumes: what a host is told to attach.

import (
	"context"

	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// volumesOf is what a host has to know of a server's volumes, in the order of
// its request; how each is reached it asks over the host link.
func volumesOf(ctx context.Context, q store.Queryer, serverID string) ([]steps.Volume, error) {
	devices, err := compute.BlockDevices(ctx, q, serverID)
	if err != nil {
		return nil, err
	}
	var volumes []steps.Volume
	for _, d := range devices {
		if d.AttachmentID == "" {
			continue
		}
		volumes = append(volumes, steps.Volume{ID: d.VolumeID, AttachmentID: d.AttachmentID,
			Boot: d.BootIndex != nil && *d.BootIndex == 0, Bus: d.DiskBus,
			Ours: d.Ours, DeleteOnTermination: d.DeleteOnTermination})
	}
	return volumes, nil
}
