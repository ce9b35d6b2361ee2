package identity

// Credentials of any type, as they are kept, and the limits that there are none of.

import (
	"context"
	"net/http"
	"slices"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

type credential struct {
	ID        string  `json:"id"`
	UserID    string  `json:"user_id"`
	ProjectID *string `json:"project_id"`
	Type      string  `json:"type"`
	Blob      string  `json:"blob"`

	Links document `json:"links" db:"-"`
}

func (s *Service) credentialRoutes(rt *service.Router) {
	rt.Handle("GET /v3/credentials", s.listAnyCredentials)
	rt.Handle("POST /v3/credentials", s.createAnyCredential)
	rt.Handle("GET /v3/credentials/{id}", s.showAnyCredential)
	rt.Handle("PATCH /v3/credentials/{id}", s.changeAnyCredential)
	rt.Handle("DELETE /v3/credentials/{id}", s.deleteAnyCredential)
}

func (s *Service) listAnyCredentials(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	lent, err := s.delegated(r.Context(), caller)
	if err != nil {
		return err
	}
	owner := caller.User.ID
	if overseer(caller, "") {
		owner = r.URL.Query().Get("user_id")
	}
	rows, err := s.db.Query(r.Context(), `SELECT id, user_id, project_id, type, blob FROM identity.credentials
		WHERE ($1 = '' OR user_id = $1) AND ($2 = '' OR type = $2) AND NOT $3 ORDER BY id LIMIT $4`, owner, r.URL.Query().Get("type"), lent, longestList)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[credential])
	if err != nil {
		return err
	}
	for i := range found {
		found[i].Links = document{"self": service.BaseURL(r) + "/v3/credentials/" + found[i].ID}
	}
	return service.JSON(w, http.StatusOK, document{"credentials": append([]credential{}, found...), "links": pageLinks(r)})
}

func (s *Service) createAnyCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var in struct{ Credential credential }
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	c := in.Credential
	if err := enforce(adminOrSelf, caller, c.UserID, "create_credential"); err != nil {
		return err
	}
	if err := s.byItself(r.Context(), caller); err != nil {
		return err
	}
	for _, field := range []struct{ name, value string }{{"blob", c.Blob}, {"type", c.Type}, {"user_id", c.UserID}} {
		if field.value == "" {
			return service.Fail(http.StatusBadRequest, "'%s' is a required property", field.name)
		}
	}
	c.ID = newID()
	if c.Type == ec2Type {
		k, err := readKey(c.Blob)
		if err != nil {
			return err
		}
		if c.ProjectID == nil {
			return service.Fail(http.StatusBadRequest, "'project_id' is a required property")
		}
		c.ID = keyID(k.Access)
	}
	_, err := s.db.Exec(r.Context(), `INSERT INTO identity.credentials (id, user_id, project_id, type, blob) VALUES ($1, $2, $3, $4, $5)`,
		c.ID, c.UserID, c.ProjectID, c.Type, c.Blob)
	switch {
	case service.Violates(err, "credentials_pkey"):
		return service.Fail(http.StatusConflict, "Conflict occurred attempting to store credential - Duplicate entry found with ID %s.", c.ID)
	case service.Violates(err, ""):
		return notFound("user", c.UserID)
	case err != nil:
		return err
	}
	return answerCredential(w, r, http.StatusCreated, c)
}

func answerCredential(w http.ResponseWriter, r *http.Request, status int, c credential) error {
	c.Links = document{"self": service.BaseURL(r) + "/v3/credentials/" + c.ID}
	return service.JSON(w, status, document{"credential": c})
}

// changeAnyCredential takes another blob; the rest is fixed. A key keeps its
// access, which its id is made of.
func (s *Service) changeAnyCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	c, err := s.anyCredential(r, caller)
	if err != nil {
		return err
	}
	if err := enforce(adminOrSelf, caller, c.UserID, "update_credential"); err != nil {
		return err
	}
	var in struct {
		Credential struct {
			Blob *string `json:"blob"`
		} `json:"credential"`
	}
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	if in.Credential.Blob == nil {
		return service.Fail(http.StatusBadRequest, "'blob' is a required property")
	}
	if c.Type == ec2Type {
		k, err := readKey(*in.Credential.Blob)
		if err != nil {
			return err
		}
		if keyID(k.Access) != c.ID {
			return service.Fail(http.StatusBadRequest, "access can not be updated for credential")
		}
	}
	c.Blob = *in.Credential.Blob
	if _, err := s.db.Exec(r.Context(), `UPDATE identity.credentials SET blob = $2 WHERE id = $1`, c.ID, c.Blob); err != nil {
		return err
	}
	return answerCredential(w, r, http.StatusOK, *c)
}

// delegated says whether the caller's token was lent to it, by a trust, an
// application credential or a key.
func (s *Service) delegated(ctx context.Context, caller *service.Caller) (bool, error) {
	v, err := s.worthOf(ctx, caller.Token)
	return v == nil || v.trust != nil || v.credential != nil || slices.Contains(v.token.Methods, ec2Method), err
}

// byItself refuses delegates: they see and make no credentials at all.
func (s *Service) byItself(ctx context.Context, caller *service.Caller) error {
	lent, err := s.delegated(ctx, caller)
	if err == nil && lent {
		err = service.Fail(http.StatusForbidden, "You are not authorized to perform the requested action: Delegated tokens cannot access credentials directly.")
	}
	return err
}

// anyCredential finds one that is the caller's, or any for an administrator.
func (s *Service) anyCredential(r *http.Request, caller *service.Caller) (*credential, error) {
	if err := s.byItself(r.Context(), caller); err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	rows, err := s.db.Query(r.Context(), `SELECT id, user_id, project_id, type, blob FROM identity.credentials WHERE id = $1`, id)
	c, err := first[credential](rows, err)
	if err == nil && (c == nil || c.UserID != caller.User.ID && !overseer(caller, "")) {
		err = notFound("credential", id)
	}
	return c, err
}

func (s *Service) showAnyCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	c, err := s.anyCredential(r, caller)
	if err != nil {
		return err
	}
	return answerCredential(w, r, http.StatusOK, *c)
}

func (s *Service) deleteAnyCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	c, err := s.anyCredential(r, caller)
	if err != nil {
		return err
	}
	if err := enforce(adminOrSelf, caller, c.UserID, "delete_credential"); err != nil {
		return err
	}
	if _, err := s.db.Exec(r.Context(), `DELETE FROM identity.credentials WHERE id = $1`, c.ID); err != nil {
		return err
	}
	return service.NoContent(w)
}

// limitRoutes: there are no unified limits, and clients are told so.
func (s *Service) limitRoutes(rt *service.Router) {
	for _, name := range []string{"limits", "registered_limits"} {
		rt.Handle("GET /v3/"+name, func(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
			return service.JSON(w, http.StatusOK, document{name: []document{}, "links": pageLinks(r)})
		})
	}
	rt.Handle("GET /v3/limits/model", func(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
		return service.JSON(w, http.StatusOK, document{"model": document{"name": "flat", "description": "Limit enforcement and validation does not take project hierarchy into consideration."}})
	})
}
