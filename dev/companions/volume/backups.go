package volume

// Backups: copies of volumes that outlive them.

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// backup is a row of volume.backups.
type backup struct {
	ID          string
	Number      int64
	VolumeID    string
	SnapshotID  *string
	ProjectID   string
	UserID      string
	Name        *string
	Description *string
	Container   *string
	Size        int
	Status      string
	RestoreTo   *string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

const (
	backupColumns = `SELECT v.* FROM volume.backups v WHERE `
	// statusRestoring is a backup's, statusRestoringBackup its volume's.
	statusRestoring       = "restoring"
	statusRestoringBackup = "restoring-backup"
)

func (s *Service) backupFile(id string) string { return filepath.Join(s.Dir, "backup-"+id) }

func backupView(r *http.Request, caller *service.Caller, b *backup) map[string]any {
	view := map[string]any{
		"id": b.ID, "name": b.Name, "description": b.Description, "volume_id": b.VolumeID, "snapshot_id": b.SnapshotID, "container": b.Container,
		"size": b.Size, "status": b.Status, "availability_zone": zone, "object_count": 0, "fail_reason": nil, "is_incremental": false, "has_dependent_backups": false,
		"data_timestamp": stamp(&b.CreatedAt), "created_at": stamp(&b.CreatedAt), "updated_at": stamp(&b.UpdatedAt), "links": selfLinks(r, caller, "backups", b.ID),
	}
	if minorOf(r) >= 18 && caller.Admin() {
		view["os-backup-project-attr:project_id"] = b.ProjectID
	}
	if minorOf(r) >= 43 {
		view["metadata"] = map[string]string{}
	}
	if minorOf(r) >= 56 {
		view["user_id"] = b.UserID
	}
	return view
}

var backupFilters = map[string]string{"name": "v.name", "status": "v.status", "volume_id": "v.volume_id", "project_id": "v.project_id"}

func (s *Service) listBackups(whole bool) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		found, err := list[backup](r, s.Pool, caller, backupColumns, backupFilters)
		if err != nil {
			return err
		}
		views := []any{}
		for _, b := range found.items {
			view := backupView(r, caller, b)
			if !whole {
				view = map[string]any{"id": b.ID, "name": b.Name, "links": view["links"]}
			}
			views = append(views, view)
		}
		answer := map[string]any{"backups": views}
		if found.more && len(found.items) > 0 {
			answer["backups_links"] = nextLink(r, found.items[len(found.items)-1].ID)
		}
		return service.JSON(w, http.StatusOK, answer)
	}
}

func findBackup(ctx context.Context, q querier, caller *service.Caller, id, lock string) (*backup, error) {
	return find[backup](ctx, q, caller, backupColumns, "Backup", id, lock)
}

func (s *Service) showBackup(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := inPath(r, caller); err != nil {
		return err
	}
	b, err := findBackup(r.Context(), s.Pool, caller, r.PathValue("id"), "")
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"backup": backupView(r, caller, b)})
}

