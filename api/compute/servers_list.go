package compute

// GET /servers and GET /servers/detail

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store/compute"
)

func (a *API) listServers(r *rest.Request) (*rest.Response, error) {
	return a.list(r, "servers", "index", serverView.summary)
}

func (a *API) listServersDetail(r *rest.Request) (*rest.Response, error) {
	return a.list(r, "servers/detail", "detail", serverView.detail)
}

// list answers a page and, if it is full, where the next one is. rule is the
// operation's word in the names of policies.
func (a *API) list(r *rest.Request, path, rule string, show func(serverView) map[string]any) (*rest.Response, error) {
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
	shown := make([]map[string]any, len(page))
	for i, server := range page {
		shown[i] = show(a.view(r, server))
	}
	body := map[string]any{"servers": shown}
	if len(page) > 0 && len(page) == filter.Limit {
		body["servers_links"] = []link{{Rel: "next", Href: nextPage(r, path, page[len(page)-1].ID)}}
	}
	return rest.JSON(body), nil
}

func nextPage(r *rest.Request, path, marker string) string {
	query := url.Values{}
	for name, values := range r.Query {
		query[name] = values
	}
	query.Set("marker", marker)
	return r.Link(path) + "?" + query.Encode()
}

// listFilter is a store filter and whether anything can pass it.
type listFilter struct {
	compute.ListFilter
	possible bool
}

// filter reads the query's parameters; unknown ones are ignored.
func (a *API) filter(r *rest.Request, rule string) (listFilter, error) {
	f := listFilter{possible: true}
	f.ProjectID = r.Identity.ProjectID
	f.Name = r.Query.Get("name")
	f.Marker = r.Query.Get("marker")
	if err := allProjects(r, rule, &f); err != nil {
		return f, err
	}
	limit, err := pageSize(r.Query, a.MaxPageSize)
	if err != nil {
		return f, err
	}
	f.Limit = limit
	f.possible = limit > 0
	if words, sent := r.Query["status"]; sent {
		f.VMStates, f.TaskStates = servers.FromStatus(words...)
		f.possible = f.possible && len(f.VMStates) > 0
	}
	return f, nil
}

// allProjects widens the list for administrators who ask for it.
func allProjects(r *rest.Request, rule string, f *listFilter) error {
	asked := strings.ToLower(r.Query.Get("all_tenants"))
	switch _, sent := r.Query["all_tenants"]; {
	case !sent, asked == "0", asked == "false", asked == "f", asked == "no", asked == "n", asked == "off":
		return nil
	case !r.Identity.IsAdmin:
		return faults.New(faults.Forbidden, "PolicyNotAuthorized",
			"Policy doesn't allow os_compute_api:servers:%s:get_all_tenants to be performed.", rule)
	}
	f.ProjectID = ""
	return nil
}

var notNegative = regexp.MustCompile(`^[0-9]*$`)

// pageSize reads "limit", at most most.
func pageSize(query url.Values, most int) (int, error) {
	text := query.Get("limit")
	if !notNegative.MatchString(text) {
		return 0, faults.New(faults.Invalid, "ValidationError",
			"Invalid input for query parameters limit. Value: %s. '%s' does not match '^[0-9]*$'", text, text)
	}
	if text == "" {
		return most, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return most, nil // more digits than an int: more than most
	}
	return min(limit, most), nil
}
