package volume

// Volumes: list, create, show, change, delete.

import (
	"context"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// Values of status.
const (
	statusCreating    = "creating"
	statusDownloading = "downloading"
	statusAvailable   = "available"
	statusReserved    = "reserved"
	statusAttaching   = "attaching"
	statusDetaching   = "detaching"
	statusInUse       = "in-use"
	statusExtending   = "extending"
	statusDeleting    = "deleting"
	statusError       = "error"
	statusAttached    = "attached" // of an attachment
)

const (
	zone     = "nova"
	hostName = "development@file#file"
	// largest bounds one volume, in GiB; files are sparse.
	largest     = 64 << 10
	longestName = 255
)

func invalidVolume(format string, args ...any) error {
	e := service.Fail(http.StatusBadRequest, format, args...)
	e.Message = "Invalid volume: " + e.Message
	return e
}

var volumeFilters = map[string]string{
	"name": "v.name", "display_name": "v.name", "status": "v.status", "size": "v.size", "bootable": "v.bootable", "availability_zone": "v.zone",
	"project_id": "v.project_id", "user_id": "v.user_id", "snapshot_id": "v.snapshot_id", "source_volid": "v.source_volid", "multiattach": "v.multiattach",
}

func (s *Service) attached(ctx context.Context, q querier, volumes ...*record) (map[string][]*attachment, error) {
	ids := make([]string, len(volumes))
	for i, v := range volumes {
		ids[i] = v.ID
	}
	found, err := rows[attachment](ctx, q, attachColumns+`v.volume_id::text = ANY($1) ORDER BY v.number`, ids)
	byVolume := map[string][]*attachment{}
	for _, a := range found {
		byVolume[a.VolumeID] = append(byVolume[a.VolumeID], a)
	}
	return byVolume, err
}

func (s *Service) listVolumes(detail bool) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		page, err := list[record](r, s.Pool, caller, volumeColumns, volumeFilters)
		if err != nil {
			return err
		}
		attached, err := s.attached(r.Context(), s.Pool, page.items...)
		if err != nil {
			return err
		}
		views := []any{}
		for _, v := range page.items {
			view := described(r, caller, v, attached[v.ID])
			if !detail {
				view = map[string]any{"id": v.ID, "name": v.Name, "links": view["links"]}
			}
			views = append(views, view)
		}
		answer := map[string]any{"volumes": views}
		if page.more && len(page.items) > 0 {
			answer["volumes_links"] = nextLink(r, page.items[len(page.items)-1].ID)
		}
		if minorOf(r) >= 45 && truth(r.URL.Query().Get("with_count")) {
			answer["count"] = page.count
		}
		return service.JSON(w, http.StatusOK, answer)
	}
}

func (s *Service) volumeSummary(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := inPath(r, caller); err != nil {
		return err
	}
	var number, size int64
	all := caller.Admin() && truth(r.URL.Query().Get("all_tenants"))
	err := s.Pool.QueryRow(r.Context(), `SELECT count(*), coalesce(sum(size), 0) FROM volume.volumes WHERE $1 OR project_id = $2`, all, caller.ProjectID()).Scan(&number, &size)
	if err != nil {
		return err
	}
	summary := map[string]any{"total_count": number, "total_size": size}
	if minorOf(r) >= 36 {
		summary["metadata"] = map[string]any{}
	}
	return service.JSON(w, http.StatusOK, map[string]any{"volume-summary": summary})
}

func (s *Service) showVolume(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := inPath(r, caller); err != nil {
		return err
	}
	v, err := findVolume(r.Context(), s.Pool, caller, r.PathValue("id"), "")
	if err != nil {
		return err
	}
	attached, err := s.attached(r.Context(), s.Pool, v)
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"volume": described(r, caller, v, attached[v.ID])})
}

// answerVolume is the answer to a change.
func (s *Service) answerVolume(w http.ResponseWriter, r *http.Request, caller *service.Caller, status int, v *record) error {
	attached, err := s.attached(r.Context(), s.Pool, v)
	if err != nil {
		return err
	}
	return service.JSON(w, status, map[string]any{"volume": shown(r, caller, v, attached[v.ID])})
}

func (s *Service) volumeEncryption(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if _, err := findVolume(r.Context(), s.Pool, caller, r.PathValue("id"), ""); err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"encryption_key_id": nil})
}

// request is what POST /volumes takes; what isn't here must be null.
type request struct {
	Name             *string           `json:"name"`
	DisplayName      *string           `json:"display_name"`
	Description      *string           `json:"description"`
	Size             any               `json:"size"`
	VolumeType       *string           `json:"volume_type"`
	AvailabilityZone *string           `json:"availability_zone"`
	ImageRef         *string           `json:"imageRef"`
	ImageID          *string           `json:"image_id"`
	SnapshotID       *string           `json:"snapshot_id"`
	SourceVolid      *string           `json:"source_volid"`
	Metadata         map[string]string `json:"metadata"`
	Multiattach      bool              `json:"multiattach"`
	BackupID         *string           `json:"backup_id"`
	ConsistencyGroup *string           `json:"consistencygroup_id"`
	GroupID          *string           `json:"group_id"`
}

