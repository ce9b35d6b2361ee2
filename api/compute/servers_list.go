package compute

// GET /servers and GET /servers/detail

import (
	"iter"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/compute"
)

func (a *API) listServers(r *rest.Request) (*rest.Response, error) {
	return a.list(r, "servers", "index", summaries)
}

func (a *API) listServersDetail(r *rest.Request) (*rest.Response, error) {
	return a.list(r, "servers/detail", "detail", a.details)
}

// summaries are servers as shown in plain lists.
func summaries(r *rest.Request, page []*compute.Server) (iter.Seq[any], error) {
	return func(yield func(any) bool) {
		for _, s := range page {
			if !yield(map[string]any{"id": s.ID, "name": s.Name, "links": selfLinks(r, "servers", s.ID)}) {
				return
			}
		}
	}, nil
}

// details are servers as shown in detailed lists: their groups are left out.
func (a *API) details(r *rest.Request, page []*compute.Server) (iter.Seq[any], error) {
	views, err := a.views(r, page...)
	if err != nil {
		return nil, err
	}
	return func(yield func(any) bool) {
		for _, view := range views {
			shown := view.detail()
			delete(shown, "server_groups")
			if !yield(shown) {
				return
			}
		}
	}, nil
}

// list answers a page and, if it is full, where the next one is. rule is the
// operation's word in the names of policies.
func (a *API) list(r *rest.Request, path, rule string, show func(*rest.Request, []*compute.Server) (iter.Seq[any], error)) (*rest.Response, error) {
	filter, err := a.filter(r, rule)
	if err != nil {
		return nil, err
	}
	var page []*compute.Server
	if filter.possible {
		if page, err = compute.ListServers(r.Context(), a.DB.Pool, filter.ListFilter); err != nil {
			return nil, err
		}
	}
	items, err := show(r, page)
	if err != nil {
		return nil, err
	}
	body := rest.Collection{Name: "servers", Items: items}
	if len(page) > 0 {
		if links := nextLinks(r, path, len(page), filter.Limit, page[len(page)-1].ID); links != nil {
			body.Beside = map[string]any{"servers_links": links}
		}
	}
	return rest.JSON(body), nil
}

// allProjects widens the list for those who may ask for it.
func allProjects(r *rest.Request, rule string, privileged bool, f *serverFilter) error {
	all := new(bool)
	if values := r.Query["all_tenants"]; len(values) > 0 {
		*all = true // "?all_tenants" alone asks for them too
		if word := last(values); word != "" {
			if err := strictTruthInto(&all, word); err != nil {
				return err
			}
		}
	}
	if !*all {
		return nil
	}
	if err := r.Enforce("os_compute_api:servers:"+rule+":get_all_tenants", nil); err != nil {
		return err
	}
	f.ProjectID = ""
	if !privileged {
		return nil
	}
	for _, name := range []string{"tenant_id", "project_id"} {
		if values := r.Query[name]; len(values) > 0 {
			f.ProjectID = last(values)
		}
	}
	return nil
}
