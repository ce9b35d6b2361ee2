package identity

// What a user lends of its roles: application credentials to its programs,
// trusts to other users.

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

type applicationCredential struct {
	ID, UserID, ProjectID, Name string
	Description                 *string
	SecretHash                  string
	RoleIDs                     []string
	ExpiresAt                   *time.Time
	Unrestricted                bool
	AccessRules                 []accessRule
}

// accessRule is a request that its credential is for; others are refused by the
// services, so only they are told of such tokens.
type accessRule struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Method  string `json:"method"`
	Service string `json:"service"`
}

const credentialColumns = `id, user_id, project_id, name, description, secret_hash, role_ids, expires_at, unrestricted, access_rules`

// findApplicationCredential gives one that has not ended; nil if there is none.
func findApplicationCredential(ctx context.Context, q queryer, id string) (*applicationCredential, error) {
	rows, err := q.Query(ctx, `SELECT `+credentialColumns+` FROM identity.application_credentials
		WHERE id = $1 AND (expires_at IS NULL OR expires_at > now())`, id)
	return first[applicationCredential](rows, err)
}

// first gives the only row, or nil.
func first[T any](rows pgx.Rows, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[T])
	if service.Missing(err) {
		return nil, nil
	}
	return row, err
}

func (s *Service) byApplicationCredential(ctx context.Context, id, name string, user *named, secret string) (*token, error) {
	if id == "" {
		if user == nil || name == "" {
			return nil, service.Fail(http.StatusBadRequest, "An application credential is named by id, or by name and user.")
		}
		owner, err := s.lookUp(ctx, "users", user)
		if err != nil {
			return nil, err
		}
		err = s.db.QueryRow(ctx, `SELECT id FROM identity.application_credentials WHERE user_id = $1 AND name = $2`, owner, name).Scan(&id)
		if err != nil && !service.Missing(err) {
			return nil, err
		}
	}
	a, err := findApplicationCredential(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	var hash *string
	if a != nil {
		hash = &a.SecretHash
	}
	if err := check(ctx, hash, secret); err != nil {
		return nil, err
	}
	t := s.fresh(a.UserID, "application_credential")
	t.ApplicationCredentialID, t.ProjectID = &a.ID, &a.ProjectID
	if a.ExpiresAt != nil {
		t.ExpiresAt = earlier(t.ExpiresAt, *a.ExpiresAt)
	}
	return t, nil
}

// scopeOfCredential keeps such a token to the project of its credential.
func (s *Service) scopeOfCredential(ctx context.Context, t *token, want *scopeRequest) error {
	if want.Domain != nil || want.System != nil || want.Trust != nil {
		return service.Unauthorized()
	}
	if want.Project == nil {
		return nil
	}
	id, err := s.lookUp(ctx, "projects", want.Project)
	if err == nil && id != *t.ProjectID {
		err = service.Unauthorized()
	}
	return err
}

func (s *Service) applicationCredentialRoutes(rt *service.Router) {
	const path = "/v3/users/{user}/application_credentials"
	rt.Handle("GET "+path, s.listCredentials)
	rt.Handle("POST "+path, s.createCredential)
	rt.Handle("GET "+path+"/{id}", s.showCredential)
	rt.Handle("DELETE "+path+"/{id}", s.deleteCredential)
}

func (s *Service) createCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user := r.PathValue("user")
	if err := enforce(selfOnly, caller, user, "create_application_credential"); err != nil {
		return err
	}
	if err := s.unrestricted(r.Context(), caller, "create_application_credential"); err != nil {
		return err
	}
	if caller.Project == nil {
		return service.Fail(http.StatusBadRequest, "An application credential is made with a token of a project.")
	}
	var in struct {
		Credential struct {
			Name         string       `json:"name"`
			Description  *string      `json:"description"`
			Secret       string       `json:"secret"`
			ExpiresAt    *string      `json:"expires_at"`
			Unrestricted bool         `json:"unrestricted"`
			Roles        []named      `json:"roles"`
			AccessRules  []accessRule `json:"access_rules"`
		} `json:"application_credential"`
	}
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	asked := in.Credential
	if asked.Name == "" || len(asked.Name) > 255 {
		return service.Fail(http.StatusBadRequest, "Invalid input for field 'name': it has from 1 to 255 characters.")
	}
	for i := range asked.AccessRules {
		asked.AccessRules[i].ID = newID()
	}
	roles, err := s.lent(r.Context(), caller.Roles, asked.Roles)
	if err != nil {
		return err
	}
	expires, err := end(asked.ExpiresAt)
	if err != nil {
		return err
	}
	if asked.Secret == "" {
		asked.Secret = randomText(48)
	}
	hash, err := hashPassword(r.Context(), asked.Secret)
	if err != nil {
		return err
	}
	a := &applicationCredential{ID: newID(), UserID: user, ProjectID: caller.Project.ID, Name: asked.Name, Description: asked.Description,
		SecretHash: hash, RoleIDs: roles, ExpiresAt: expires, Unrestricted: asked.Unrestricted, AccessRules: asked.AccessRules}
	_, err = s.db.Exec(r.Context(), `INSERT INTO identity.application_credentials (`+credentialColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		a.ID, a.UserID, a.ProjectID, a.Name, a.Description, a.SecretHash, a.RoleIDs, a.ExpiresAt, a.Unrestricted, a.AccessRules)
	if service.Violates(err, "") {
		return service.Fail(http.StatusConflict, "Conflict occurred attempting to store application_credential - Duplicate entry found with name %s.", clip(a.Name))
	}
	if err != nil {
		return err
	}
	shown, err := s.credentialView(r.Context(), a)
	if err != nil {
		return err
	}
	shown["secret"] = asked.Secret
	return service.JSON(w, http.StatusCreated, document{"application_credential": shown})
}

