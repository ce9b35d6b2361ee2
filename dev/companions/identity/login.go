package identity

// POST /v3/auth/tokens: who is it, and where does it want to work.

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// named is something by id, or by name within a domain.
type named struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"domain"`
}

// loginRequest is the body of a login.
type loginRequest struct {
	Auth struct {
		Identity struct {
			Methods  []string `json:"methods"`
			Password *struct {
				User struct {
					named
					Password string `json:"password"`
				} `json:"user"`
			} `json:"password"`
			Token *struct {
				ID string `json:"id"`
			} `json:"token"`
			ApplicationCredential *struct {
				ID     string `json:"id"`
				Name   string `json:"name"`
				User   *named `json:"user"`
				Secret string `json:"secret"`
			} `json:"application_credential"`
		} `json:"identity"`
		Scope any `json:"scope"` // an object, or "unscoped"
	} `json:"auth"`
}

func (s *Service) login(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
	var in loginRequest
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	t, err := s.identify(r.Context(), &in)
	if err != nil {
		return err
	}
	if err := s.scope(r.Context(), t, in.Auth.Scope); err != nil {
		return err
	}
	return s.answerToken(w, r, t)
}

// answerToken issues t, if it is worth anything, and shows it.
func (s *Service) answerToken(w http.ResponseWriter, r *http.Request, t *token) error {
	return s.answerTokenAs(w, r, t, http.StatusCreated)
}

func (s *Service) answerTokenAs(w http.ResponseWriter, r *http.Request, t *token, status int) error {
	v, err := s.resolve(r.Context(), t)
	if err != nil {
		return err
	}
	if v == nil {
		return service.Unauthorized()
	}
	body, err := s.body(r.Context(), v, !r.URL.Query().Has("nocatalog"))
	if err != nil {
		return err
	}
	text, err := s.issue(r.Context(), t)
	if err != nil {
		return err
	}
	w.Header().Set("X-Subject-Token", text)
	w.Header().Set("Vary", "X-Auth-Token")
	return service.JSON(w, status, body)
}

// fresh is a new token for the user, without scope yet.
func (s *Service) fresh(user string, methods ...string) *token {
	now := time.Now().UTC().Truncate(time.Microsecond)
	return &token{UserID: user, Methods: methods, AuditIDs: []string{randomText(16)}, IssuedAt: now, ExpiresAt: now.Add(s.lifetime)}
}

// identify checks every method named; they must agree on the user.
func (s *Service) identify(ctx context.Context, in *loginRequest) (*token, error) {
	identity := &in.Auth.Identity
	if len(identity.Methods) == 0 {
		return nil, service.Fail(http.StatusBadRequest, "'methods' is a required property of auth.identity")
	}
	var t *token
	for _, method := range slices.Compact(slices.Sorted(slices.Values(identity.Methods))) {
		var next *token
		var err error
		switch {
		case method == "password" && identity.Password != nil:
			next, err = s.byPassword(ctx, &identity.Password.User.named, identity.Password.User.Password)
		case method == "token" && identity.Token != nil:
			next, err = s.byToken(ctx, identity.Token.ID)
		case method == "application_credential" && identity.ApplicationCredential != nil:
			a := identity.ApplicationCredential
			next, err = s.byApplicationCredential(ctx, a.ID, a.Name, a.User, a.Secret)
		case method == "password", method == "token", method == "application_credential":
			return nil, service.Fail(http.StatusBadRequest, "'%s' is a required property of auth.identity", method)
		default:
			return nil, service.Fail(http.StatusUnauthorized, "Attempted to authenticate with an unsupported method.")
		}
		if err != nil {
			return nil, err
		}
		if t != nil && t.UserID != next.UserID {
			return nil, service.Unauthorized()
		}
		if t != nil {
			next.Methods = slices.Compact(slices.Sorted(slices.Values(append(next.Methods, t.Methods...))))
			next.ExpiresAt = earlier(next.ExpiresAt, t.ExpiresAt)
		}
		t = next
	}
	return t, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (s *Service) byPassword(ctx context.Context, user *named, password string) (*token, error) {
	id, err := s.lookUp(ctx, "users", user)
	if err != nil {
		return nil, err
	}
	var hash *string
	err = s.db.QueryRow(ctx, `SELECT password_hash FROM identity.users WHERE id = $1`, id).Scan(&hash)
	if err != nil && !service.Missing(err) {
		return nil, err
	}
	if err := check(ctx, hash, password); err != nil {
		return nil, err
	}
	return s.fresh(id, "password"), nil
}

// byToken continues an older token: no longer than it, and not out of what a
// trust or an application credential allows.
func (s *Service) byToken(ctx context.Context, text string) (*token, error) {
	v, err := s.worthOf(ctx, text)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, service.Unauthorized()
	}
	old := v.token
	if old.TrustID != nil {
		return nil, service.Fail(http.StatusForbidden, "A trust-scoped token can't be used to get another token.")
	}
	t := s.fresh(old.UserID, slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(old.Methods), "token"))))...)
	t.AuditIDs = append(t.AuditIDs, old.AuditIDs[len(old.AuditIDs)-1])
	t.ExpiresAt = old.ExpiresAt
	if old.ApplicationCredentialID != nil {
		t.ApplicationCredentialID, t.ProjectID = old.ApplicationCredentialID, old.ProjectID
	}
	return t, nil
}

// lookUp finds the id of a user or a project; "" if there is none.
func (s *Service) lookUp(ctx context.Context, table string, n *named) (string, error) {
	if n.ID != "" {
		return n.ID, nil
	}
	if n.Name == "" || n.Domain == nil || n.Domain.ID == "" && n.Domain.Name == "" {
		return "", service.Fail(http.StatusBadRequest, "A user or project is named by id, or by name and domain.")
	}
	var id string
	err := s.db.QueryRow(ctx, `
