package identity

// The catalog, and the places that a user may work in.

import (
	"context"
	"net/http"
	"strings"

	"holdfast.dev/dev/companions/service"
)

// catalog lists the enabled services with their enabled endpoints. Those whose
// address needs a project are left out where there is none.
func (s *Service) catalog(ctx context.Context, project string) ([]document, error) {
	rows, err := s.db.Query(ctx, `
SELECT s.id, s.type, s.name, e.id, e.interface, coalesce(e.region_id, ''), e.url
FROM identity.services s JOIN identity.endpoints e ON e.service_id = s.id
WHERE s.enabled AND e.enabled ORDER BY s.type, s.id, e.interface, e.id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	entries := []document{}
	for rows.Next() {
		var id, kind, name, endpoint, face, region, url string
		if err := rows.Scan(&id, &kind, &name, &endpoint, &face, &region, &url); err != nil {
			return nil, err
		}
		for _, place := range []string{"$(project_id)s", "%(project_id)s", "$(tenant_id)s", "%(tenant_id)s"} {
			if project != "" {
				url = strings.ReplaceAll(url, place, project)
			}
		}
		if strings.Contains(url, "(project_id)s") || strings.Contains(url, "(tenant_id)s") {
			continue
		}
		if len(entries) == 0 || entries[len(entries)-1]["id"] != id {
			entries = append(entries, document{"id": id, "type": kind, "name": name, "endpoints": []document{}})
		}
		entry := entries[len(entries)-1]
		entry["endpoints"] = append(entry["endpoints"].([]document), document{
			"id": endpoint, "interface": face, "region": region, "region_id": region, "url": url,
		})
	}
	return entries, rows.Err()
}

func (s *Service) showCatalog(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if caller.Project == nil && caller.Domain == nil && !caller.System {
		return service.Fail(http.StatusForbidden, "You are not authorized to perform the requested action: get_catalog.")
	}
	entries, err := s.catalog(r.Context(), caller.ProjectID())
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, document{"catalog": entries, "links": pageLinks(r)})
}

// granted is the condition that the user $1 has a role on g's place, by itself
// or by a group.
const granted = `(g.user_id = $1 OR g.group_id IN (SELECT group_id FROM identity.group_members WHERE user_id = $1))`

func (s *Service) scopeProjects(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	return s.projectsOf(w, r, caller.User.ID)
}

// projectsOf answers with the enabled projects that the user has a role on.
func (s *Service) projectsOf(w http.ResponseWriter, r *http.Request, user string) error {
	c := s.collection("projects")
	found, err := c.query(r.Context(), s.db, []string{
		`t.enabled AND t.id IN (SELECT g.project_id FROM identity.held g WHERE ` + granted + `)`}, user)
	if err != nil {
		return err
	}
	return c.answerList(w, r, found)
}

func (s *Service) scopeDomains(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	c := s.collection("domains")
	found, err := c.query(r.Context(), s.db, []string{
		`t.enabled AND t.id IN (SELECT g.domain_id FROM identity.held g WHERE ` + granted + `)`}, caller.User.ID)
	if err != nil {
		return err
	}
	return c.answerList(w, r, found)
}

func (s *Service) scopeSystem(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	roles, err := s.roles(r.Context(), s.db, caller.User.ID, nil, nil)
	if err != nil {
		return err
	}
	places := []document{}
	if len(roles) > 0 {
		places = append(places, document{"all": true})
	}
	return service.JSON(w, http.StatusOK, document{"system": places, "links": pageLinks(r)})
}
