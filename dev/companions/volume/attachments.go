package volume

// Attachments: reserve, connect, complete, delete (microversions 3.27 and 3.44).

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// driverType tells a host that the volume is a file of the same machine.
const driverType = "local"

// connection is the data of a connection_info.
func (s *Service) connection(v *record, mode string) map[string]any {
	access := "rw"
	if v.Readonly || mode == "ro" {
		access = "ro"
	}
	return map[string]any{"device_path": s.file(v.ID), "format": "raw", "access_mode": access, "volume_id": v.ID,
		"qos_specs": nil, "encrypted": false, "discard": true}
}

// since refuses requests below the microversion that brought attachments.
func since(r *http.Request, minor int) error {
	if minorOf(r) < minor {
		return service.Fail(http.StatusNotFound, "The resource could not be found.")
	}
	return nil
}

const (
	attachmentsFrom = 27
	completeFrom    = 44
)

var attachmentFilters = map[string]string{
	"instance_id": "v.instance", "instance_uuid": "v.instance", "volume_id": "v.volume_id", "status": "v.status", "attach_status": "v.status",
	"attachment_id": "v.id", "project_id": "v.project_id",
}

func (s *Service) listAttachments(detail bool) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if err := since(r, attachmentsFrom); err != nil {
			return err
		}
		page, err := list[attachment](r, s.Pool, caller, attachColumns, attachmentFilters)
		if err != nil {
			return err
		}
		views := []any{}
		for _, a := range page.items {
			view := attachmentView(a)
			if !detail {
				view = map[string]any{"id": a.ID, "status": a.Status, "instance": a.Instance, "volume_id": a.VolumeID}
			}
			views = append(views, view)
		}
		answer := map[string]any{"attachments": views}
		if page.more && len(page.items) > 0 {
			answer["attachments_links"] = nextLink(r, page.items[len(page.items)-1].ID)
		}
		return service.JSON(w, http.StatusOK, answer)
	}
}

func (s *Service) showAttachment(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := since(r, attachmentsFrom); err != nil {
		return err
	}
	a, err := findAttachment(r.Context(), s.Pool, caller, r.PathValue("id"), "")
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"attachment": attachmentView(a)})
}

func (s *Service) createAttachment(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := since(r, attachmentsFrom); err != nil {
		return err
	}
	if err := writing(r, caller, "volume:attachment_create"); err != nil {
		return err
	}
	var body struct {
		Attachment struct {
			Volume    string         `json:"volume_uuid"`
			Instance  *string        `json:"instance_uuid"`
			Connector map[string]any `json:"connector"`
			Mode      *string        `json:"mode"`
		} `json:"attachment"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	in := body.Attachment
	if in.Instance != nil {
		if _, err := uuid.Parse(*in.Instance); err != nil {
			return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute instance_uuid. '%s' is not a 'uuid'", bounded(*in.Instance))
		}
	}
	if in.Mode != nil && *in.Mode != "rw" && *in.Mode != "ro" {
		return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute mode. '%s' is not one of ['rw', 'ro']", bounded(*in.Mode))
	}
	var a *attachment
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		v, err := findVolume(r.Context(), tx, caller, in.Volume, held)
		if err != nil {
			return err
		}
		shareable := v.Multiattach && (v.Status == statusInUse || v.Status == statusReserved || v.Status == statusAttaching)
		// A server that has the volume may reserve it once more.
		again := in.Instance != nil
		if again {
			err := tx.QueryRow(r.Context(), `SELECT EXISTS (SELECT FROM volume.attachments WHERE volume_id = $1 AND instance = $2)`, v.ID, *in.Instance).Scan(&again)
			if err != nil {
				return err
			}
		}
		if v.Status != statusAvailable && !shareable && !again {
			return invalidVolume("Volume %s status must be available or downloading to reserve, but the current status is %s.", v.ID, v.Status)
		}
		id := uuid.NewString()
		_, err = tx.Exec(r.Context(), `INSERT INTO volume.attachments (id, volume_id, project_id, instance, mode, status) VALUES ($1, $2, $3, $4, $5, 'reserved')`,
			id, v.ID, v.ProjectID, in.Instance, in.Mode)
		if err != nil {
			return err
		}
		if in.Connector != nil {
			if err := s.connectRow(r, tx, v, id, in.Mode, in.Connector); err != nil {
				return err
			}
		}
		if err := settle(r.Context(), tx, v.ID); err != nil {
			return err
		}
		a, err = findAttachment(r.Context(), tx, caller, id, "")
		return err
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"attachment": attachmentView(a)})
}

// connectRow gives an attachment its host, and says how the volume is reached.
func (s *Service) connectRow(r *http.Request, tx pgx.Tx, v *record, id string, mode *string, connector map[string]any) error {
	access := ""
	if mode != nil {
		access = *mode
	}
	info := s.connection(v, access)
	info["driver_volume_type"], info["attachment_id"] = driverType, id
	_, err := tx.Exec(r.Context(), `UPDATE volume.attachments SET connector = $2, connection_info = $3, status = 'attaching',
		mode = coalesce(mode, 'rw'), host = $4, mountpoint = $5 WHERE id = $1`, id, connector, info, textIn(connector, "host"), textIn(connector, "mountpoint"))
	return err
}

func textIn(m map[string]any, key string) *string {
	if text, ok := m[key].(string); ok {
		return &text
	}
	return nil
}

// holding finds an attachment and its volume, the volume first, as every other
// change does.
func (s *Service) holding(r *http.Request, tx pgx.Tx, caller *service.Caller) (*record, *attachment, error) {
	seen, err := findAttachment(r.Context(), tx, caller, r.PathValue("id"), "")
	if err != nil {
		return nil, nil, err
	}
	v, err := findVolume(r.Context(), tx, caller, seen.VolumeID, held)
	if err != nil {
		return nil, nil, err
	}
	a, err := findAttachment(r.Context(), tx, caller, seen.ID, held)
	return v, a, err
}

func (s *Service) connectAttachment(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := since(r, attachmentsFrom); err != nil {
		return err
	}
	if err := writing(r, caller, "volume:attachment_update"); err != nil {
		return err
	}
	var body struct {
		Attachment struct {
			Connector map[string]any `json:"connector"`
		} `json:"attachment"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if len(body.Attachment.Connector) == 0 {
		return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute connector. It must be an object that says which host connects.")
	}
	var a *attachment
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		v, found, err := s.holding(r, tx, caller)
		if err != nil {
			return err
		}
		if found.Status == statusAttached {
			return service.Fail(http.StatusBadRequest, "Invalid attachment: the attachment %s is attached already.", found.ID)
		}
		if err := s.connectRow(r, tx, v, found.ID, found.Mode, body.Attachment.Connector); err != nil {
			return err
		}
		if err := settle(r.Context(), tx, v.ID); err != nil {
			return err
		}
		a, err = findAttachment(r.Context(), tx, caller, found.ID, "")
		return err
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"attachment": attachmentView(a)})
}

