package volume

// Snapshots.

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

var snapshotFilters = map[string]string{"name": "v.name", "display_name": "v.name", "status": "v.status", "volume_id": "v.volume_id", "project_id": "v.project_id"}

func (s *Service) listSnapshots(view func(*http.Request, *snapshot) map[string]any) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		page, err := list[snapshot](r, s.Pool, caller, snapColumns, snapshotFilters)
		if err != nil {
			return err
		}
		views := []any{}
		for _, one := range page.items {
			views = append(views, view(r, one))
		}
		answer := map[string]any{"snapshots": views}
		if page.more && len(page.items) > 0 {
			answer["snapshots_links"] = nextLink(r, page.items[len(page.items)-1].ID)
		}
		if minorOf(r) >= 45 && truth(r.URL.Query().Get("with_count")) {
			answer["count"] = page.count
		}
		return service.JSON(w, http.StatusOK, answer)
	}
}

func (s *Service) showSnapshot(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	one, err := findSnapshot(r.Context(), s.Pool, caller, r.PathValue("id"), "")
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"snapshot": snapshotDetail(r, one)})
}

func (s *Service) createSnapshot(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "volume:create_snapshot"); err != nil {
		return err
	}
	var body struct {
		Snapshot *struct {
			Volume      string            `json:"volume_id"`
			Name        *string           `json:"name"`
			Description *string           `json:"description"`
			Force       any               `json:"force"`
			Metadata    map[string]string `json:"metadata"`
		} `json:"snapshot"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	in := body.Snapshot
	if in == nil {
		return service.Fail(http.StatusBadRequest, "Missing required element 'snapshot' in request body.")
	}
	if err := checkMetadata(in.Metadata); err != nil {
		return err
	}
	if in.Metadata == nil {
		in.Metadata = map[string]string{}
	}
	// From 3.66 on, a volume in use needs no force.
	force := in.Force == true || in.Force == "True" || in.Force == "true" || minorOf(r) >= 66
	var one *snapshot
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		v, err := findVolume(r.Context(), tx, caller, in.Volume, held)
		if err != nil {
			return err
		}
		if v.Status != statusAvailable && !(force && v.Status == statusInUse) {
			return invalidVolume("Volume %s status must be available, but current status is: %s.", v.ID, v.Status)
		}
		if err := withinQuota(r.Context(), tx, v.ProjectID, 0, 1, v.Size); err != nil {
			return err
		}
		id := uuid.NewString()
		_, err = tx.Exec(r.Context(), `INSERT INTO volume.snapshots (id, volume_id, project_id, user_id, name, description, size, status, metadata)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 'creating', $8)`, id, v.ID, v.ProjectID, caller.User.ID, in.Name, in.Description, v.Size, in.Metadata)
		if err != nil {
			return err
		}
		one, err = findSnapshot(r.Context(), tx, caller, id, "")
		return err
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusAccepted, map[string]any{"snapshot": snapshotView(r, one)})
}

func (s *Service) changeSnapshot(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "volume:update_snapshot"); err != nil {
		return err
	}
	var body struct {
		Snapshot struct {
			Name        *string `json:"name"`
			Description *string `json:"description"`
		} `json:"snapshot"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	var one *snapshot
	err := s.write(r.Context(), func(tx pgx.Tx) (err error) {
		if one, err = findSnapshot(r.Context(), tx, caller, r.PathValue("id"), held); err != nil {
			return err
		}
		_, err = tx.Exec(r.Context(), `UPDATE volume.snapshots SET name = coalesce($2, name), description = coalesce($3, description), updated_at = now() WHERE id = $1`,
			one.ID, body.Snapshot.Name, body.Snapshot.Description)
		if err != nil {
			return err
		}
		one, err = findSnapshot(r.Context(), tx, caller, one.ID, "")
		return err
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"snapshot": snapshotView(r, one)})
}

func (s *Service) deleteSnapshot(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := writing(r, caller, "volume:delete_snapshot"); err != nil {
		return err
	}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		one, err := findSnapshot(r.Context(), tx, caller, r.PathValue("id"), held)
		if err != nil {
			return err
		}
		if one.Status != statusAvailable && one.Status != statusError && one.Status != "error_deleting" {
			return service.Fail(http.StatusBadRequest, "Invalid snapshot: Snapshot status must be available or error, but it is %s.", one.Status)
		}
		var inMaking int
		if err := tx.QueryRow(r.Context(), `SELECT count(*) FROM volume.volumes WHERE snapshot_id = $1 AND status = 'creating'`, one.ID).Scan(&inMaking); err != nil {
			return err
		}
		if inMaking > 0 {
			return service.Fail(http.StatusConflict, "Invalid snapshot: a volume is being made of it.")
		}
		_, err = tx.Exec(r.Context(), `UPDATE volume.snapshots SET status = 'deleting', updated_at = now() WHERE id = $1`, one.ID)
		return err
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
