package identity

// Who has which role where, and who is in which group.

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"holdfast.dev/dev/companions/service"
)

// grantPlaces are the places of a grant: the path before /users or /groups, the
// column (the system has none), and the path's end, where the projects below
// the place inherit it.
var grantPlaces = []struct{ path, column, heirs string }{
	{"/v3/projects/{place}", "project_id", ""},
	{"/v3/domains/{place}", "domain_id", ""},
	{"/v3/system", "", ""},
	{"/v3/OS-INHERIT/domains/{place}", "domain_id", "/inherited_to_projects"},
}

func (s *Service) grantRoutes(rt *service.Router) {
	for _, place := range grantPlaces {
		for _, actor := range []struct{ path, column string }{{"/users/{actor}", "user_id"}, {"/groups/{actor}", "group_id"}} {
			g := grantsAt{s, place.column, actor.column, place.heirs != ""}
			base := place.path + actor.path + "/roles"
			one := base + "/{role}" + place.heirs
			rt.Handle("GET "+base+place.heirs, g.list)
			rt.Handle("PUT "+one, g.give)
			rt.Handle("GET "+one, g.check) // HEAD too
			rt.Handle("DELETE "+one, g.take)
		}
	}
}

// grantsAt are the grants of one kind of place to one kind of actor.
type grantsAt struct {
	s            *Service
	place, actor string // columns
	inherited    bool
}

// where is the condition of the request's grants, and its arguments.
func (g grantsAt) where(r *http.Request) (string, []any) {
	args := []any{r.PathValue("actor")}
	if g.place == "" {
		return g.actor + ` = $1 AND project_id IS NULL AND domain_id IS NULL`, args
	}
	return fmt.Sprintf(`%s = $1 AND %s = $2 AND inherited = %t`, g.actor, g.place, g.inherited), append(args, r.PathValue("place"))
}

func (g grantsAt) list(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(overseer, caller, "", "list_grants"); err != nil {
		return err
	}
	where, args := g.where(r)
	c := g.s.collection("roles")
	found, err := c.query(r.Context(), g.s.db, []string{`t.id IN (SELECT role_id FROM identity.grants WHERE ` + where + `)`}, args...)
	if err != nil {
		return err
	}
	return c.answerList(w, r, found)
}