func (s *Service) createBackup(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "backup:create"); err != nil {
		return err
	}
	var body struct {
		Backup *struct {
			Volume      string  `json:"volume_id"`
			Snapshot    *string `json:"snapshot_id"`
			Name        *string `json:"name"`
			Description *string `json:"description"`
			Container   *string `json:"container"`
			Incremental bool    `json:"incremental"`
			Force       bool    `json:"force"`
		} `json:"backup"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	in := body.Backup
	if in == nil || in.Volume == "" {
		return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute backup. 'volume_id' is a required property")
	}
	for name, text := range map[string]*string{"name": in.Name, "description": in.Description, "container": in.Container} {
		if text != nil && len(*text) > longestName {
			return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute %s. It is too long.", name)
		}
	}
	if in.Incremental {
		return service.Fail(http.StatusBadRequest, "Invalid backup: No backups available to do an incremental backup.")
	}
	b := &backup{ID: uuid.NewString(), ProjectID: caller.ProjectID(), UserID: caller.User.ID, Name: in.Name, Description: in.Description, Container: in.Container}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		v, err := findVolume(r.Context(), tx, caller, in.Volume, held)
		if err != nil {
			return err
		}
		if v.Status != statusAvailable && !(in.Force && v.Status == statusInUse) {
			return invalidVolume("Volume to be backed up must be available or in-use, but the current status is \"%s\".", v.Status)
		}
		if in.Snapshot != nil {
			snap, err := findSnapshot(r.Context(), tx, caller, *in.Snapshot, held)
			if err != nil {
				return err
			}
			if snap.Status != statusAvailable || snap.VolumeID != v.ID {
				return service.Fail(http.StatusBadRequest, "Invalid snapshot: Snapshot to be backed up must be available and of the volume.")
			}
			b.SnapshotID = &snap.ID
		}
		b.VolumeID, b.Size = v.ID, v.Size
		if err := backupsWithinQuota(r.Context(), tx, b.ProjectID, b.Size); err != nil {
			return err
		}
		_, err = tx.Exec(r.Context(), `INSERT INTO volume.backups (id, volume_id, snapshot_id, project_id, user_id, name, description, container, size, status)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'creating')`, b.ID, b.VolumeID, b.SnapshotID, b.ProjectID, b.UserID, b.Name, b.Description, b.Container, b.Size)
		return err
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusAccepted, map[string]any{"backup": map[string]any{"id": b.ID, "name": b.Name, "volume_id": b.VolumeID, "links": selfLinks(r, caller, "backups", b.ID)}})
}

// backupsWithinQuota refuses more than allowed; a project's changes take turns.
func backupsWithinQuota(ctx context.Context, tx pgx.Tx, project string, gigabytes int) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "volume/"+project); err != nil {
		return err
	}
	most, err := quotasOf(ctx, tx, project)
	if err != nil {
		return err
	}
	var number, size int64
	if err := tx.QueryRow(ctx, `SELECT count(*), coalesce(sum(size), 0) FROM volume.backups WHERE project_id = $1`, project).Scan(&number, &size); err != nil {
		return err
	}
	if most["backups"] >= 0 && number+1 > most["backups"] {
		return service.Fail(http.StatusRequestEntityTooLarge, "BackupLimitExceeded: Maximum number of backups allowed (%d) exceeded", most["backups"])
	}
	if most["backup_gigabytes"] >= 0 && size+int64(gigabytes) > most["backup_gigabytes"] {
		return service.Fail(http.StatusRequestEntityTooLarge, "VolumeBackupSizeExceedsAvailableQuota: Requested backup exceeds allowed Backup gigabytes quota. Requested %dG, quota is %dG and %dG has been consumed.", gigabytes, most["backup_gigabytes"], size)
	}
	return nil
}

func (s *Service) deleteBackup(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "backup:delete"); err != nil {
		return err
	}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		b, err := findBackup(r.Context(), tx, caller, r.PathValue("id"), held)
		if err != nil {
			return err
		}
		if b.Status != statusAvailable && b.Status != statusError {
			return service.Fail(http.StatusBadRequest, "Invalid backup: Backup status must be available or error")
		}
		_, err = tx.Exec(r.Context(), `UPDATE volume.backups SET status = 'deleting', updated_at = now() WHERE id = $1`, b.ID)
		return err
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// restoreBackup writes a backup to a volume that is there; without one named, to
// a new one.
func (s *Service) restoreBackup(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "backup:restore"); err != nil {
		return err
	}
	var body struct {
		Restore *struct {
			Volume *string `json:"volume_id"`
			Name   *string `json:"name"`
		} `json:"restore"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if body.Restore == nil {
		return service.Fail(http.StatusBadRequest, "Missing required element 'restore' in request body.")
	}
	var b *backup
	var target *record
	err := s.write(r.Context(), func(tx pgx.Tx) (err error) {
		if b, err = findBackup(r.Context(), tx, caller, r.PathValue("id"), held); err != nil {
			return err
		}
		if b.Status != statusAvailable {
			return service.Fail(http.StatusBadRequest, "Invalid backup: Backup status must be available")
		}
		if body.Restore.Volume == nil {
			return service.Fail(http.StatusBadRequest, "Invalid input received: name the volume to restore to.")
		}
		if target, err = findVolume(r.Context(), tx, caller, *body.Restore.Volume, held); err != nil {
			return err
		}
		if target.Status != statusAvailable {
			return invalidVolume("Volume to be restored to must be available")
		}
		if target.Size < b.Size {
			return invalidVolume("volume size %d is too small to restore backup of size %d.", target.Size, b.Size)
		}
		if err := setStatus(r.Context(), tx, target.ID, statusRestoringBackup); err != nil {
			return err
		}
		_, err = tx.Exec(r.Context(), `UPDATE volume.backups SET status = $3, restore_to = $2, updated_at = now() WHERE id = $1`, b.ID, target.ID, statusRestoring)
		return err
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusAccepted, map[string]any{"restore": map[string]any{"backup_id": b.ID, "volume_id": target.ID, "volume_name": target.Name}})
}

// workOnBackups does what their states say.
func (s *Service) workOnBackups(ctx context.Context) error {
	waiting, err := rows[backup](ctx, s.Pool, backupColumns+`v.status IN ('creating', 'deleting', 'restoring') ORDER BY v.number LIMIT 100`)
	if err != nil {
		return err
	}
	for _, b := range waiting {
		failed := s.workOnBackup(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.write(ctx, func(tx pgx.Tx) error { return s.finishBackup(ctx, tx, b, failed) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) workOnBackup(ctx context.Context, b *backup) error {
	file := s.backupFile(b.ID)
	switch b.Status {
	case statusDeleting:
		return remove(file)
	case statusRestoring:
		target := s.file(*b.RestoreTo)
		if err := copyFile(ctx, file, target+".part"); err != nil {
			return err
		}
		info, err := os.Stat(target)
		if err == nil {
			err = os.Truncate(target+".part", info.Size())
		}
		if err != nil {
			return err
		}
		return os.Rename(target+".part", target)
	}
	from := s.file(b.VolumeID)
	if b.SnapshotID != nil {
		from = s.snapshotFile(*b.SnapshotID)
	}
	if err := copyFile(ctx, from, file+".part"); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

// finishBackup writes down how the work went.
func (s *Service) finishBackup(ctx context.Context, tx pgx.Tx, b *backup, failed error) error {
	status := statusAvailable
	if failed != nil {
		s.Log.Error("work on a backup", "backup", b.ID, "status", b.Status, "error", failed)
		status = statusError
	}
	switch {
	case b.Status == statusDeleting && failed == nil:
		_, err := tx.Exec(ctx, `DELETE FROM volume.backups WHERE id = $1`, b.ID)
		return err
	case b.Status == statusRestoring:
		target := statusAvailable
		if failed != nil {
			target = "error_restoring"
		}
		status = statusAvailable // the backup itself is whole
		if err := setStatus(ctx, tx, *b.RestoreTo, target); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE volume.backups SET status = $2, restore_to = NULL, updated_at = now() WHERE id = $1`, b.ID, status)
	return err
}
