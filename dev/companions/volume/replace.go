package volume

// What gives a volume other bytes under the same id: another volume's, after a
// server has copied them (os-migrate_volume_completion), or an image's
// (os-reimage).

import (
	"context"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// completeMigration puts the new volume in the place of the old one, which
// keeps its id and name. With an error told, the new one goes. Of volumes that aren't
// migrated only the attachments move.
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
	failed, _ := in.Error.(bool)
	switch {
	case d.v.MigrationStatus == nil && other.MigrationStatus == nil:
		if !failed {
			err = d.moveAttachments(ctx, other)
		}
		return map[string]any{"save_volume_id": other.ID}, err
	case d.v.MigrationStatus == nil:
		return nil, invalidVolume("Source volume not mid-migration.")
	case other.MigrationStatus == nil:
		return nil, invalidVolume("Destination volume not mid-migration.")
	case *other.MigrationStatus != target(d.v.ID):
		return nil, invalidVolume("Destination has migration_status %s, expected %s.", *other.MigrationStatus, target(d.v.ID))
	}
	saved := map[string]any{"save_volume_id": d.v.ID}
	if failed {
		return saved, endMigration(ctx, d.tx, d.v.ID, other.ID)
	}
	if err := d.takeOver(ctx, other); err != nil {
		return nil, err
	}
	if err := settle(ctx, d.tx, d.v.ID); err != nil {
		return nil, err
	}
	return saved, d.s.rename(d.v, other.ID)
}

// target is the migration_status of the volume that is to take a volume's place.
func target(id string) string { return "target:" + id }

// endMigration leaves a volume as it was, and has the one that was to take its place go.
func endMigration(ctx context.Context, tx pgx.Tx, id, other string) error {
	if _, err := tx.Exec(ctx, `UPDATE volume.volumes SET migration_status = 'error', updated_at = now() WHERE id = $1`, id); err != nil {
		return err
	}
	return setStatus(ctx, tx, other, statusDeleting)
}

// rename gives the file of a volume to the one whose place it takes. Who has it by its
// name, or starts from that again, finds it there all the same.
func (s *Service) rename(v *record, other string) error {
	if v.NameID != nil {
		if err := remove(s.file(*v.NameID)); err != nil {
			return err
		}
	}
	if err := os.Rename(s.file(other), s.file(v.ID)); err != nil {
		return err
	}
	return os.Symlink(s.file(v.ID), s.file(other))
}

// moveAttachments has those who use the volume use the other.
func (d *doing) moveAttachments(ctx context.Context, other *record) error {
	if _, err := d.tx.Exec(ctx, `UPDATE volume.attachments SET volume_id = $2 WHERE volume_id = $1`, d.v.ID, other.ID); err != nil {
		return err
	}
	if err := settle(ctx, d.tx, d.v.ID); err != nil {
		return err
	}
	return settle(ctx, d.tx, other.ID)
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
	if _, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET size = $2, type_id = $3, migration_status = 'success', name_id = $4 WHERE id = $1`,
		d.v.ID, other.Size, other.TypeID, other.ID); err != nil {
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