func (s *Service) createVolume(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "volume:create"); err != nil {
		return err
	}
	var body struct {
		Volume *request `json:"volume"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	v, err := s.planned(r, caller, body.Volume)
	if err != nil {
		return err
	}
	err = s.write(r.Context(), func(tx pgx.Tx) error {
		if err := sources(r.Context(), tx, caller, v); err != nil {
			return err
		}
		if err := withinQuota(r.Context(), tx, caller.ProjectID(), 1, 0, v.Size); err != nil {
			return err
		}
		_, err := tx.Exec(r.Context(), `INSERT INTO volume.volumes (id, project_id, user_id, name, description, size, status, bootable, multiattach, type_id,
			zone, image_id, snapshot_id, source_volid, metadata, image_metadata) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
			v.ID, v.ProjectID, v.UserID, v.Name, v.Description, v.Size, v.Status, v.Bootable, v.Multiattach, v.TypeID, v.Zone, v.ImageID, v.SnapshotID, v.SourceVolid, v.Metadata, v.ImageMetadata)
		if err != nil {
			return err
		}
		v, err = findVolume(r.Context(), tx, caller, v.ID, "")
		return err
	})
	if err != nil {
		return err
	}
	return s.answerVolume(w, r, caller, http.StatusAccepted, v)
}

// planned checks a request for a volume as far as it needs no other row.
func (s *Service) planned(r *http.Request, caller *service.Caller, in *request) (*record, error) {
	if in == nil {
		return nil, service.Fail(http.StatusBadRequest, "Missing required element 'volume' in request body.")
	}
	if in.BackupID != nil || in.ConsistencyGroup != nil || in.GroupID != nil {
		return nil, service.Fail(http.StatusBadRequest, "Volumes of backups or in groups aren't offered.")
	}
	v := &record{ID: uuid.NewString(), ProjectID: caller.ProjectID(), UserID: caller.User.ID, Name: first(in.Name, in.DisplayName), Description: in.Description,
		Status: statusCreating, Multiattach: in.Multiattach, Zone: zone, ImageID: first(in.ImageRef, in.ImageID), SnapshotID: in.SnapshotID,
		SourceVolid: in.SourceVolid, Metadata: in.Metadata, ImageMetadata: map[string]string{}}
	for name, text := range map[string]*string{"name": v.Name, "description": v.Description} {
		if text != nil && len([]rune(*text)) > longestName {
			return nil, service.Fail(http.StatusBadRequest, "Invalid input for field/attribute %s. Value is too long, the maximum is %d.", name, longestName)
		}
	}
	given := 0
	for _, source := range []*string{v.ImageID, v.SnapshotID, v.SourceVolid} {
		if source != nil {
			given++
		}
	}
	if given > 1 {
		return nil, service.Fail(http.StatusBadRequest, "Invalid input received: Must specify only one of source volume, snapshot or image.")
	}
	if in.AvailabilityZone != nil && *in.AvailabilityZone != zone && *in.AvailabilityZone != "" {
		return nil, service.Fail(http.StatusBadRequest, "Invalid input received: Availability zone '%s' is invalid.", bounded(*in.AvailabilityZone))
	}
	if err := checkMetadata(in.Metadata); err != nil {
		return nil, err
	}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	size, err := sizeOf(in.Size, v.SnapshotID != nil || v.SourceVolid != nil)
	if err != nil {
		return nil, err
	}
	v.Size = size
	kind, err := s.volumeType(r.Context(), caller, in.VolumeType)
	if err != nil {
		return nil, err
	}
	v.Multiattach = v.Multiattach || kind.ExtraSpecs["multiattach"] == "<is> True"
	v.TypeID = kind.ID
	if v.ImageID != nil {
		return v, s.planImage(r.Context(), caller, v)
	}
	return v, nil
}

// sizeOf reads a size in GiB; 0 stands for that of the source.
func sizeOf(value any, hasSource bool) (int, error) {
	n := 0.0
	switch value := value.(type) {
	case nil:
		if hasSource {
			return 0, nil
		}
		return 0, service.Fail(http.StatusBadRequest, "Invalid input received: Volume size must be an integer and greater than 0 (got 'None').")
	case float64:
		n = value
	case string:
		parsed, err := strconv.Atoi(value)
		if err != nil {
			return 0, service.Fail(http.StatusBadRequest, "Invalid input received: Volume size '%s' must be an integer and greater than 0", bounded(value))
		}
		n = float64(parsed)
	}
	if n < 1 || n > largest || n != float64(int(n)) {
		return 0, service.Fail(http.StatusBadRequest, "Invalid input received: Volume size '%v' must be an integer between 1 and %d", value, largest)
	}
	return int(n), nil
}

