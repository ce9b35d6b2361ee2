package stacks

// Adoptions: what an abandoned stack has left, and is to be the resources of a new one.

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/orchestration"
)

// AdoptKey is where a body has what an abandoned stack has left.
const AdoptKey = "adopt_stack_data"

// maxPhysicalID is how long the id of something outside may be.
const maxPhysicalID = 255

// ParseAdoption reads a body that has what an abandoned stack has left. What the stack
// is to be is the template there, with the parameters there that the body says nothing
// of; left are the resources there, by their names. Errors: Invalid.
func ParseAdoption(body *value.Map, fetch Fetcher) (r *Request, left *value.Map, err error) {
	given, _ := body.Get(AdoptKey)
	text, ok := given.(string)
	if !ok {
		return nil, nil, unfit("", given, "a text")
	}
	data, err := hot.ParseMap(text)
	if err != nil {
		return nil, nil, bad("Invalid adopt data: %s", err)
	}
	template, ok := data.Get("template")
	if !ok {
		return nil, nil, bad("Invalid adopt data: 'template'")
	}
	if _, ok := template.(*value.Map); !ok {
		return nil, nil, unfit("template", template, "a map")
	}
	parameters, err := parametersLeft(data)
	if err != nil {
		return nil, nil, err
	}
	if left, err = resourcesLeft(data, ""); err != nil {
		return nil, nil, err
	}
	left, _ = value.Plain(left).(*value.Map)
	asked := body.Copy()
	asked.Set("template", template)
	if r, err = ParseRequest(asked, fetch); err != nil {
		return nil, nil, err
	}
	said := r.Environment.Parameters
	r.Environment = r.Environment.WithParameters(parameters).WithParameters(said)
	return r, left, nil
}

// unfit is what is said of a value that isn't what it must be.
func unfit(path string, v any, what string) error {
	if path == "" {
		path = AdoptKey
	}
	return bad("Invalid adopt data: %s must be %s, not %s", value.Clip(path, maxShown), what, value.TypeName(v))
}

func parametersLeft(data *value.Map) (*value.Map, error) {
	environment, err := mapLeft(data, "environment", "")
	if err != nil {
		return nil, err
	}
	return mapLeft(environment, "parameters", "environment")
}

// mapLeft is a map in what is left at a path; one that isn't there is empty.
func mapLeft(in *value.Map, name, path string) (*value.Map, error) {
	given, _ := in.Get(name)
	if given == nil {
		return &value.Map{}, nil
	}
	m, ok := given.(*value.Map)
	if !ok {
		return nil, unfit(hot.Join(path, name), given, "a map")
	}
	return m, nil
}

// resourcesLeft are those of a stack at a path, and of those nested in it, if they are
// as they must be.
func resourcesLeft(stack *value.Map, path string) (*value.Map, error) {
	all, err := mapLeft(stack, "resources", path)
	if err != nil {
		return nil, err
	}
	for i := range all.Len() {
		key, given := all.At(i)
		if given == nil {
			continue
		}
		place := hot.Join(path, "resources", value.Str(key))
		one, ok := given.(*value.Map)
		if !ok {
			return nil, unfit(place, given, "a map")
		}
		if err := idLeft(one, place); err != nil {
			return nil, err
		}
		for _, name := range []string{"metadata", "resource_data"} {
			if _, err := mapLeft(one, name, place); err != nil {
				return nil, err
			}
		}
		if _, err := resourcesLeft(one, place); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// idLeft refuses an id that nothing outside has.
func idLeft(one *value.Map, path string) error {
	path = hot.Join(path, "resource_id")
	given, _ := one.Get("resource_id")
	id, ok := given.(string)
	switch {
	case given == nil:
		return nil
	case !ok:
		return unfit(path, given, "a text")
	case unfitID(id) != "":
		return bad("Invalid adopt data: %s %s", value.Clip(path, maxShown), unfitID(id))
	}
	return nil
}

// unfitID says why nothing outside can have an id; "" if something may.
func unfitID(id string) string {
	switch {
	case utf8.RuneCountInString(id) > maxPhysicalID:
		return fmt.Sprintf("is longer than %d characters", maxPhysicalID)
	case strings.ContainsFunc(id, unicode.IsControl), id == ".", id == "..":
		return idOfNothing
	}
	return ""
}

const idOfNothing = "is the id of nothing"

// Adoption are the rows of a stack's resources before anything is adopted.
type Adoption struct {
	Rows []*orchestration.Resource
	left *value.Map
}

// Adopt has the resources of the stack be what is left of another, of which some may
// have left nothing.
func (d *Definition) Adopt(left *value.Map) (*Adoption, error) {
	_, names, err := d.Graph()
	if err != nil {
		return nil, err
	}
	a := &Adoption{left: left}
	for _, name := range names {
		a.Rows = append(a.Rows, &orchestration.Resource{Name: name, Type: d.Resource(name).Type, CarriedBy: d.CarriedBy(d.Resource(name))})
	}
	return a, nil
}

// Seal has the rows, which have their ids, keep what is to be adopted.
func (a *Adoption) Seal(box *secrets.Box) error {
	for _, r := range a.Rows {
		given, _ := a.left.Get(r.Name)
		one, ok := given.(*value.Map)
		if !ok {
			continue
		}
		state := &State{Properties: &value.Map{}, Data: &value.Map{}, Attributes: &value.Map{}, Adopts: one}
		if err := state.Seal(r, box); err != nil {
			return err
		}
	}
	return nil
}

// Left is the adoption's part of one resource: its id outside, what its type keeps of
// it, and its metadata as they are kept; empty if there is nothing of that.
func Left(one *value.Map) (id string, data *value.Map, metadata string, err error) {
	given, _ := one.Get("resource_id")
	id, _ = given.(string)
	given, _ = one.Get("resource_data")
	if data, _ = given.(*value.Map); data == nil {
		data = &value.Map{}
	}
	given, _ = one.Get("metadata")
	m, ok := given.(*value.Map)
	if !ok {
		return id, data.Copy(), "", nil
	}
	text, err := m.MarshalJSON()
	return id, data.Copy(), string(text), err
}