func (s *Service) completeAttachment(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := since(r, completeFrom); err != nil {
		return err
	}
	if err := writing(r, caller, "volume:attachment_complete"); err != nil {
		return err
	}
	var body map[string]json.RawMessage
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if _, ok := body["os-complete"]; !ok || len(body) != 1 {
		return service.Fail(http.StatusBadRequest, "There is no such action: the body must be {\"os-complete\": {}}.")
	}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		v, a, err := s.holding(r, tx, caller)
		if err != nil {
			return err
		}
		// One without a connector is a shelved server's.
		if _, err := tx.Exec(r.Context(), `UPDATE volume.attachments SET status = 'attached', attached_at = coalesce(attached_at, now()) WHERE id = $1`, a.ID); err != nil {
			return err
		}
		return settle(r.Context(), tx, v.ID)
	})
	if err != nil {
		return err
	}
	return service.NoContent(w)
}

// byService says whether a service has sent its own token with the request.
func (s *Service) byService(r *http.Request) (bool, error) {
	token := r.Header.Get("X-Service-Token")
	if token == "" {
		return false, nil
	}
	who, err := s.Auth.Authenticate(r.Context(), token)
	if err != nil {
		return false, err
	}
	return who.Has("service"), nil
}

// deleteAttachment lets only a service take away an attachment that a server
// may be using (Cinder 23 and on).
func (s *Service) deleteAttachment(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := since(r, attachmentsFrom); err != nil {
		return err
	}
	if err := writing(r, caller, "volume:attachment_delete"); err != nil {
		return err
	}
	byService, err := s.byService(r)
	if err != nil {
		return err
	}
	left := []any{}
	err = s.write(r.Context(), func(tx pgx.Tx) error {
		v, a, err := s.holding(r, tx, caller)
		if err != nil {
			return err
		}
		if a.Instance != nil && a.Connector != nil && !byService {
			return usedBy(*a.Instance)
		}
		if _, err := tx.Exec(r.Context(), `DELETE FROM volume.attachments WHERE id = $1`, a.ID); err != nil {
			return err
		}
		others, err := s.attached(r.Context(), tx, v)
		if err != nil {
			return err
		}
		for _, other := range others[v.ID] {
			left = append(left, map[string]any{"id": other.ID, "status": other.Status, "instance": other.Instance, "volume_id": other.VolumeID})
		}
		return settle(r.Context(), tx, v.ID)
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"attachments": left})
}
