package orchestration

// GET /stacks and /stacks/detail.

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/orchestration"
)

// filters are the parameters that narrow a list, by what they are of a stack.
var filters = map[string]string{
	"id": "id", "name": "name", "stack_name": "name", "status": "status", "stack_status": "status", "action": "action", "stack_action": "action",
	"username": "username", "stack_owner": "username", "owner_id": "parent", "parent": "parent", "stack_status_reason": "reason",
	"tenant": "project", "disable_rollback": "rollback", "timeout_mins": "timeout", "stack_user_project_id": "user_project",
}

// hiddenTags are those of stacks that are listed only if hidden ones are asked for
// (hidden_stack_tags).
var hiddenTags = []string{"data-processing-cluster"}

// sortKeys are what a list may be sorted by.
var sortKeys = map[string]string{"stack_name": "name", "stack_status": "status", "creation_time": "created", "updated_time": "updated"}

func (a *API) listStacks(r *rest.Request) (*rest.Response, error) {
	f, err := a.filter(r)
	if err != nil {
		return nil, err
	}
	withCount, err := flag(r, "with_count", false)
	if err != nil {
		return nil, err
	}
	found, err := orchestration.ListStacks(r.Context(), a.DB.Pool, f)
	if err != nil {
		return nil, err
	}
	items := []listItem{}
	for _, s := range found {
		i := item(r, s)
		if r.Identity.IsAdmin {
			i.Project = s.ProjectID
		}
		items = append(items, i)
	}
	body := map[string]any{"stacks": items}
	if len(found) > 0 && f.Limit > 0 && len(found) == f.Limit {
		next := r.Query
		next.Set("marker", found[len(found)-1].ID)
		body["links"] = []link{{r.Link(r.Identity.ProjectID, "stacks") + "?" + next.Encode(), "next"}}
	}
	if withCount {
		f.Limit, f.Marker = 0, ""
		if body["count"], err = orchestration.CountListed(r.Context(), a.DB.Pool, f); err != nil {
			return nil, err
		}
	}
	return rest.JSON(body), nil
}

// detailStacks reads no parameter, as the original's.
func (a *API) detailStacks(r *rest.Request) (*rest.Response, error) {
	found, err := orchestration.ListStacks(r.Context(), a.DB.Pool, orchestration.StackFilter{Project: r.Identity.ProjectID, Hidden: hiddenTags, Limit: a.MaxPageSize})
	if err != nil {
		return nil, err
	}
	items := []listItem{}
	for _, s := range found {
		items = append(items, item(r, s))
	}
	return rest.JSON(map[string]any{"stacks": items}), nil
}

// lowered are values as they are compared: a truth is one in whatever letters.
func lowered(values []string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = strings.ToLower(v)
	}
	return all
}

// filter reads the query of a list.
func (a *API) filter(r *rest.Request) (f orchestration.StackFilter, err error) {
	f = orchestration.StackFilter{Project: r.Identity.ProjectID, Marker: r.Query.Get("marker"), Ascending: r.Query.Get("sort_dir") == "asc",
		Match: map[string][]string{}}
	global, err := flag(r, "global_tenant", false)
	if err != nil {
		return f, err
	}
	if global {
		if err := r.Enforce("stacks:global_index", nil); err != nil {
			return f, err
		}
		f.Project = ""
	}
	for name, into := range map[string]*bool{"show_deleted": &f.Deleted, "show_nested": &f.Nested} {
		if *into, err = flag(r, name, false); err != nil {
			return f, err
		}
	}
	hidden, err := flag(r, "show_hidden", false)
	if err != nil {
		return f, err
	}
	if !hidden {
		f.Hidden = hiddenTags
	}
	if f.Limit, err = number(r, "limit"); err != nil {
		return f, err
	}
	if f.Limit == 0 || f.Limit > a.MaxPageSize {
		f.Limit = a.MaxPageSize
	}
	for name, what := range filters {
		if values := r.Query[name]; len(values) > 0 {
			if what == "rollback" {
				values = lowered(values)
			}
			f.Match[what] = append(f.Match[what], values...)
		}
	}
	for name, into := range map[string]*[]string{"tags": &f.Tags, "tags_any": &f.TagsAny, "not_tags": &f.NotTags, "not_tags_any": &f.NotTagsAny} {
		if text := r.Query.Get(name); text != "" {
			*into = strings.Split(text, ",")
		}
		for _, tag := range *into {
			if len([]rune(tag)) > maxTag {
				return f, invalid(`Invalid tag, "%s" is longer than 80 characters`, tag)
			}
		}
	}
	for _, key := range r.Query["sort_keys"] {
		if column, ok := sortKeys[key]; ok && !slices.Contains(f.Sort, column) {
			f.Sort = append(f.Sort, column)
		}
	}
	return f, nil
}
