package network

// How much of what a project may have.

import (
	"context"
	"net/http"

	"holdfast.dev/dev/companions/service"
)

// quotaDefaults are Neutron's defaults; -1 is without bound.
var quotaDefaults = map[string]int64{
	"network": 100, "subnet": 100, "port": 500, "router": 10, "floatingip": 50, "security_group": 10, "security_group_rule": 100,
}

func quotasOf(ctx context.Context, q querier, project string) (map[string]int64, error) {
	all := map[string]int64{}
	for resource, most := range quotaDefaults {
		all[resource] = most
	}
	rows, err := q.Query(ctx, `SELECT resource, max FROM network.quotas WHERE project_id = $1`, project)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var resource string
		var most int64
		if err := rows.Scan(&resource, &most); err != nil {
			return nil, err
		}
		all[resource] = most
	}
	return all, rows.Err()
}

// withinQuota refuses one more than allowed. A project's creates of a kind take
// turns, so that no two count the same.
func (c *change) withinQuota(ctx context.Context, k *kind, project string) error {
	if err := c.queue(ctx, k.name+" of "+project); err != nil {
		return err
	}
	all, err := quotasOf(ctx, c.tx, project)
	if err != nil {
		return err
	}
	has, err := count(ctx, c.tx, k, project)
	if err != nil {
		return err
	}
	if most := all[k.name]; most >= 0 && has >= most {
		return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", k.name)
	}
	return nil
}

// quotaProject is the project of the path, which only its members and
// administrators may ask about.
func quotaProject(r *http.Request, caller *service.Caller, rule string) (string, error) {
	project := r.PathValue("project")
	if !caller.Admin() && (project != caller.ProjectID() || rule != "get_quota") {
		return "", forbidden(rule)
	}
	return project, nil
}

func (s *Service) showQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if r.PathValue("project") == "tenant" || r.PathValue("project") == "project" {
		return service.JSON(w, http.StatusOK, map[string]any{r.PathValue("project"): map[string]any{r.PathValue("project") + "_id": caller.ProjectID()}})
	}
	project, err := quotaProject(r, caller, "get_quota")
	if err != nil {
		return err
	}
	all, err := quotasOf(r.Context(), s.Pool, project)
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"quota": all})
}

func (s *Service) defaultQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if _, err := quotaProject(r, caller, "get_quota"); err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"quota": quotaDefaults})
}

func (s *Service) quotaDetails(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	project, err := quotaProject(r, caller, "get_quota")
	if err != nil {
		return err
	}
	all, err := quotasOf(r.Context(), s.Pool, project)
	if err != nil {
		return err
	}
	details := map[string]any{}
	for _, k := range kinds {
		used, err := count(r.Context(), s.Pool, k, project)
		if err != nil {
			return err
		}
		details[k.name] = map[string]any{"limit": all[k.name], "used": used, "reserved": 0}
	}
	return service.JSON(w, http.StatusOK, map[string]any{"quota": details})
}

// listQuotas lists the projects whose quotas differ from the defaults.
func (s *Service) listQuotas(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if !caller.Admin() {
		return forbidden("get_quota")
	}
	rows, err := s.Pool.Query(r.Context(), `SELECT DISTINCT project_id FROM network.quotas ORDER BY project_id LIMIT $1`, longestPage)
	if err != nil {
		return err
	}
	defer rows.Close()
	projects := []string{}
	for rows.Next() {
		var project string
		if err := rows.Scan(&project); err != nil {
			return err
		}
		projects = append(projects, project)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	list := []any{}
	for _, project := range projects {
		all, err := quotasOf(r.Context(), s.Pool, project)
		if err != nil {
			return err
		}
		one := map[string]any{"project_id": project, "tenant_id": project}
		for resource, most := range all {
			one[resource] = most
		}
		list = append(list, one)
	}
	return service.JSON(w, http.StatusOK, map[string]any{"quotas": list})
}

func (s *Service) setQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	project, err := quotaProject(r, caller, "update_quota")
	if err != nil {
		return err
	}
	var body struct {
		Quota document `json:"quota"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	const most = 1<<31 - 1
	checked := map[string]int64{}
	for resource, value := range body.Quota {
		if _, known := quotaDefaults[resource]; !known {
			return service.Fail(http.StatusBadRequest, "Unrecognized attribute(s) '%s'", resource)
		}
		n, err := number(-1, most)(value)
		if err != nil {
			return invalid(resource, "%s", err.Error())
		}
		checked[resource] = int64(n.(float64))
	}
	err = s.write(r.Context(), caller, func(c *change) error {
		for resource, n := range checked {
			if _, err := c.tx.Exec(r.Context(), `INSERT INTO network.quotas (project_id, resource, max) VALUES ($1, $2, $3)
				ON CONFLICT (project_id, resource) DO UPDATE SET max = excluded.max`, project, resource, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.showQuota(w, r, caller)
}

func (s *Service) resetQuota(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	project, err := quotaProject(r, caller, "delete_quota")
	if err != nil {
		return err
	}
	err = s.write(r.Context(), caller, func(c *change) error {
		_, err := c.tx.Exec(r.Context(), `DELETE FROM network.quotas WHERE project_id = $1`, project)
		return err
	})
	if err != nil {
		return err
	}
	return service.NoContent(w)
}
