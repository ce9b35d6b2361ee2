package compute

// /os-server-groups: servers that are to be near to or far from each other.

import (
	"encoding/json"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const groupRule = "os_compute_api:os-server-groups:"

func (a *API) serverGroupOperations() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/os-server-groups", Policy: groupRule + "index", Success: 200, Handler: a.listServerGroups},
		{Method: "POST", Path: "/os-server-groups", Policy: groupRule + "create", Success: 200, Handler: a.createServerGroup},
		{Method: "GET", Path: "/os-server-groups/{id}", Policy: groupRule + "show", Targeted: true, Success: 200, Handler: a.showServerGroup},
		{Method: "DELETE", Path: "/os-server-groups/{id}", Policy: groupRule + "delete", Targeted: true, Success: 204, Handler: a.deleteServerGroup},
	}
}

func (a *API) listServerGroups(r *rest.Request) (*rest.Response, error) {
	project := r.Identity.ProjectID
	if r.Query.Has("all_projects") && r.Identity.IsAdmin {
		if err := r.Enforce(groupRule+"index:all_projects", map[string]any{"project_id": project}); err != nil {
			return nil, err
		}
		project = ""
	}
	limit, err := pageSize(r.Query, a.MaxPageSize)
	if err != nil {
		return nil, err
	}
	offset, err := pageOffset(r.Query)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = a.MaxPageSize
	}
	page, err := compute.ListServerGroups(r.Context(), a.DB.Pool, project, offset, limit)
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(page))
	for i, g := range page {
		shown[i] = serverGroupView(r, g)
	}
	return rest.JSON(map[string]any{"server_groups": shown}), nil
}

// serverGroupRequest is the body; policies until 2.63, policy and rules from 2.64.
type serverGroupRequest struct {
	Name     string   `json:"name"`
	Policies []string `json:"policies"`
	Policy   string   `json:"policy"`
	Rules    struct {
		MaxServerPerHost json.RawMessage `json:"max_server_per_host"`
	} `json:"rules"`
}

func (a *API) createServerGroup(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[serverGroupRequest](r, "server_group")
	if err != nil {
		return nil, err
	}
	made := &compute.ServerGroup{ProjectID: r.Identity.ProjectID, UserID: r.Identity.UserID, Name: asked.Name, Policy: asked.Policy, Members: []string{}}
	if !r.Has(64) {
		made.Policy = asked.Policies[0]
	}
	if len(asked.Rules.MaxServerPerHost) > 0 {
		if made.Policy != string(scheduler.AntiAffinity) {
			return nil, faults.New(faults.Invalid, "InvalidRules", "Only anti-affinity policy supports rules.")
		}
		var most whole
		if err := json.Unmarshal(asked.Rules.MaxServerPerHost, &most); err != nil {
			return nil, faults.Wrap(err, faults.Invalid, "InvalidRules", "max_server_per_host is no whole number")
		}
		made.MaxServerPerHost = int(most)
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		limits, err := compute.UserLimits(r.Context(), tx, made.ProjectID, made.UserID)
		if err != nil {
			return err
		}
		return compute.CreateServerGroup(r.Context(), tx, made, limits["server_groups"])
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"server_group": serverGroupView(r, made)}), nil
}

// serverGroup finds the group of the path, for those whom the rule lets.
func (a *API) serverGroup(r *rest.Request, rule string) (*compute.ServerGroup, error) {
	g, err := compute.GetServerGroup(r.Context(), a.DB.Pool, r.Param("id"))
	if err != nil {
		return nil, err
	}
	return g, r.Enforce(groupRule+rule, map[string]any{"project_id": g.ProjectID})
}

func (a *API) showServerGroup(r *rest.Request) (*rest.Response, error) {
	g, err := a.serverGroup(r, "show")
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"server_group": serverGroupView(r, g)}), nil
}

func (a *API) deleteServerGroup(r *rest.Request) (*rest.Response, error) {
	g, err := a.serverGroup(r, "delete")
	if err != nil {
		return nil, err
	}
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error { return compute.DeleteServerGroup(r.Context(), tx, g.ID) })
}

func serverGroupView(r *rest.Request, g *compute.ServerGroup) map[string]any {
	shown := map[string]any{"id": g.ID, "name": g.Name, "members": g.Members}
	if r.Has(13) {
		shown["project_id"], shown["user_id"] = g.ProjectID, g.UserID
	}
	if !r.Has(64) {
		shown["policies"], shown["metadata"] = []string{g.Policy}, map[string]any{}
		return shown
	}
	rules := map[string]any{}
	if g.MaxServerPerHost > 0 {
		rules["max_server_per_host"] = g.MaxServerPerHost
	}
	shown["policy"], shown["rules"] = g.Policy, rules
	return shown
}