SELECT t.id FROM `+pgx.Identifier{"identity", table}.Sanitize()+` t JOIN identity.domains d ON d.id = t.domain_id
WHERE t.name = $1 AND (d.id = $2 OR $2 = '' AND d.name = $3)`, n.Name, n.Domain.ID, n.Domain.Name).Scan(&id)
	if service.Missing(err) {
		return "", nil
	}
	return id, err
}

// scopeRequest is auth.scope when it is an object.
type scopeRequest struct {
	Project *named          `json:"project"`
	Domain  *service.Ref    `json:"domain"`
	System  map[string]bool `json:"system"`
	Trust   *struct {
		ID string `json:"id"`
	} `json:"OS-TRUST:trust"`
	Unscoped document `json:"unscoped"`
}

// scope sets where the token is to be worth something. Without a wish it is
// the user's default project, if the user has a role there.
func (s *Service) scope(ctx context.Context, t *token, wish any) error {
	if wish == "unscoped" {
		return nil
	}
	var want scopeRequest
	if wish != nil {
		if err := convert(wish, &want); err != nil {
			return service.Fail(http.StatusBadRequest, "Invalid input for field 'scope'.")
		}
	}
	if t.ApplicationCredentialID != nil {
		return s.scopeOfCredential(ctx, t, &want)
	}
	switch {
	case want.Project != nil:
		id, err := s.lookUp(ctx, "projects", want.Project)
		if err == nil && id == "" {
			err = service.Unauthorized()
		}
		t.ProjectID = &id
		return err
	case want.Domain != nil:
		var id string
		err := s.db.QueryRow(ctx, `SELECT id FROM identity.domains WHERE id = $1 OR $1 = '' AND name = $2`, want.Domain.ID, want.Domain.Name).Scan(&id)
		if service.Missing(err) {
			return service.Unauthorized()
		}
		t.DomainID = &id
		return err
	case want.System["all"]:
		t.System = true
		return nil
	case want.Trust != nil:
		return s.scopeOfTrust(ctx, t, want.Trust.ID)
	case want.Unscoped != nil:
		return nil
	}
	return s.scopeOfDefault(ctx, t)
}

func (s *Service) scopeOfDefault(ctx context.Context, t *token) error {
	var project *string
	err := s.db.QueryRow(ctx, `SELECT default_project_id FROM identity.users WHERE id = $1`, t.UserID).Scan(&project)
	if err != nil || project == nil {
		if service.Missing(err) {
			return service.Unauthorized()
		}
		return err
	}
	try := *t
	try.ProjectID = project
	v, err := s.resolve(ctx, &try)
	if err == nil && v != nil {
		t.ProjectID = project
	}
	return err
}