// sources takes from a snapshot or another volume what the new one inherits.
// The row is held, so that it isn't deleted at the same moment.
func sources(ctx context.Context, tx pgx.Tx, caller *service.Caller, v *record) error {
	var size int
	var what, origin string
	switch {
	case v.SnapshotID != nil:
		snap, err := findSnapshot(ctx, tx, caller, *v.SnapshotID, "")
		if err != nil {
			return err
		}
		// A volume is held before its snapshots, as where it is deleted.
		if _, err := findVolume(ctx, tx, caller, snap.VolumeID, held); err != nil {
			return err
		}
		if snap, err = findSnapshot(ctx, tx, caller, snap.ID, held); err != nil {
			return err
		}
		if snap.Status != statusAvailable {
			return service.Fail(http.StatusBadRequest, "Invalid snapshot: Originating snapshot status must be one of 'available' values")
		}
		size, what, origin = snap.Size, "snapshot", snap.VolumeID
	case v.SourceVolid != nil:
		size, what, origin = 0, "source volume", *v.SourceVolid
	default:
		return nil
	}
	// The snapshot's volume may be another project's no more than the snapshot.
	source, err := findVolume(ctx, tx, caller, origin, held)
	if err != nil {
		return err
	}
	if v.SourceVolid != nil {
		if source.Status != statusAvailable && source.Status != statusInUse {
			return invalidVolume("Source volume %s must be available or in-use, but it is %s.", source.ID, source.Status)
		}
		size = source.Size
	}
	v.Bootable, v.ImageMetadata = source.Bootable, source.ImageMetadata
	if v.Size == 0 {
		v.Size = size
	}
	if v.Size < size {
		return service.Fail(http.StatusBadRequest, "Invalid input received: Volume size '%d'GB cannot be smaller than %s size %dGB.", v.Size, what, size)
	}
	return nil
}

func first(texts ...*string) *string {
	for _, text := range texts {
		if text != nil && *text != "" {
			return text
		}
	}
	return nil
}

func (s *Service) changeVolume(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "volume:update"); err != nil {
		return err
	}
	var body struct {
		Volume *struct {
			Name        *string           `json:"name"`
			Description *string           `json:"description"`
			Metadata    map[string]string `json:"metadata"`
		} `json:"volume"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if body.Volume == nil {
		return service.Fail(http.StatusBadRequest, "Missing required element 'volume' in request body.")
	}
	if err := checkMetadata(body.Volume.Metadata); err != nil {
		return err
	}
	var v *record
	err := s.write(r.Context(), func(tx pgx.Tx) (err error) {
		if v, err = findVolume(r.Context(), tx, caller, r.PathValue("id"), held); err != nil {
			return err
		}
		_, err = tx.Exec(r.Context(), `UPDATE volume.volumes SET name = coalesce($2, name), description = coalesce($3, description),
			metadata = coalesce($4, metadata), updated_at = now() WHERE id = $1`, v.ID, body.Volume.Name, body.Volume.Description, nullable(body.Volume.Metadata))
		if err != nil {
			return err
		}
		v, err = findVolume(r.Context(), tx, caller, v.ID, "")
		return err
	})
	if err != nil {
		return err
	}
	return s.answerVolume(w, r, caller, http.StatusOK, v)
}

func nullable(m map[string]string) any {
	if m == nil {
		return nil
	}
	return m
}

// deletable are the states that a volume may be deleted in.
var deletable = map[string]bool{statusAvailable: true, statusError: true, "error_deleting": true, "error_extending": true, "error_restoring": true, "error_managing": true}

func (s *Service) deleteVolume(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	query := r.URL.Query()
	return s.beginDelete(w, r, caller, truth(query.Get("cascade")), truth(query.Get("force")))
}

func (s *Service) beginDelete(w http.ResponseWriter, r *http.Request, caller *service.Caller, cascade, force bool) error {
	if err := writing(r, caller, "volume:delete"); err != nil {
		return err
	}
	if force && !caller.Admin() {
		return forbidden("volume:force_delete")
	}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		v, err := findVolume(r.Context(), tx, caller, r.PathValue("id"), held)
		if err != nil {
			return err
		}
		if v.Status == statusDeleting {
			return nil
		}
		if (!deletable[v.Status] || v.migrates()) && !force {
			return invalidVolume("Volume status must be available or error or error_restoring or error_extending or error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.")
		}
		var snapshots, copies int
		err = tx.QueryRow(r.Context(), `SELECT (SELECT count(*) FROM volume.snapshots WHERE volume_id = $1),
			(SELECT count(*) FROM volume.volumes WHERE source_volid = $1 AND status = 'creating')`, v.ID).Scan(&snapshots, &copies)
		if err != nil {
			return err
		}
		if copies > 0 {
			return invalidVolume("Volume %s is being copied.", v.ID)
		}
		if snapshots > 0 && !cascade {
			return invalidVolume("Volume status must be available or error or error_restoring or error_extending or error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.")
		}
		if _, err := tx.Exec(r.Context(), `UPDATE volume.snapshots SET status = 'deleting' WHERE volume_id = $1`, v.ID); err != nil {
			return err
		}
		return setStatus(r.Context(), tx, v.ID, statusDeleting)
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func setStatus(ctx context.Context, tx pgx.Tx, id, status string) error {
	_, err := tx.Exec(ctx, `UPDATE volume.volumes SET status = $2, updated_at = now() WHERE id = $1`, id, status)
	return err
}
