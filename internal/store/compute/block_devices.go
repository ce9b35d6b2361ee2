package compute

// The block devices of servers: what was asked for, the volumes that were made
// of it, and their attachments.

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// BlockDevice is a row of a server's block device mapping (contracts:
// request-schemas.json, block_device_mapping_v2).
type BlockDevice struct {
	// ID is what clients call it (bdm_uuid); the database gives it.
	ID, ServerID string
	// Position orders a server's devices, from 0.
	Position int
	// SourceType is image, snapshot, volume or blank; DestinationType is local
	// or volume.
	SourceType, DestinationType string
	// SourceID is the image or snapshot that a volume is made of.
	SourceID string
	// VolumeID is the one that was asked for, or the one that was made.
	VolumeID string
	// Ours is a volume that is made for the server.
	Ours bool
	// VolumeSizeGB is in GiB, and in MiB of swap.
	VolumeSizeGB        int
	VolumeType          string
	BootIndex           *int
	DeviceName          string
	DeviceType, DiskBus string
	GuestFormat         string
	Tag                 string
	DeleteOnTermination bool
	// Multiattach says that servers may share the volume.
	Multiattach bool
	// AttachmentID is Cinder's; empty while the volume is not attached.
	AttachmentID string
	// Swap is the other volume while one takes the place of another.
	Swap Swap
}

// IsVolume says whether Cinder has the device.
func (d *BlockDevice) IsVolume() bool { return d.DestinationType == "volume" }

// IsSwap says whether the device is the server's swap, on its host.
func (d *BlockDevice) IsSwap() bool { return d.blankLocal() && d.GuestFormat == "swap" }

// IsEphemeral says whether the device is an empty disk on the server's host.
func (d *BlockDevice) IsEphemeral() bool { return d.blankLocal() && d.GuestFormat != "swap" }

func (d *BlockDevice) blankLocal() bool {
	return d.SourceType == "blank" && d.DestinationType == "local"
}

// Boots says whether the server boots from the device.
func (d *BlockDevice) Boots() bool { return d.BootIndex != nil && *d.BootIndex == 0 }

const blockDeviceColumns = `id::text, server_id::text, position, source_type, destination_type, source_id, volume_id, ours, volume_size_gb,
	volume_type, boot_index, device_name, device_type, disk_bus, guest_format, tag, delete_on_termination, multiattach, attachment_id,
	swap_volume_id, swap_attachment_id, swap_replaced`

func (d *BlockDevice) fields() []any {
	return []any{&d.ID, &d.ServerID, &d.Position, &d.SourceType, &d.DestinationType, &d.SourceID, &d.VolumeID, &d.Ours, &d.VolumeSizeGB,
		&d.VolumeType, &d.BootIndex, &d.DeviceName, &d.DeviceType, &d.DiskBus, &d.GuestFormat, &d.Tag, &d.DeleteOnTermination, &d.Multiattach, &d.AttachmentID,
		&d.Swap.VolumeID, &d.Swap.AttachmentID, &d.Swap.Replaced}
}

