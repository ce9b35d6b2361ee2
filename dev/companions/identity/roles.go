package identity

// Which role implies which.

import (
	"net/http"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

func (s *Service) implicationRoutes(rt *service.Router) {
	const path = "/v3/roles/{prior}/implies"
	rt.Handle("GET /v3/role_inferences", s.listInferences)
	rt.Handle("GET "+path, s.listImplied)
	rt.Handle("GET "+path+"/{implied}", s.showImplied)
	rt.Handle("PUT "+path+"/{implied}", s.imply)
	rt.Handle("DELETE "+path+"/{implied}", s.unimply)
}

// implication is a rule: who has the prior role has the implied one.
type implication struct{ PriorID, PriorName, ImpliedID, ImpliedName string }

// implications are the rules of one prior role, or all if it is "".
func (s *Service) implications(r *http.Request, prior string) ([]implication, error) {
	rows, err := s.db.Query(r.Context(), `SELECT p.id, p.name, r.id, r.name FROM identity.implied_roles i
		JOIN identity.roles p ON p.id = i.prior_id JOIN identity.roles r ON r.id = i.implied_id
		WHERE ($1 = '' OR p.id = $1) ORDER BY p.name, r.name LIMIT $2`, prior, longestList)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[implication])
}

// roleLink is a role as the rules show it.
func roleLink(r *http.Request, id, name string) document {
	return document{"id": id, "name": name, "links": document{"self": service.BaseURL(r) + "/v3/roles/" + id}}
}

// inferences are the rules, one document a prior role.
func inferences(r *http.Request, rules []implication) []document {
	grouped := []document{}
	for _, rule := range rules {
		if len(grouped) == 0 || grouped[len(grouped)-1]["prior_role"].(document)["id"] != rule.PriorID {
			grouped = append(grouped, document{"prior_role": roleLink(r, rule.PriorID, rule.PriorName), "implies": []document{}})
		}
		last := grouped[len(grouped)-1]
		last["implies"] = append(last["implies"].([]document), roleLink(r, rule.ImpliedID, rule.ImpliedName))
	}
	return grouped
}

func (s *Service) listInferences(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(overseer, caller, "", "list_role_inference_rules"); err != nil {
		return err
	}
	rules, err := s.implications(r, "")
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, document{"role_inferences": inferences(r, rules)})
}

// roleName is the name of the role in the path's place.
func (s *Service) roleName(r *http.Request, place string) (string, error) {
	var name string
	err := s.db.QueryRow(r.Context(), `SELECT name FROM identity.roles WHERE id = $1`, r.PathValue(place)).Scan(&name)
	if service.Missing(err) {
		err = notFound("role", r.PathValue(place))
	}
	return name, err
}

func (s *Service) listImplied(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(overseer, caller, "", "list_implied_roles"); err != nil {
		return err
	}
	name, err := s.roleName(r, "prior")
	if err != nil {
		return err
	}
	prior := r.PathValue("prior")
	rules, err := s.implications(r, prior)
	if err != nil {
		return err
	}
	shown := document{"prior_role": roleLink(r, prior, name), "implies": []document{}}
	if len(rules) > 0 {
		shown = inferences(r, rules)[0]
	}
	return service.JSON(w, http.StatusOK, document{"role_inference": shown, "links": document{"self": service.BaseURL(r) + r.URL.Path}})
}

func (s *Service) showImplied(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(overseer, caller, "", "get_implied_role"); err != nil {
		return err
	}
	var held bool
	err := s.db.QueryRow(r.Context(), `SELECT EXISTS (SELECT FROM identity.implied_roles WHERE prior_id = $1 AND implied_id = $2)`,
		r.PathValue("prior"), r.PathValue("implied")).Scan(&held)
	if err == nil && !held {
		err = service.Fail(http.StatusNotFound, "%s does not imply %s.", clip(r.PathValue("prior")), clip(r.PathValue("implied")))
	}
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return service.NoContent(w)
	}
	return s.answerImplied(w, r, http.StatusOK)
}

func (s *Service) answerImplied(w http.ResponseWriter, r *http.Request, status int) error {
	prior, err := s.roleName(r, "prior")
	if err != nil {
		return err
	}
	implied, err := s.roleName(r, "implied")
	if err != nil {
		return err
	}
	return service.JSON(w, status, document{"links": document{"self": service.BaseURL(r) + r.URL.Path}, "role_inference": document{
		"prior_role": roleLink(r, r.PathValue("prior"), prior), "implies": roleLink(r, r.PathValue("implied"), implied)}})
}

func (s *Service) imply(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(adminOnly, caller, "", "create_implied_role"); err != nil {
		return err
	}
	implied, err := s.roleName(r, "implied")
	if err != nil {
		return err
	}
	if implied == "admin" {
		return service.Fail(http.StatusForbidden, "Role %s cannot be implied.", clip(r.PathValue("implied")))
	}
	_, err = s.db.Exec(r.Context(), `INSERT INTO identity.implied_roles (prior_id, implied_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		r.PathValue("prior"), r.PathValue("implied"))
	if service.Violates(err, "") {
		return notFound("role", r.PathValue("prior"))
	}
	if err != nil {
		return err
	}
	return s.answerImplied(w, r, http.StatusCreated)
}

func (s *Service) unimply(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if err := enforce(adminOnly, caller, "", "delete_implied_role"); err != nil {
		return err
	}
	tag, err := s.db.Exec(r.Context(), `DELETE FROM identity.implied_roles WHERE prior_id = $1 AND implied_id = $2`, r.PathValue("prior"), r.PathValue("implied"))
	if err == nil && tag.RowsAffected() == 0 {
		err = service.Fail(http.StatusNotFound, "%s does not imply %s.", clip(r.PathValue("prior")), clip(r.PathValue("implied")))
	}
	if err != nil {
		return err
	}
	return service.NoContent(w)
}
