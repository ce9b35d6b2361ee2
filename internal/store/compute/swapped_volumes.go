package compute

// Volumes that take the place of others, in the rows of the devices.

import (
	"context"

	"holdfast.dev/internal/store"
)

// Swap is the other volume of a device whose volume Cinder migrates: the one that is
// to take its place or, once that is done, what was in its place, until Cinder has let
// go of that. The device's volume keeps its id.
type Swap struct {
	// VolumeID is the new one's, which is gone in the end; empty without a swap.
	VolumeID string
	// AttachmentID is that of the new volume and, once it has replaced the old one, of
	// that.
	AttachmentID string
	// Replaced says that the device is the new volume.
	Replaced bool
}

// Pending says whether there is a swap.
func (s Swap) Pending() bool { return s.VolumeID != "" }

// SetSwap writes the other volume that a device has now. The caller has checked the
// fence, or holds the server's row.
func SetSwap(ctx context.Context, tx store.Tx, d *BlockDevice) error {
	_, err := tx.Exec(ctx, `UPDATE compute.block_devices SET swap_volume_id = $3, swap_attachment_id = $4
		WHERE server_id = $1 AND position = $2`, d.ServerID, d.Position, d.Swap.VolumeID, d.Swap.AttachmentID)
	return store.Translate(err)
}

// ReplaceVolume has the device that the new volume is for be that one. Done twice it
// is done once. The caller has checked the fence.
func ReplaceVolume(ctx context.Context, tx store.Tx, serverID, newVolumeID string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.block_devices SET swap_replaced = true,
			attachment_id = swap_attachment_id, swap_attachment_id = attachment_id
		WHERE server_id = $1 AND swap_volume_id = $2 AND NOT swap_replaced`, serverID, newVolumeID)
	return store.Translate(err)
}

// EndSwap ends the swap of a device, whose volume is called so from then on: what was
// read of it is what ends.
func EndSwap(ctx context.Context, tx store.Tx, d *BlockDevice, volumeID string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.block_devices SET volume_id = $5, swap_volume_id = '', swap_attachment_id = '', swap_replaced = false
		WHERE server_id = $1 AND position = $2 AND swap_volume_id = $3 AND swap_replaced = $4`, d.ServerID, d.Position, d.Swap.VolumeID, d.Swap.Replaced, volumeID)
	return store.Translate(err)
}
