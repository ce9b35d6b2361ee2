package orchestration

// The resources of a stack, as users see them.

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// resourceView is a resource in a list; alone, or with detail, it has attributes
// and a description too.
type resourceView struct {
	Name        string     `json:"resource_name"`
	LogicalID   string     `json:"logical_resource_id"`
	PhysicalID  string     `json:"physical_resource_id"`
	Type        string     `json:"resource_type"`
	Status      string     `json:"resource_status"`
	Reason      string     `json:"resource_status_reason"`
	Created     *string    `json:"creation_time"`
	Updated     *string    `json:"updated_time"`
	RequiredBy  []string   `json:"required_by"`
	Links       []link     `json:"links"`
	Parent      string     `json:"parent_resource,omitempty"`
	Description *string    `json:"description,omitempty"`
	Attributes  *value.Map `json:"attributes,omitempty"`
}

// resourceFilters are the parameters that a list of resources takes.
var resourceFilters = []string{"nested_depth", "with_detail", "type", "status", "name", "action", "id", "physical_resource_id"}

func (a *API) listResources(r *rest.Request) (*rest.Response, error) {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(r.Query)) {
		if !slices.Contains(resourceFilters, name) {
			unknown = append(unknown, value.Repr(name))
		}
	}
	if unknown != nil {
		return nil, invalid("Invalid filter parameters [%s]", strings.Join(unknown, ", "))
	}
	depth, err := nestedDepth(r)
	if err != nil {
		return nil, err
	}
	detail, err := flag(r, "with_detail", false)
	if err != nil {
		return nil, err
	}
	s, err := a.stack(r)
	if err != nil {
		return nil, err
	}
	tree, err := a.tree(r, s, depth)
	if err != nil {
		return nil, err
	}
	rows, err := orchestration.ResourcesOf(r.Context(), a.DB.Pool, tree.shown)
	if err != nil {
		return nil, err
	}
	needed := requiredBy(rows)
	views := []resourceView{}
	for _, row := range rows {
		if !matches(r, row) {
			continue
		}
		v := a.resourceView(r, tree, row, needed[row.ID])
		if detail {
			if err := a.describe(r, tree.stacks[row.StackID], row, &v); err != nil {
				return nil, err
			}
		}
		views = append(views, v)
	}
	return rest.JSON(map[string]any{"resources": views}), nil
}

// matches says whether a resource is one that the query asks for.
func matches(r *rest.Request, row *orchestration.Resource) bool {
	if wanted := r.Query.Get("type"); !strings.Contains(row.Type, wanted) {
		return false
	}
	for name, is := range map[string]string{"status": row.Status, "name": row.Name, "action": row.Action,
		"id": strconv.FormatInt(row.ID, 10), "physical_resource_id": row.PhysicalID} {
		if wanted := r.Query[name]; len(wanted) > 0 && !slices.Contains(wanted, is) {
			return false
		}
	}
	return true
}

// requiredBy are the names of those that need a resource, by its id.
func requiredBy(rows []*orchestration.Resource) map[int64][]string {
	needed := map[int64][]string{}
	for _, row := range rows {
		for _, id := range row.Requires {
			needed[id] = append(needed[id], row.Name)
		}
	}
	return needed
}

func (a *API) resourceView(r *rest.Request, tree tree, row *orchestration.Resource, needed []string) resourceView {
	s := tree.stacks[row.StackID]
	created := stamp(row.CreatedAt)
	updated := &created
	if row.UpdatedAt != nil {
		updated = stampOf(row.UpdatedAt)
	}
	links := resourceLinks(r, s, row.Name)
	if nested := tree.stacks[row.PhysicalID]; nested != nil && nested.ParentID == s.ID {
		links = append(links, link{linksOf(r, nested)[0].Href, "nested"})
	}
	return resourceView{Parent: s.ParentResource, Name: row.Name, LogicalID: row.Name, PhysicalID: row.PhysicalID, Type: row.Type, Status: row.Action + "_" + row.Status,
		Reason: row.Reason, Created: &created, Updated: updated, RequiredBy: orEmpty(needed), Links: links}
}

func resourceLinks(r *rest.Request, s *orchestration.Stack, name string, further ...string) []link {
	own := linksOf(r, s, append([]string{"resources", url.PathEscape(name)}, further...)...)[0]
	return []link{own, {linksOf(r, s)[0].Href, "stack"}}
}

// describe adds what is shown of a resource alone.
func (a *API) describe(r *rest.Request, s *orchestration.Stack, row *orchestration.Resource, v *resourceView) error {
	state, err := stacks.OpenState(row, a.Secrets)
	if err != nil {
		return err
	}
	description := ""
	v.Description, v.Attributes = &description, state.Attributes
	d, err := a.definition(r, s)
	if err != nil {
		return err
	}
	if def := d.Resource(row.Name); def != nil {
		description = def.Description
	}
	return nil
}

func (a *API) showResource(r *rest.Request) (*rest.Response, error) {
	s, row, rows, err := a.resource(r)
	if err != nil {
		return nil, err
	}
	tree, err := a.tree(r, s, 0)
	if err != nil {
		return nil, err
	}
	v := a.resourceView(r, tree, row, requiredBy(rows)[row.ID])
	if err := a.describe(r, s, row, &v); err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"resource": v}), nil
}

func (a *API) showMetadata(r *rest.Request) (*rest.Response, error) {
	s, row, rows, err := a.resource(r)
	if err != nil {
		return nil, err
	}
	if err := a.ownResource(r, s, rows, row.Name); err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"metadata": json.RawMessage(row.Metadata)}), nil
}

// resource is the one that the path names, and all of its stack.
func (a *API) resource(r *rest.Request) (*orchestration.Stack, *orchestration.Resource, []*orchestration.Resource, error) {
	s, err := a.living(r)
	if err != nil {
		return nil, nil, nil, err
	}
	rows, err := orchestration.Resources(r.Context(), a.DB.Pool, s.ID)
	if err != nil {
		return nil, nil, nil, err
	}
	name := r.Param("resource_name")
	for _, row := range slices.Backward(rows) {
		if row.Name == name {
			return s, row, rows, nil
		}
	}
	return nil, nil, nil, resourceNotFound(s, name)
}

func resourceNotFound(s *orchestration.Stack, name string) error {
	return faults.New(faults.NotFound, "ResourceNotFound", "The Resource (%s) could not be found in Stack %s.", name, s.Name)
}
