package volume

// Qualities of service: kept for those who associate them with types. A file has
// none, so nothing follows from them.

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// qosSpecs is a row of volume.qos_specs.
type qosSpecs struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Consumer string            `json:"consumer"`
	Specs    map[string]string `json:"specs"`
}

// mayManageQoS refuses all but administrators.
func mayManageQoS(r *http.Request, caller *service.Caller, verb string) error {
	if err := inPath(r, caller); err != nil {
		return err
	}
	if !caller.Admin() {
		return forbidden("volume_extension:qos_specs_manage:" + verb)
	}
	return nil
}

func (s *Service) listQoS(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := mayManageQoS(r, caller, "get_all"); err != nil {
		return err
	}
	all, err := rows[qosSpecs](r.Context(), s.Pool, `SELECT * FROM volume.qos_specs ORDER BY name LIMIT $1`, longestPage)
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"qos_specs": append([]*qosSpecs{}, all...)})
}

func (s *Service) createQoS(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := mayManageQoS(r, caller, "create"); err != nil {
		return err
	}
	var body struct {
		Specs map[string]string `json:"qos_specs"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	made := &qosSpecs{ID: uuid.NewString(), Name: body.Specs["name"], Consumer: "back-end", Specs: body.Specs}
	if given, ok := body.Specs["consumer"]; ok {
		made.Consumer = given
	}
	delete(body.Specs, "name")
	delete(body.Specs, "consumer")
	if made.Name == "" || len(made.Name) > longestName {
		return service.Fail(http.StatusBadRequest, "Invalid input for field/attribute name. It has from 1 to %d characters.", longestName)
	}
	if err := checkMetadata(made.Specs); err != nil {
		return err
	}
	_, err := s.Pool.Exec(r.Context(), `INSERT INTO volume.qos_specs (id, name, consumer, specs) VALUES ($1, $2, $3, $4)`, made.ID, made.Name, made.Consumer, made.Specs)
	switch {
	case service.Violates(err, "qos_specs_name_key"):
		return service.Fail(http.StatusConflict, "QoS Specs %s already exists.", made.Name)
	case service.Violates(err, ""):
		return service.Fail(http.StatusBadRequest, "Invalid qos specs: Valid consumer of QoS specs are: ['front-end', 'back-end', 'both']")
	case err != nil:
		return err
	}
	return s.answerQoS(w, r, made)
}

func (s *Service) answerQoS(w http.ResponseWriter, r *http.Request, q *qosSpecs) error {
	return service.JSON(w, http.StatusOK, map[string]any{"qos_specs": q,
		"links": []any{map[string]any{"rel": "self", "href": service.BaseURL(r) + "/v3/qos-specs/" + q.ID}}})
}

// findQoS reads the one that the path names.
func findQoS(r *http.Request, q querier, lock string) (*qosSpecs, error) {
	found, err := rows[qosSpecs](r.Context(), q, `SELECT * FROM volume.qos_specs WHERE id::text = $1`+lock, r.PathValue("id"))
	if err == nil && len(found) == 0 {
		err = service.Fail(http.StatusNotFound, "No such QoS spec %s.", bounded(r.PathValue("id")))
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func (s *Service) showQoS(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := mayManageQoS(r, caller, "get"); err != nil {
		return err
	}
	q, err := findQoS(r, s.Pool, "")
	if err != nil {
		return err
	}
	return s.answerQoS(w, r, q)
}

// setSpecs and dropSpecs change keys as the body says.
func setSpecs(r *http.Request, q *qosSpecs) (answer any, err error) {
	var body struct {
		Specs map[string]string `json:"qos_specs"`
	}
	if err := service.Decode(r, &body); err != nil {
		return nil, err
	}
	for key, value := range body.Specs {
		if key == "consumer" {
			q.Consumer = value
			continue
		}
		q.Specs[key] = value
	}
	return body, checkMetadata(q.Specs)
}

func dropSpecs(r *http.Request, q *qosSpecs) (answer any, err error) {
	var body struct {
		Keys []string `json:"keys"`
	}
	if err := service.Decode(r, &body); err != nil {
		return nil, err
	}
	for _, key := range body.Keys {
		if _, ok := q.Specs[key]; !ok {
			return nil, service.Fail(http.StatusBadRequest, "QoS spec %s has no spec with key %s.", q.ID, bounded(key))
		}
		delete(q.Specs, key)
	}
	return nil, nil
}

func (s *Service) changeQoS(change func(*http.Request, *qosSpecs) (any, error)) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if err := mayManageQoS(r, caller, "update"); err != nil {
			return err
		}
		var answer any
		err := pgx.BeginFunc(r.Context(), s.Pool, func(tx pgx.Tx) error {
			q, err := findQoS(r, tx, " FOR UPDATE")
			if err != nil {
				return err
			}
			if answer, err = change(r, q); err != nil {
				return err
			}
			_, err = tx.Exec(r.Context(), `UPDATE volume.qos_specs SET consumer = $2, specs = $3 WHERE id = $1`, q.ID, q.Consumer, q.Specs)
			return err
		})
		switch {
		case service.Violates(err, ""):
			return service.Fail(http.StatusBadRequest, "Invalid qos specs: Valid consumer of QoS specs are: ['front-end', 'back-end', 'both']")
		case err != nil:
			return err
		case answer == nil:
			w.WriteHeader(http.StatusAccepted)
			return nil
		}
		return service.JSON(w, http.StatusOK, answer)
	}
}

func (s *Service) deleteQoS(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := mayManageQoS(r, caller, "delete"); err != nil {
		return err
	}
	err := pgx.BeginFunc(r.Context(), s.Pool, func(tx pgx.Tx) error {
		q, err := findQoS(r, tx, " FOR UPDATE")
		if err != nil {
			return err
		}
		if truth(r.URL.Query().Get("force")) {
			if _, err := tx.Exec(r.Context(), `UPDATE volume.types SET qos_specs_id = NULL WHERE qos_specs_id = $1`, q.ID); err != nil {
				return err
			}
		}
		_, err = tx.Exec(r.Context(), `DELETE FROM volume.qos_specs WHERE id = $1`, q.ID)
		if service.Violates(err, "") {
			return service.Fail(http.StatusBadRequest, "Failed to disassociate qos specs: QoS Specs %s is still associated with entities.", q.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// associate gives a type the specs, or takes them from it. Cinder has it as a
// GET.
func (s *Service) associate(give bool) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if err := mayManageQoS(r, caller, "update"); err != nil {
			return err
		}
		q, err := findQoS(r, s.Pool, "")
		if err != nil {
			return err
		}
		wanted := r.URL.Query().Get("vol_type_id")
		if wanted == "" {
			return service.Fail(http.StatusBadRequest, "Volume Type id must not be None.")
		}
		tag, err := s.Pool.Exec(r.Context(), `UPDATE volume.types SET qos_specs_id = CASE WHEN $3 THEN $2::text::uuid END WHERE id::text = $1`, wanted, q.ID, give)
		if err == nil && tag.RowsAffected() == 0 {
			err = service.Fail(http.StatusNotFound, "Volume type %s could not be found.", bounded(wanted))
		}
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
}

func (s *Service) listAssociations(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := mayManageQoS(r, caller, "get"); err != nil {
		return err
	}
	q, err := findQoS(r, s.Pool, "")
	if err != nil {
		return err
	}
	all, err := rows[volumeType](r.Context(), s.Pool, `SELECT * FROM volume.types WHERE qos_specs_id = $1 ORDER BY name`, q.ID)
	if err != nil {
		return err
	}
	list := []any{}
	for _, t := range all {
		list = append(list, map[string]any{"association_type": "volume_type", "id": t.ID, "name": t.Name})
	}
	return service.JSON(w, http.StatusOK, map[string]any{"qos_associations": list})
}
