package volume

// What gives a volume other bytes under the same id: another volume's, after a
// server has copied them (os-migrate_volume_completion), or an image's
// (os-reimage).

import (
	"context"
	"net/http"
	"os"

	"holdfast.dev/dev/companions/service"
)

// completeMigration puts the new volume in the place of the old one, which
// keeps its id and name. With an error told, the new one goes.
func completeMigration(ctx context.Context, d *doing) (any, error) {
	var in struct {
		New   *string `json:"new_volume"`
		Error any     `json:"error"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if in.New == nil {
		return nil, service.Fail(http.StatusBadRequest, "Must specify 'new_volume'.")
	}
	other, err := findVolume(ctx, d.tx, d.caller, *in.New, held)
	if err != nil {
		return nil, err
	}
	if other.ID == d.v.ID {
		return nil, invalidVolume("a volume can't take its own place.")
	}
	if failed, _ := in.Error.(bool); failed {
		return map[string]any{"save_volume_id": d.v.ID}, setStatus(ctx, d.tx, other.ID, statusDeleting)
	}
	if err := d.takeOver(ctx, other); err != nil {
		return nil, err
	}
	if err := settle(ctx, d.tx, d.v.ID); err != nil {
		return nil, err
	}
	// Who has the new file open keeps it under its new name.
	if err := os.Rename(d.s.file(other.ID), d.s.file(d.v.ID)); err != nil {
		return nil, err
	}
	return map[string]any{"save_volume_id": d.v.ID}, nil
}

// takeOver gives the volume the other's size, type and attachments, and removes
// the other's row.
func (d *doing) takeOver(ctx context.Context, other *record) error {
	if _, err := d.tx.Exec(ctx, `DELETE FROM volume.attachments WHERE volume_id = $1`, d.v.ID); err != nil {
		return err
	}
	// Their connections name the file, and with it the volume.
	_, err := d.tx.Exec(ctx, `UPDATE volume.attachments SET volume_id = $1::text::uuid, connection_info = replace(connection_info::text, $2::text, $1::text)::jsonb
		WHERE volume_id = $2::text::uuid`, d.v.ID, other.ID)
	if err != nil {
		return err
	}
	if _, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET size = $2, type_id = $3 WHERE id = $1`, d.v.ID, other.Size, other.TypeID); err != nil {
		return err
	}
	_, err = d.tx.Exec(ctx, `DELETE FROM volume.volumes WHERE id = $1`, other.ID)
	if service.Violates(err, "") {
		return invalidVolume("Volume %s has snapshots and can't take another's place.", other.ID)
	}
	return err
}

// reimage fills the volume anew from an image; a reserved one only if the
// request says so.
func reimage(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Image    *string `json:"image_id"`
		Reserved any     `json:"reimage_reserved"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if in.Image == nil {
		return nil, service.Fail(http.StatusBadRequest, "Invalid input for field/attribute os-reimage. 'image_id' is a required property")
	}
	reserved, _ := in.Reserved.(bool)
	if d.v.Status != statusAvailable && d.v.Status != statusError && !(reserved && d.v.Status == statusReserved) {
		return nil, invalidVolume("Volume %s may not be re-imaged while its status is %s.", d.v.ID, d.v.Status)
	}
	d.v.ImageID = in.Image
	if err := d.s.planImage(ctx, d.caller, d.v); err != nil {
		return nil, err
	}
	_, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET status = 'downloading', image_id = $2, image_metadata = $3, updated_at = now() WHERE id = $1`,
		d.v.ID, *in.Image, d.v.ImageMetadata)
	return nil, err
}
