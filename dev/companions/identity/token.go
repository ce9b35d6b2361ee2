package identity

// Tokens: opaque random texts, kept as hashes with what they name.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// token is what a token names. Its worth, roles above all, is found anew at
// each use (resolve).
type token struct {
	UserID                  string
	ProjectID, DomainID     *string
	System                  bool
	ApplicationCredentialID *string
	TrustID                 *string
	Methods, AuditIDs       []string
	IssuedAt, ExpiresAt     time.Time
}

// scoped says whether the token is worth roles anywhere.
func (t *token) scoped() bool { return t.ProjectID != nil || t.DomainID != nil || t.System }

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

func hashToken(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// issue stores t and returns the text that stands for it.
func (s *Service) issue(ctx context.Context, t *token) (string, error) {
	text := randomText(48)
	_, err := s.db.Exec(ctx, `
INSERT INTO identity.tokens (hash, user_id, project_id, domain_id, system, application_credential_id, trust_id, methods, audit_ids, issued_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		hashToken(text), t.UserID, t.ProjectID, t.DomainID, t.System, t.ApplicationCredentialID, t.TrustID, t.Methods, t.AuditIDs, t.IssuedAt, t.ExpiresAt)
	if service.Violates(err, "") {
		return "", service.Unauthorized() // what it names has just been deleted
	}
	return text, err
}

// find reads the token that text stands for; nil if there is none that lives.
func (s *Service) find(ctx context.Context, text string) (*token, error) {
	rows, err := s.db.Query(ctx, `
SELECT user_id, project_id, domain_id, system, application_credential_id, trust_id, methods, audit_ids, issued_at, expires_at
FROM identity.tokens WHERE hash = $1 AND expires_at > now()`, hashToken(text))
	if err != nil {
		return nil, err
	}
	t, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[token])
	if service.Missing(err) {
		return nil, nil
	}
	return t, err
}

// worth is a token resolved: who it stands for, where, with which roles.
type worth struct {
	token      *token
	caller     *service.Caller
	credential *applicationCredential // logged in with
	trust      *trust                 // scoped by
}

// ruled says that the token is for some requests only, by access rules.
func (v *worth) ruled() bool { return v.credential != nil && len(v.credential.AccessRules) > 0 }

// resolve finds what t is worth now; nil if nothing, because a user, domain
// or project is disabled or gone, a credential or trust has ended, or no role
// is left.
func (s *Service) resolve(ctx context.Context, t *token) (*worth, error) {
	v := &worth{token: t, caller: &service.Caller{Roles: []service.Ref{}, System: t.System, Expires: t.ExpiresAt}}
	actor := t.UserID
	if t.TrustID != nil {
		var err error
		if v.trust, err = findTrust(ctx, s.db, *t.TrustID); err != nil || v.trust == nil {
			return nil, err
		}
		actor = v.trust.TrustorUserID
		if ok, err := s.userEnabled(ctx, v.trust.TrusteeUserID); err != nil || !ok {
			return nil, err
		}
	}
	if t.ApplicationCredentialID != nil {
		var err error
		v.credential, err = findApplicationCredential(ctx, s.db, *t.ApplicationCredentialID)
		if err != nil || v.credential == nil {
			return nil, err
		}
	}
	err := s.db.QueryRow(ctx, `
SELECT u.id, u.name, d.id, d.name FROM identity.users u JOIN identity.domains d ON d.id = u.domain_id
WHERE u.id = $1 AND u.enabled AND d.enabled`, t.UserID).
		Scan(&v.caller.User.ID, &v.caller.User.Name, &v.caller.User.Domain.ID, &v.caller.User.Domain.Name)
	if service.Missing(err) {
		return nil, nil
	}
	if err != nil || !t.scoped() {
		return v, err
	}
	if ok, err := s.place(ctx, v); err != nil || !ok {
		return nil, err
	}
	if ok, err := s.userEnabled(ctx, actor); err != nil || !ok {
		return nil, err
	}
	roles, err := s.roles(ctx, s.db, actor, t.ProjectID, t.DomainID)
	if err != nil {
		return nil, err
	}
	var limit []string
	if v.credential != nil {
		limit = v.credential.RoleIDs
	}
	if v.trust != nil {
		limit = v.trust.RoleIDs
	}
	if limit != nil {
		if v.trust != nil && !containsAll(roles, limit) {
			return nil, nil // the trustor has lost what was lent
		}
		allowed, err := s.implied(ctx, limit)
		if err != nil {
			return nil, err
		}
		roles = slices.DeleteFunc(roles, func(r service.Ref) bool { return !slices.Contains(allowed, r.ID) })
	}
	v.caller.Roles = roles
	if len(roles) == 0 {
		return nil, nil
	}
	return v, nil
}

func containsAll(roles []service.Ref, ids []string) bool {
	for _, id := range ids {
		if !slices.ContainsFunc(roles, func(r service.Ref) bool { return r.ID == id }) {
			return false
		}
	}
	return true
}

// place fills in the project or domain in scope; false if it is disabled or gone.
func (s *Service) place(ctx context.Context, v *worth) (bool, error) {
	var err error
	switch {
	case v.token.ProjectID != nil:
		p := &service.Scoped{}
		v.caller.Project = p
		err = s.db.QueryRow(ctx, `
SELECT p.id, p.name, d.id, d.name FROM identity.projects p JOIN identity.domains d ON d.id = p.domain_id
WHERE p.id = $1 AND p.enabled AND d.enabled`, *v.token.ProjectID).Scan(&p.ID, &p.Name, &p.Domain.ID, &p.Domain.Name)
	case v.token.DomainID != nil:
		d := &service.Ref{}
		v.caller.Domain = d
		err = s.db.QueryRow(ctx, `SELECT id, name FROM identity.domains WHERE id = $1 AND enabled`, *v.token.DomainID).Scan(&d.ID, &d.Name)
	}
	if service.Missing(err) {
		return false, nil
	}
	return err == nil, err
}

func (s *Service) userEnabled(ctx context.Context, id string) (bool, error) {
	var enabled bool
	err := s.db.QueryRow(ctx, `
SELECT EXISTS (SELECT FROM identity.users u JOIN identity.domains d ON d.id = u.domain_id WHERE u.id = $1 AND u.enabled AND d.enabled)`, id).Scan(&enabled)
	return enabled, err
}

// roles are those that the user has on the project, on the domain, or, with
// neither, on the system: granted to it or to its groups, inherited or not, and
// what they imply.
func (s *Service) roles(ctx context.Context, q queryer, user string, project, domain *string) ([]service.Ref, error) {
	rows, err := q.Query(ctx, `
WITH RECURSIVE worth AS (
    SELECT g.role_id FROM identity.held g
    WHERE (g.user_id = $1 OR g.group_id IN (SELECT group_id FROM identity.group_members WHERE user_id = $1))
      AND g.project_id IS NOT DISTINCT FROM $2 AND g.domain_id IS NOT DISTINCT FROM $3
    UNION
    SELECT i.implied_id FROM identity.implied_roles i JOIN worth h ON h.role_id = i.prior_id)
SELECT r.id, r.name FROM identity.roles r JOIN worth h ON h.role_id = r.id ORDER BY r.name`, user, project, domain)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[service.Ref])
}

// implied are the roles with these ids and all that they imply.
func (s *Service) implied(ctx context.Context, ids []string) ([]string, error) {
	rows, err := s.db.Query(ctx, `
WITH RECURSIVE held AS (
    SELECT unnest($1::text[]) AS role_id
    UNION
    SELECT i.implied_id FROM identity.implied_roles i JOIN held h ON h.role_id = i.prior_id)
SELECT role_id FROM held`, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Authenticate implements service.Authenticator for the service's own requests.
func (s *Service) Authenticate(ctx context.Context, text string) (*service.Caller, error) {
	v, err := s.worthOf(ctx, text)
	if err != nil {
		return nil, err
	}
	if v == nil || v.ruled() {
		return nil, service.Unauthorized() // no rule is for this service
	}
	v.caller.Token = text
	return v.caller, nil
}

// URL implements service.Authenticator.
func (s *Service) URL() string { return s.url }

// longestToken is far above those given out here.
const longestToken = 512

// worthOf finds and resolves the token that text stands for; nil if it is worth nothing.
func (s *Service) worthOf(ctx context.Context, text string) (*worth, error) {
	if text == "" || len(text) > longestToken {
		return nil, nil
	}
	t, err := s.find(ctx, text)
	if err != nil || t == nil {
		return nil, err
	}
	return s.resolve(ctx, t)
}

// body is the token as clients see it.
func (s *Service) body(ctx context.Context, v *worth, catalog bool) (document, error) {
	t, c := v.token, v.caller
	d := document{
		"methods": t.Methods, "audit_ids": t.AuditIDs, "issued_at": timestamp(t.IssuedAt), "expires_at": timestamp(t.ExpiresAt),
		"user": document{"id": c.User.ID, "name": c.User.Name, "domain": c.User.Domain, "password_expires_at": nil},
	}
	if t.scoped() {
		d["roles"] = c.Roles
		if catalog {
			entries, err := s.catalog(ctx, c.ProjectID())
			if err != nil {
				return nil, err
			}
			d["catalog"] = entries
		}
	}
	if c.Project != nil {
		d["project"], d["is_domain"] = c.Project, false
	}
	if c.Domain != nil {
		d["domain"] = c.Domain
	}
	if c.System {
		d["system"] = document{"all": true}
	}
	if a := v.credential; a != nil {
		shown := document{"id": a.ID, "name": a.Name, "restricted": !a.Unrestricted}
		if len(a.AccessRules) > 0 {
			shown["access_rules"] = a.AccessRules
		}
		d["application_credential"] = shown
	}
	if v.trust != nil {
		d["OS-TRUST:trust"] = document{"id": v.trust.ID, "impersonation": v.trust.Impersonation,
			"trustor_user": document{"id": v.trust.TrustorUserID}, "trustee_user": document{"id": v.trust.TrusteeUserID}}
	}
	return document{"token": d}, nil
}

func (s *Service) tokenRoutes(rt *service.Router) {
	rt.Public("POST /v3/auth/tokens", s.login)
	rt.Handle("GET /v3/auth/tokens", s.validate)
	rt.Handle("DELETE /v3/auth/tokens", s.revoke)
	rt.Handle("GET /v3/auth/catalog", s.showCatalog)
	rt.Handle("GET /v3/auth/projects", s.scopeProjects)
	rt.Handle("GET /v3/auth/domains", s.scopeDomains)
	rt.Handle("GET /v3/auth/system", s.scopeSystem)
}

// subject resolves the token that a request is about and checks that the
// caller may touch it: its own, or any as an administrator or a service.
func (s *Service) subject(r *http.Request, caller *service.Caller, action string) (string, *worth, error) {
	text := r.Header.Get("X-Subject-Token")
	v, err := s.worthOf(r.Context(), text)
	if err != nil {
		return "", nil, err
	}
	mine := v != nil && v.caller.User.ID == caller.User.ID
	if !mine && !overseer(caller, "") && !caller.Has("service") {
		return "", nil, enforce(func(*service.Caller, string) bool { return false }, caller, "", action)
	}
	if v == nil || v.ruled() && r.Header.Get("OpenStack-Identity-Access-Rules") == "" {
		return "", nil, service.Fail(http.StatusNotFound, "Failed to validate token")
	}
	return text, v, nil
}

func (s *Service) validate(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	text, v, err := s.subject(r, caller, "validate_token")
	if err != nil {
		return err
	}
	body, err := s.body(r.Context(), v, !r.URL.Query().Has("nocatalog"))
	if err != nil {
		return err
	}
	w.Header().Set("X-Subject-Token", text)
	w.Header().Set("Vary", "X-Auth-Token")
	return service.JSON(w, http.StatusOK, body)
}

func (s *Service) revoke(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	text, _, err := s.subject(r, caller, "revoke_token")
	if err != nil {
		return err
	}
	if _, err := s.db.Exec(r.Context(), `DELETE FROM identity.tokens WHERE hash = $1`, hashToken(text)); err != nil {
		return err
	}
	return service.NoContent(w)
}
