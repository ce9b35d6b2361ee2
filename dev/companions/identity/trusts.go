package identity

// Trusts: a user lets another act in its place, in one project.

import (
	"context"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

type trust struct {
	ID, TrustorUserID, TrusteeUserID, ProjectID string
	Impersonation                               bool
	RoleIDs                                     []string
	ExpiresAt                                   *time.Time
	RemainingUses                               *int
}

const trustColumns = `id, trustor_user_id, trustee_user_id, project_id, impersonation, role_ids, expires_at, remaining_uses`

// findTrust gives one that has not ended; nil if there is none.
func findTrust(ctx context.Context, q queryer, id string) (*trust, error) {
	rows, err := q.Query(ctx, `SELECT `+trustColumns+` FROM identity.trusts WHERE id = $1 AND (expires_at IS NULL OR expires_at > now())`, id)
	return first[trust](rows, err)
}

// scopeOfTrust makes the token act as the trustor, for the trustee alone; one
// that is used up gives none.
func (s *Service) scopeOfTrust(ctx context.Context, t *token, id string) error {
	found, err := findTrust(ctx, s.db, id)
	if err != nil {
		return err
	}
	if found == nil {
		return service.Unauthorized()
	}
	if found.TrusteeUserID != t.UserID {
		return service.Fail(http.StatusForbidden, "You are not authorized to perform the requested action: the trust is another's.")
	}
	tag, err := s.db.Exec(ctx, `UPDATE identity.trusts SET remaining_uses = remaining_uses - 1
		WHERE id = $1 AND (remaining_uses IS NULL OR remaining_uses > 0)`, id)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return service.Fail(http.StatusForbidden, "There are no remaining uses for trust %s.", clip(id))
	}
	if found.Impersonation {
		t.UserID = found.TrustorUserID
	}
	t.TrustID, t.ProjectID = &found.ID, &found.ProjectID
	if found.ExpiresAt != nil {
		t.ExpiresAt = earlier(t.ExpiresAt, *found.ExpiresAt)
	}
	return nil
}

func (s *Service) trustRoutes(rt *service.Router) {
	rt.Handle("GET /v3/OS-TRUST/trusts", s.listTrusts)
	rt.Handle("POST /v3/OS-TRUST/trusts", s.createTrust)
	rt.Handle("GET /v3/OS-TRUST/trusts/{id}", s.showTrust)
	rt.Handle("DELETE /v3/OS-TRUST/trusts/{id}", s.deleteTrust)
}

func (s *Service) createTrust(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var in struct {
		Trust struct {
			Trustor       string  `json:"trustor_user_id"`
			Trustee       string  `json:"trustee_user_id"`
			Project       string  `json:"project_id"`
			Impersonation bool    `json:"impersonation"`
			Roles         []named `json:"roles"`
			ExpiresAt     *string `json:"expires_at"`
			RemainingUses *int    `json:"remaining_uses"`
		} `json:"trust"`
	}
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	asked := in.Trust
	if err := enforce(selfOnly, caller, asked.Trustor, "create_trust"); err != nil {
		return err
	}
	if err := s.unrestricted(r.Context(), caller, "create_trust"); err != nil {
		return err
	}
	if asked.RemainingUses != nil && *asked.RemainingUses < 1 {
		return service.Fail(http.StatusBadRequest, "Invalid input for field 'remaining_uses': it is at least 1.")
	}
	if asked.Roles == nil {
		asked.Roles = []named{}
	}
	held, err := s.roles(r.Context(), s.db, caller.User.ID, &asked.Project, nil)
	if err != nil {
		return err
	}
	ids, err := s.lent(r.Context(), held, asked.Roles)
	if err == nil && len(ids) == 0 {
		err = service.Fail(http.StatusForbidden, "At least one role should be specified.")
	}
	if err != nil {
		return err
	}
	expires, err := end(asked.ExpiresAt)
	if err != nil {
		return err
	}
	made := &trust{newID(), asked.Trustor, asked.Trustee, asked.Project, asked.Impersonation, ids, expires, asked.RemainingUses}
	_, err = s.db.Exec(r.Context(), `INSERT INTO identity.trusts (`+trustColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		made.ID, made.TrustorUserID, made.TrusteeUserID, made.ProjectID, made.Impersonation, made.RoleIDs, made.ExpiresAt, made.RemainingUses)
	if service.Violates(err, "") {
		return notFound("user", asked.Trustee)
	}
	if err != nil {
		return err
	}
	return s.answerTrust(w, r, http.StatusCreated, made)
}

func (s *Service) answerTrust(w http.ResponseWriter, r *http.Request, status int, t *trust) error {
	view, err := s.trustView(r.Context(), t)
	if err != nil {
		return err
	}
	return service.JSON(w, status, document{"trust": view})
}

func (s *Service) trustView(ctx context.Context, t *trust) (document, error) {
	roles, err := s.rolesNamed(ctx, t.RoleIDs)
	return document{"id": t.ID, "trustor_user_id": t.TrustorUserID, "trustee_user_id": t.TrusteeUserID, "project_id": t.ProjectID,
		"impersonation": t.Impersonation, "roles": roles, "expires_at": optionalTime(t.ExpiresAt), "remaining_uses": t.RemainingUses,
		"deleted_at": nil, "redelegation_count": 0, "links": document{}}, err
}

func (s *Service) listTrusts(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	trustor, trustee := r.URL.Query().Get("trustor_user_id"), r.URL.Query().Get("trustee_user_id")
	mine := func(c *service.Caller, _ string) bool {
		return overseer(c, "") || trustor == c.User.ID || trustee == c.User.ID
	}
	if err := enforce(mine, caller, "", "list_trusts"); err != nil {
		return err
	}
	rows, err := s.db.Query(r.Context(), `SELECT `+trustColumns+` FROM identity.trusts
		WHERE ($1 = '' OR trustor_user_id = $1) AND ($2 = '' OR trustee_user_id = $2) AND (expires_at IS NULL OR expires_at > now()) ORDER BY id LIMIT $3`, trustor, trustee, longestList)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[trust])
	if err != nil {
		return err
	}
	shown := []document{}
	for _, t := range found {
		view, err := s.trustView(r.Context(), t)
		if err != nil {
			return err
		}
		shown = append(shown, view)
	}
	return service.JSON(w, http.StatusOK, document{"trusts": shown, "links": pageLinks(r)})
}

// trustFor finds a trust that the caller may see; others' are not there.
func (s *Service) trustFor(ctx context.Context, caller *service.Caller, id string) (*trust, error) {
	t, err := findTrust(ctx, s.db, id)
	if err == nil && (t == nil || t.TrustorUserID != caller.User.ID && t.TrusteeUserID != caller.User.ID && !overseer(caller, "")) {
		err = notFound("trust", id)
	}
	return t, err
}

func (s *Service) showTrust(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	t, err := s.trustFor(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.answerTrust(w, r, http.StatusOK, t)
}

func (s *Service) deleteTrust(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	t, err := s.trustFor(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := enforce(adminOrSelf, caller, t.TrustorUserID, "delete_trust"); err != nil {
		return err
	}
	if _, err := s.db.Exec(r.Context(), `DELETE FROM identity.trusts WHERE id = $1`, t.ID); err != nil {
		return err
	}
	return service.NoContent(w)
}