// unrestricted refuses those who came by a restricted credential or by a trust:
// what is lent isn't lent on.
func (s *Service) unrestricted(ctx context.Context, caller *service.Caller, action string) error {
	v, err := s.worthOf(ctx, caller.Token)
	if err != nil {
		return err
	}
	if v == nil || v.trust != nil || v.credential != nil && !v.credential.Unrestricted {
		return enforce(func(*service.Caller, string) bool { return false }, caller, "", action)
	}
	return nil
}

// lent are the ids of the roles asked for, of those that are held; all of them
// if none is named. Errors: 404, one is not held.
func (s *Service) lent(ctx context.Context, held []service.Ref, asked []named) ([]string, error) {
	var ids []string
	for _, role := range asked {
		at := slices.IndexFunc(held, func(r service.Ref) bool { return r.ID == role.ID || role.ID == "" && r.Name == role.Name })
		if at < 0 {
			return nil, s.roleNotHeld(ctx, role)
		}
		ids = append(ids, held[at].ID)
	}
	if asked == nil {
		for _, role := range held {
			ids = append(ids, role.ID)
		}
	}
	return ids, nil
}

// roleNotHeld names the role by its id, as Keystone does.
func (s *Service) roleNotHeld(ctx context.Context, role named) error {
	id := role.ID
	if id == "" {
		err := s.db.QueryRow(ctx, `SELECT id FROM identity.roles WHERE name = $1`, role.Name).Scan(&id)
		if err != nil && !service.Missing(err) {
			return err
		}
	}
	if id == "" {
		id = role.Name
	}
	return notFound("role", id)
}

// end reads when something is to end; it lies ahead.
func end(text *string) (*time.Time, error) {
	if text == nil || *text == "" {
		return nil, nil
	}
	t, err := parseTime("expires_at", *text)
	if err == nil && !t.After(time.Now()) {
		err = service.Fail(http.StatusBadRequest, "Invalid input for field 'expires_at': it lies behind.")
	}
	return &t, err
}

func (s *Service) credentialView(ctx context.Context, a *applicationCredential) (document, error) {
	roles, err := s.rolesNamed(ctx, a.RoleIDs)
	return document{"id": a.ID, "name": a.Name, "description": a.Description, "project_id": a.ProjectID, "user_id": a.UserID,
		"roles": roles, "expires_at": endOf(a), "unrestricted": a.Unrestricted, "access_rules": a.AccessRules, "links": document{}}, err
}

// endOf is written without a zone, here alone.
func endOf(a *applicationCredential) any {
	if a.ExpiresAt == nil {
		return nil
	}
	return strings.TrimSuffix(timestamp(*a.ExpiresAt), "Z")
}

func (s *Service) rolesNamed(ctx context.Context, ids []string) ([]service.Ref, error) {
	rows, err := s.db.Query(ctx, `SELECT id, name FROM identity.roles WHERE id = ANY ($1) ORDER BY name`, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[service.Ref])
}

func (s *Service) listCredentials(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user := r.PathValue("user")
	if err := enforce(overseerOrSelf, caller, user, "list_application_credentials"); err != nil {
		return err
	}
	rows, err := s.db.Query(r.Context(), `SELECT `+credentialColumns+` FROM identity.application_credentials
		WHERE user_id = $1 AND ($2 = '' OR name = $2) ORDER BY name`, user, r.URL.Query().Get("name"))
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[applicationCredential])
	if err != nil {
		return err
	}
	shown := []document{}
	for _, a := range found {
		view, err := s.credentialView(r.Context(), a)
		if err != nil {
			return err
		}
		shown = append(shown, view)
	}
	return service.JSON(w, http.StatusOK, document{"application_credentials": shown, "links": pageLinks(r)})
}

func (s *Service) showCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user, id := r.PathValue("user"), r.PathValue("id")
	if err := enforce(overseerOrSelf, caller, user, "get_application_credential"); err != nil {
		return err
	}
	a, err := findApplicationCredential(r.Context(), s.db, id)
	if err == nil && (a == nil || a.UserID != user) {
		err = notFound("Application Credential", id)
	}
	if err != nil {
		return err
	}
	view, err := s.credentialView(r.Context(), a)
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, document{"application_credential": view})
}

func (s *Service) deleteCredential(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	user, id := r.PathValue("user"), r.PathValue("id")
	if err := enforce(adminOrSelf, caller, user, "delete_application_credential"); err != nil {
		return err
	}
	tag, err := s.db.Exec(r.Context(), `DELETE FROM identity.application_credentials WHERE id = $1 AND user_id = $2`, id, user)
	if err == nil && tag.RowsAffected() == 0 {
		err = notFound("Application Credential", id)
	}
	if err != nil {
		return err
	}
	return service.NoContent(w)
}