// InsertBlockDevices writes what a server's request asks for; Position is given
// by the order, and what is to be made of an image, a snapshot or nothing is ours.
func InsertBlockDevices(ctx context.Context, tx store.Tx, serverID string, devices []BlockDevice) error {
	for i, d := range devices {
		_, err := tx.Exec(ctx, `INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, source_id, volume_id,
				ours, volume_size_gb, volume_type, boot_index, device_name, device_type, disk_bus, guest_format, tag, delete_on_termination, attachment_id, multiattach)
			VALUES ($1, $2, $3, $4, $5, $6, $4 = 'volume' AND $3 <> 'volume', $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
			serverID, i, d.SourceType, d.DestinationType, d.SourceID, d.VolumeID, d.VolumeSizeGB, d.VolumeType, d.BootIndex,
			d.DeviceName, d.DeviceType, d.DiskBus, d.GuestFormat, d.Tag, d.DeleteOnTermination, d.AttachmentID, d.Multiattach)
		if err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

// BlockDevices gives the devices of one server, or of all servers of a page, by
// server and position.
func BlockDevices(ctx context.Context, q store.Queryer, serverIDs ...string) ([]*BlockDevice, error) {
	rows, err := q.Query(ctx, `SELECT `+blockDeviceColumns+` FROM compute.block_devices
		WHERE server_id = ANY ($1::uuid[]) ORDER BY server_id, position`, slices.DeleteFunc(slices.Clone(serverIDs), notUUID))
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, (*BlockDevice).fields)
}

// AddVolume writes a device that comes while the server is there, after its
// others. Errors: Conflict (code VolumeAttached), the server has the volume.
func AddVolume(ctx context.Context, tx store.Tx, d BlockDevice) error {
	_, err := tx.Exec(ctx, `INSERT INTO compute.block_devices (server_id, position, source_type, destination_type, volume_id,
			volume_size_gb, device_name, disk_bus, tag, delete_on_termination, multiattach)
		SELECT $1, COALESCE(max(position), -1) + 1, 'volume', 'volume', $2, $3, $4, $5, $6, $7, $8
		FROM compute.block_devices WHERE server_id = $1`,
		d.ServerID, d.VolumeID, d.VolumeSizeGB, d.DeviceName, d.DiskBus, d.Tag, d.DeleteOnTermination, d.Multiattach)
	if isUnique(err, "block_devices_one_volume") {
		return faults.Wrap(err, faults.Conflict, "VolumeAttached", "volume %s already attached", d.VolumeID)
	}
	return store.Translate(err)
}

// SetVolumeEnds writes whether a volume is deleted with its server.
func SetVolumeEnds(ctx context.Context, tx store.Tx, serverID, volumeID string, ends bool) error {
	_, err := tx.Exec(ctx, `UPDATE compute.block_devices SET delete_on_termination = $3 WHERE server_id = $1 AND volume_id = $2`, serverID, volumeID, ends)
	return store.Translate(err)
}

// ForgetVolume deletes the device of a volume that is the server's no more. The
// caller has checked the fence.
func ForgetVolume(ctx context.Context, tx store.Tx, serverID, volumeID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM compute.block_devices WHERE server_id = $1 AND volume_id = $2`, serverID, volumeID)
	return store.Translate(err)
}

// ServersOfVolume are the servers, not deleted ones, that have a device of the
// volume, or are about to.
func ServersOfVolume(ctx context.Context, q store.Queryer, volumeID string) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT s.id::text FROM compute.block_devices b JOIN compute.servers s ON s.id = b.server_id
		WHERE (b.volume_id = $1 OR b.swap_volume_id = $1) AND s.deleted_at IS NULL ORDER BY s.created_at, s.id`, volumeID)
	if err != nil {
		return nil, store.Translate(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, store.Translate(err)
}

// SetVolume writes the volume and the attachment that a device has now. The
// caller has checked the fence.
func SetVolume(ctx context.Context, tx store.Tx, d *BlockDevice) error {
	_, err := tx.Exec(ctx, `UPDATE compute.block_devices SET volume_id = $3, attachment_id = $4 WHERE server_id = $1 AND position = $2`,
		d.ServerID, d.Position, d.VolumeID, d.AttachmentID)
	return store.Translate(err)
}

// Refill says what is noted of filling a volume anew.
type Refill struct {
	// Asked says that the operation has asked Cinder for it, Done that it is done.
	Asked, Done bool
}

// RefillFor gives what an operation has noted of a server's volume.
func RefillFor(ctx context.Context, tx store.Tx, serverID, volumeID, operationID string) (r Refill, err error) {
	err = tx.QueryRow(ctx, `SELECT refill_operation = $3, refill_operation = $3 AND refilled FROM compute.block_devices
		WHERE server_id = $1 AND volume_id = $2`, serverID, volumeID, operationID).Scan(&r.Asked, &r.Done)
	return r, store.Translate(err)
}

// NoteRefill writes that an operation has asked Cinder to fill a server's volume
// anew, and whether that is done. The caller has checked the fence.
func NoteRefill(ctx context.Context, tx store.Tx, serverID, volumeID, operationID string, done bool) error {
	_, err := tx.Exec(ctx, `UPDATE compute.block_devices SET refill_operation = $3, refilled = $4 WHERE server_id = $1 AND volume_id = $2`,
		serverID, volumeID, operationID, done)
	return store.Translate(err)
}

// ReleaseVolumes writes that nothing is attached any more and that the volumes
// of ours are gone, or not the server's. The caller has checked the fence.
func ReleaseVolumes(ctx context.Context, tx store.Tx, serverID string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.block_devices SET attachment_id = '', volume_id = CASE WHEN ours THEN '' ELSE volume_id END
		WHERE server_id = $1`, serverID)
	return store.Translate(err)
}

// AttachedVolume is what is shown of a server's volume.
type AttachedVolume struct {
	ID                  string
	DeleteOnTermination bool
}

// devicesColumn is a column of serverColumns: null for a server without.
const devicesColumn = `(SELECT jsonb_agg(jsonb_build_object('volume', b.volume_id, 'ends', b.delete_on_termination, 'attached', b.attachment_id <> '',
		'root', CASE WHEN b.boot_index = 0 THEN b.device_name ELSE '' END) ORDER BY b.position)
	FROM compute.block_devices b WHERE b.server_id = s.id)`

// readDevices reads that column.
func (s *Server) readDevices(text []byte) error {
	var devices []struct {
		Volume         string
		Ends, Attached bool
		Root           string
	}
	if err := json.Unmarshal(text, &devices); err != nil {
		return err
	}
	s.HasDevices = true
	for _, d := range devices {
		s.RootDevice += d.Root
		if d.Attached {
			s.Volumes = append(s.Volumes, AttachedVolume{d.Volume, d.Ends})
		}
	}
	return nil
}
