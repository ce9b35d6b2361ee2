package volume

// Volume types, and what little the service says of itself.

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// volumeType is a row of volume.types.
type volumeType struct {
	ID          string
	Name        string
	Description *string
	IsPublic    bool
	ExtraSpecs  map[string]string
	QosSpecsID  *string
}

const defaultType = "__DEFAULT__"

func typeView(t *volumeType) map[string]any {
	return map[string]any{"id": t.ID, "name": t.Name, "description": t.Description, "is_public": t.IsPublic,
		"os-volume-type-access:is_public": t.IsPublic, "extra_specs": t.ExtraSpecs, "qos_specs_id": t.QosSpecsID}
}

// volumeType finds a type by id or name; nil is the default one.
func (s *Service) volumeType(ctx context.Context, caller *service.Caller, name *string) (*volumeType, error) {
	wanted := defaultType
	if name != nil && *name != "" {
		wanted = *name
	}
	found, err := rows[volumeType](ctx, s.Pool, `SELECT * FROM volume.types WHERE (id::text = $1 OR name = $1) AND (is_public OR $2)`, wanted, caller.Admin())
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, service.Fail(http.StatusNotFound, "Volume type %s could not be found.", bounded(wanted))
	}
	return found[0], nil
}

func (s *Service) listTypes(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := inPath(r, caller); err != nil {
		return err
	}
	all, err := rows[volumeType](r.Context(), s.Pool, `SELECT * FROM volume.types WHERE is_public OR $1 ORDER BY name LIMIT $2`, caller.Admin(), longestPage)
	if err != nil {
		return err
	}
	views := []any{}
	for _, t := range all {
		views = append(views, typeView(t))
	}
	return service.JSON(w, http.StatusOK, map[string]any{"volume_types": views})
}

func (s *Service) showType(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	id := r.PathValue("id")
	if id == "default" {
		id = defaultType
	} else if _, err := uuid.Parse(id); err != nil {
		return service.Fail(http.StatusNotFound, "Volume type %s could not be found.", bounded(id))
	}
	t, err := s.volumeType(r.Context(), caller, &id)
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"volume_type": typeView(t)})
}

func (s *Service) createType(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if !caller.Admin() {
		return forbidden("volume_extension:type_create")
	}
	var body struct {
		Type struct {
			Name        string            `json:"name"`
			Description *string           `json:"description"`
			IsPublic    *bool             `json:"os-volume-type-access:is_public"`
			ExtraSpecs  map[string]string `json:"extra_specs"`
		} `json:"volume_type"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if body.Type.Name == "" || len(body.Type.Name) > longestName {
		return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute name. It must have 1 to %d characters.", longestName)
	}
	if err := checkMetadata(body.Type.ExtraSpecs); err != nil {
		return err
	}
	t := &volumeType{ID: uuid.NewString(), Name: body.Type.Name, Description: body.Type.Description, IsPublic: body.Type.IsPublic == nil || *body.Type.IsPublic,
		ExtraSpecs: body.Type.ExtraSpecs}
	if t.ExtraSpecs == nil {
		t.ExtraSpecs = map[string]string{}
	}
	err := s.write(r.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(r.Context(), `INSERT INTO volume.types (id, name, description, is_public, extra_specs) VALUES ($1, $2, $3, $4, $5)`,
			t.ID, t.Name, t.Description, t.IsPublic, t.ExtraSpecs)
		return err
	})
	if service.Violates(err, "types_name_key") {
		return service.Fail(http.StatusConflict, "Volume Type %s already exists.", t.Name)
	}
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"volume_type": typeView(t)})
}

func (s *Service) deleteType(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if !caller.Admin() {
		return forbidden("volume_extension:type_delete")
	}
	id := r.PathValue("id")
	t, err := s.volumeType(r.Context(), caller, &id)
	if err != nil {
		return err
	}
	if t.Name == defaultType {
		return service.Fail(http.StatusBadRequest, "Volume type %s is the default one and can't be deleted.", t.ID)
	}
	err = s.write(r.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(r.Context(), `DELETE FROM volume.types WHERE id = $1`, t.ID)
		return err
	})
	if service.Violates(err, "") {
		return service.Fail(http.StatusBadRequest, "Target volume type is still in use.")
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *Service) listZones(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
	return service.JSON(w, http.StatusOK, map[string]any{"availabilityZoneInfo": []any{
		map[string]any{"zoneName": zone, "zoneState": map[string]any{"available": true}}}})
}

func (s *Service) listServices(w http.ResponseWriter, _ *http.Request, caller *service.Caller) error {
	if !caller.Admin() {
		return forbidden("volume_extension:services:index")
	}
	return service.JSON(w, http.StatusOK, map[string]any{"services": []any{map[string]any{
		"binary": "cinder-volume", "host": hostName, "zone": zone, "status": "enabled", "state": "up", "updated_at": nil, "disabled_reason": nil}}})
}

func (s *Service) listExtensions(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
	return service.JSON(w, http.StatusOK, map[string]any{"extensions": []any{}})
}
