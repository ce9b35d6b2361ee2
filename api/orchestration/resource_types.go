package orchestration

// GET /resource_types and below.

import (
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// supportStatuses are the statuses that a list of types can be narrowed to.
var supportStatuses = []string{"UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN"}

func (a *API) listTypes(r *rest.Request) (*rest.Response, error) {
	wanted := r.Query.Get("support_status")
	if wanted != "" && !slices.Contains(supportStatuses, wanted) {
		return nil, faults.New(faults.Invalid, "Invalid", "Data supplied was not valid: Invalid support status and should be one of ('%s')",
			strings.Join(supportStatuses, "', '"))
	}
	described, err := flag(r, "with_description", false)
	if err != nil {
		return nil, err
	}
	matches := func(string) bool { return true }
	if pattern := r.Query.Get("name"); pattern != "" {
		compiled, err := regexp.Compile(`^(?:` + pattern + `)`)
		matches = func(name string) bool { return err == nil && compiled.MatchString(name) }
	}
	types := []any{}
	for _, t := range a.Types.All() {
		switch {
		case t.Support.Hidden() || !a.mayUse(r, t.Name) || wanted != "" && t.Support.Status != wanted || !matches(t.Name),
			r.Query.Get("version") != "" && t.Support.Version != r.Query.Get("version"):
		case described:
			types = append(types, map[string]string{"resource_type": t.Name, "description": noDescription + " available"})
		default:
			types = append(types, t.Name)
		}
	}
	return rest.JSON(map[string]any{"resource_types": types}), nil
}

// typeOf is the type that the path names, if the caller may use it.
func (a *API) typeOf(r *rest.Request) (*resourcetype.Type, error) {
	name := r.Param("type_name")
	t := a.Types.Find(name)
	switch {
	case t == nil:
		return nil, faults.New(faults.NotFound, "EntityNotFound", "The Resource Type (%s) could not be found.", value.Clip(name, maxShown))
	case !a.mayUse(r, name):
		return nil, faults.New(faults.Forbidden, "Forbidden", "You are not authorized to use %s.", name)
	case t.Support.Hidden():
		return nil, faults.New(faults.Invalid, "NotSupported", "%s is not supported.", name)
	}
	return t, nil
}

func (a *API) showType(r *rest.Request) (*rest.Response, error) {
	t, err := a.typeOf(r)
	if err != nil {
		return nil, err
	}
	attributes := map[string]any{"show": map[string]any{"type": "map", "description": "Detailed information about resource."}}
	for _, name := range t.Attributes.Names {
		attribute, _ := t.Attributes.Get(name)
		if attribute.Support.Hidden() {
			continue
		}
		view := map[string]any{}
		if attribute.Type != "" {
			view["type"] = attribute.Type
		}
		attributes[name] = view
	}
	return rest.JSON(map[string]any{"resource_type": t.Name, "properties": propertiesOf(t.Properties), "attributes": attributes,
		"support_status": supportOf(&t.Support)}), nil
}

func supportOf(s *resourcetype.Support) any {
	if s == nil {
		return nil
	}
	return map[string]any{"status": s.Status, "message": orNull(s.Message), "version": orNull(s.Version), "previous_status": supportOf(s.Previous)}
}

func propertiesOf(properties resourcetype.Ordered[*resourcetype.Property]) map[string]any {
	all := map[string]any{}
	for _, name := range properties.Names {
		p, _ := properties.Get(name)
		if p.Support.Hidden() {
			continue
		}
		view := map[string]any{"type": p.Type, "required": p.Required, "update_allowed": p.UpdateAllowed, "immutable": p.Immutable}
		if p.Default != nil {
			view["default"] = p.Default
		}
		if constraints := p.Described(); len(constraints) > 0 {
			view["constraints"] = constraints
		}
		if len(p.Schema.Names) > 0 {
			view["schema"] = propertiesOf(p.Schema)
		}
		all[name] = view
	}
	return all
}