func (g grantsAt) give(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(adminOnly, caller, "", "create_grant"); err != nil {
		return err
	}
	columns, values := g.actor+", role_id, inherited", []any{r.PathValue("actor"), r.PathValue("role"), g.inherited}
	if g.place != "" {
		columns, values = columns+", "+g.place, append(values, r.PathValue("place"))
	}
	places := make([]string, len(values))
	for i := range values {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	_, err := g.s.db.Exec(r.Context(), `INSERT INTO identity.grants (`+columns+`) VALUES (`+strings.Join(places, ", ")+`) ON CONFLICT DO NOTHING`, values...)
	if service.Violates(err, "") {
		return notFound("role, user, group or place", r.PathValue("role"))
	}
	if err != nil {
		return err
	}
	return service.NoContent(w)
}

func (g grantsAt) check(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(overseer, caller, "", "check_grant"); err != nil {
		return err
	}
	where, args := g.where(r)
	var held bool
	err := g.s.db.QueryRow(r.Context(), `SELECT EXISTS (SELECT FROM identity.grants WHERE `+where+fmt.Sprintf(` AND role_id = $%d)`, len(args)+1),
		append(args, r.PathValue("role"))...).Scan(&held)
	if err == nil && !held {
		err = notFound("role assignment with role", r.PathValue("role"))
	}
	if err != nil {
		return err
	}
	return service.NoContent(w)
}

func (g grantsAt) take(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(adminOnly, caller, "", "revoke_grant"); err != nil {
		return err
	}
	where, args := g.where(r)
	tag, err := g.s.db.Exec(r.Context(), `DELETE FROM identity.grants WHERE `+where+fmt.Sprintf(` AND role_id = $%d`, len(args)+1),
		append(args, r.PathValue("role"))...)
	if err == nil && tag.RowsAffected() == 0 {
		err = notFound("role assignment with role", r.PathValue("role"))
	}
	if err != nil {
		return err
	}
	return service.NoContent(w)
}

func (s *Service) assignmentRoutes(rt *service.Router) {
	rt.Handle("GET /v3/role_assignments", s.assignments)
}

// assignmentFilters are the query's names and the columns they choose by.
var assignmentFilters = map[string]string{
	"user.id": "g.user_id", "group.id": "g.group_id", "role.id": "g.role_id",
	"scope.project.id": "g.project_id", "scope.domain.id": "g.domain_id",
}

// assignments lists grants; ?effective shows those to groups as their members',
// and inherited ones where they are held.
func (s *Service) assignments(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	query := r.URL.Query()
	mine := query.Get("user.id") == caller.User.ID
	if err := enforce(func(c *service.Caller, _ string) bool { return mine || overseer(c, "") }, caller, "", "list_role_assignments"); err != nil {
		return err
	}
	from := "identity.grants"
	if query.Has("effective") {
		from = `(SELECT role_id, COALESCE(g.user_id, m.user_id) AS user_id, NULL::text AS group_id, project_id, domain_id, false AS inherited
			FROM identity.held g LEFT JOIN identity.group_members m ON m.group_id = g.group_id WHERE COALESCE(g.user_id, m.user_id) IS NOT NULL)`
	}
	where, args := []string{"true"}, []any{}
	for name, column := range assignmentFilters {
		if query.Has(name) {
			args = append(args, query.Get(name))
			where = append(where, fmt.Sprintf("%s = $%d", column, len(args)))
		}
	}
	if query.Has("scope.system") {
		where = append(where, "g.project_id IS NULL AND g.domain_id IS NULL")
	}
	rows, err := s.db.Query(r.Context(), `
SELECT r.id, r.name, COALESCE(u.id, ''), COALESCE(u.name, ''), COALESCE(ud.id, ''), COALESCE(ud.name, ''),
	COALESCE(gr.id, ''), COALESCE(gr.name, ''), COALESCE(p.id, ''), COALESCE(p.name, ''), COALESCE(pd.id, ''), COALESCE(pd.name, ''),
	COALESCE(d.id, ''), COALESCE(d.name, ''), g.inherited
FROM `+from+` g JOIN identity.roles r ON r.id = g.role_id
	LEFT JOIN identity.users u ON u.id = g.user_id LEFT JOIN identity.domains ud ON ud.id = u.domain_id
	LEFT JOIN identity.groups gr ON gr.id = g.group_id
	LEFT JOIN identity.projects p ON p.id = g.project_id LEFT JOIN identity.domains pd ON pd.id = p.domain_id
	LEFT JOIN identity.domains d ON d.id = g.domain_id
WHERE `+strings.Join(where, " AND ")+` ORDER BY 4, 8, 2 LIMIT `+fmt.Sprint(longestList), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names := query.Has("include_names")
	found := []document{}
	for rows.Next() {
		var role, user, userDomain, group, project, projectDomain, domain service.Ref
		var inherited bool
		err := rows.Scan(&role.ID, &role.Name, &user.ID, &user.Name, &userDomain.ID, &userDomain.Name, &group.ID, &group.Name,
			&project.ID, &project.Name, &projectDomain.ID, &projectDomain.Name, &domain.ID, &domain.Name, &inherited)
		if err != nil {
			return err
		}
		a := document{"role": refer(role, nil, names), "links": document{}}
		if user.ID != "" {
			a["user"] = refer(user, &userDomain, names)
		} else {
			a["group"] = refer(group, nil, names)
		}
		switch {
		case project.ID != "":
			a["scope"] = document{"project": refer(project, &projectDomain, names)}
		case domain.ID != "":
			scope := document{"domain": refer(domain, nil, names)}
			if inherited {
				scope["OS-INHERIT:inherited_to"] = "projects"
			}
			a["scope"] = scope
		default:
			a["scope"] = document{"system": document{"all": true}}
		}
		found = append(found, a)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, document{"role_assignments": found, "links": pageLinks(r)})
}

func refer(what service.Ref, domain *service.Ref, names bool) document {
	d := document{"id": what.ID}
	if names {
		d["name"] = what.Name
		if domain != nil {
			d["domain"] = *domain
		}
	}
	return d
}

func (s *Service) memberRoutes(rt *service.Router) {
	rt.Handle("GET /v3/users/{id}/projects", func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if err := enforce(overseerOrSelf, caller, r.PathValue("id"), "list_user_projects"); err != nil {
			return err
		}
		return s.projectsOf(w, r, r.PathValue("id"))
	})
	rt.Handle("POST /v3/users/{id}/password", s.changePassword)
	rt.Handle("GET /v3/users/{id}/groups", s.members("groups", `t.id IN (SELECT group_id FROM identity.group_members WHERE user_id = $1)`, overseerOrSelf))
	rt.Handle("GET /v3/groups/{id}/users", s.members("users", `t.id IN (SELECT user_id FROM identity.group_members WHERE group_id = $1)`, overseer))
	rt.Handle("PUT /v3/groups/{id}/users/{user}", s.membership(`INSERT INTO identity.group_members (group_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, false))
	rt.Handle("DELETE /v3/groups/{id}/users/{user}", s.membership(`DELETE FROM identity.group_members WHERE group_id = $1 AND user_id = $2`, true))
}

func (s *Service) members(path, where string, may rule) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if err := enforce(may, caller, r.PathValue("id"), "list_"+path); err != nil {
			return err
		}
		c := s.collection(path)
		found, err := c.query(r.Context(), s.db, []string{where}, r.PathValue("id"))
		if err != nil {
			return err
		}
		return c.answerList(w, r, found)
	}
}

func (s *Service) membership(statement string, must bool) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if err := enforce(adminOnly, caller, "", "change_group_members"); err != nil {
			return err
		}
		tag, err := s.db.Exec(r.Context(), statement, r.PathValue("id"), r.PathValue("user"))
		if service.Violates(err, "") || err == nil && must && tag.RowsAffected() == 0 {
			return notFound("user in group", r.PathValue("user"))
		}
		if err != nil {
			return err
		}
		return service.NoContent(w)
	}
}

// changePassword is a user's own; it ends the user's tokens.
func (s *Service) changePassword(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	id := r.PathValue("id")
	if err := enforce(selfOnly, caller, id, "change_password"); err != nil {
		return err
	}
	var in struct {
		User struct {
			Password string `json:"password"`
			Original string `json:"original_password"`
		} `json:"user"`
	}
	if err := service.Decode(r, &in); err != nil {
		return err
	}
	var hash *string
	if err := s.db.QueryRow(r.Context(), `SELECT password_hash FROM identity.users WHERE id = $1`, id).Scan(&hash); err != nil {
		return err
	}
	if err := check(r.Context(), hash, in.User.Original); err != nil {
		return err
	}
	young, err := hashPassword(r.Context(), in.User.Password)
	if err != nil {
		return err
	}
	return s.setPassword(r.Context(), w, id, young)
}

func (s *Service) setPassword(ctx context.Context, w http.ResponseWriter, id, hash string) error {
	_, err := s.db.Exec(ctx, `WITH gone AS (DELETE FROM identity.tokens WHERE user_id = $1)
		UPDATE identity.users SET password_hash = $2 WHERE id = $1`, id, hash)
	if err != nil {
		return err
	}
	return service.NoContent(w)
}
