package orchestration

// POST /validate.

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
)

// ignorable are the codes of errors that a client may have be ignored: there is one, of
// a service that can't be reached, and none is asked here.
var ignorable = []string{"99001"}

// validateTemplate says what a template asks for, and what is wrong with it.
func (a *API) validateTemplate(r *rest.Request) (*rest.Response, error) {
	nested, err := flag(r, "show_nested", false)
	if err != nil {
		return nil, err
	}
	if err := mayIgnore(r); err != nil {
		return nil, err
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	request, err := stacks.ParseRequest(body, a.fetcher(r))
	if err != nil {
		return nil, err
	}
	d, err := request.Define(hot.Identity{Project: r.Identity.ProjectID}, a.Types)
	if err != nil {
		return nil, err
	}
	if err := d.ValidateTemplate(); err != nil {
		return nil, err
	}
	schemas, err := d.Template.AllSchemas(d.Files)
	if err != nil {
		return nil, err
	}
	answer := asked(d)
	if nested {
		inside, err := askedInside(d, stacks.NewBudget(maxPreviewed))
		if err != nil {
			return nil, err
		}
		if inside.Len() > 0 {
			answer.Set("NestedParameters", inside)
		}
	}
	answer.Set("Environment", d.Environment.Masked(schemas))
	return rest.JSON(answer), nil
}

// mayIgnore refuses codes of errors that there aren't.
func mayIgnore(r *rest.Request) error {
	if !r.Query.Has("ignore_errors") {
		return nil
	}
	var unknown []string
	for code := range strings.SplitSeq(r.Query.Get("ignore_errors"), ",") {
		if !slices.Contains(ignorable, code) {
			unknown = append(unknown, value.Repr(value.Clip(code, maxShown)))
		}
	}
	if unknown != nil {
		return invalid("Invalid codes in ignore_errors : [%s]", value.Clip(strings.Join(unknown, ", "), maxShown))
	}
	return nil
}

// asked is what a definition asks for of who makes it.
func asked(d *stacks.Definition) *value.Map {
	parameters := &value.Map{}
	for _, p := range d.Parameters.All() {
		if !p.Pseudo {
			parameters.Set(p.Name, p.Describe())
		}
	}
	m := value.NewMap("Description", descriptionOf(d), "Parameters", parameters)
	if groups := d.Template.Groups(); groups != nil {
		m.Set("ParameterGroups", groups)
	}
	return m
}

// askedInside is the same of the stacks that are nested in one, by the names of their
// resources. Errors: Invalid, there is more than is looked into.
func askedInside(d *stacks.Definition, left *stacks.Budget) (*value.Map, error) {
	all := &value.Map{}
	for _, def := range d.Resources() {
		t, err := d.TypeOf(def)
		if err != nil {
			return nil, err
		}
		inside, err := d.Inside(def, t, left)
		if err != nil {
			return nil, err
		}
		if inside == nil {
			continue
		}
		m := asked(inside)
		m.Set("Type", def.Type)
		nested, err := askedInside(inside, left)
		if err != nil {
			return nil, err
		}
		if nested.Len() > 0 {
			m.Set("NestedParameters", nested)
		}
		all.Set(def.Name, m)
	}
	return all, nil
}
