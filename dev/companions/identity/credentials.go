package identity

// Credentials of any type, as they are kept, and the limits that there are none of.

import (
	"net/http"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

type credential struct {
	ID        string  `json:"id"`
	UserID    string  `json:"user_id"`
	ProjectID *string `json:"project_id"`
	Type      string  `json:"type"`
	Blob      string  `json:"blob"`
}

func (s *Service) credentialRoutes(rt *service.Router) {
	rt.Handle("GET /v3/credentials", s.listAnyCredentials)
	rt.Handle("POST /v3/credentials", s.createAnyCredential)
	rt.Handle("GET /v3/credentials/{id}", s.showAnyCredential)
	rt.Handle("DELETE /v3/credentials/{id}", s.deleteAnyCredential)
}

func (s *Service) listAnyCredentials(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	owner := caller.User.ID
	if overseer(caller, "") {
		owner = r.URL.Query().Get("user_id")
	}
	rows, err := s.db.Query(r.Context(), `SELECT id, user_id, project_id, type, blob FROM identity.credentials
		WHERE ($1 = '' OR user_id = $1) AND ($2 = '' OR type = $2) ORDER BY id LIMIT $3`, owner, r.URL.Query().Get("type"), longestList)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[credential])
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, document{"credentials": append([]credential{}, found...), "links": pageLinks(r)})
}

func (s *Service) createAnyCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var in struct{ Credential credential }
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	c := in.Credential
	if c.UserID == "" {
		c.UserID = caller.User.ID
	}
	if err := enforce(adminOrSelf, caller, c.UserID, "create_credential"); err != nil {
		return err
	}
	if err := s.unrestricted(r.Context(), caller, "create_credential"); err != nil {
		return err
	}
	if c.Type == "" || c.Type == "ec2" || c.Blob == "" {
		return service.Fail(http.StatusBadRequest, "A credential has a type and a blob; EC2 keys are made at /users/{user_id}/credentials/OS-EC2.")
	}
	c.ID = newID()
	_, err := s.db.Exec(r.Context(), `INSERT INTO identity.credentials (id, user_id, project_id, type, blob) VALUES ($1, $2, $3, $4, $5)`,
		c.ID, c.UserID, c.ProjectID, c.Type, c.Blob)
	if service.Violates(err, "") {
		return notFound("user", c.UserID)
	}
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusCreated, document{"credential": c})
}

// anyCredential finds one that is the caller's, or any for an administrator.
func (s *Service) anyCredential(r *http.Request, caller *service.Caller) (*credential, error) {
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
	return service.JSON(w, http.StatusOK, document{"credential": c})
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
