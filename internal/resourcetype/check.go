package resourcetype

// Properties, checked and made of their types.

import (
	"errors"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// Check holds a resource's properties against its type, and gives them with
// every value of its type and every default filled in; what was not said and
// has no default is null. Unknown says of a property that what it refers to
// isn't there yet, so that its value is nobody's to judge. Services may be nil.
// The error is a *hot.Error, but for a service that is down.
func (t *Type) Check(given *value.Map, at string, unknown func(name string) bool, services hot.Constraints) (*value.Map, error) {
	if t.Anything {
		return &value.Map{}, nil
	}
	c := check{services: services, unknown: unknown}
	made, err := c.all(t.Properties, given, false)
	for _, name := range t.Unsupported {
		if err == nil && slices.ContainsFunc(reach(given, strings.Split(name, ".")), value.Truth) {
			err = &problem{text: name + " is not supported."}
		}
	}
	if err == nil {
		err = t.together(named(t.Properties, given))
	}
	return made, placed(err, at)
}

// CheckNames is what Check begins with: whether there are properties of such names.
func (t *Type) CheckNames(names []any, at string) error {
	if t.Anything {
		return nil
	}
	return placed(known(t.Properties, names), at)
}

// known says which of some names is no property's.
func known(properties Ordered[*Property], names []any) error {
	for _, name := range names {
		if _, ok := properties.Get(value.Str(name)); !ok {
			return &problem{text: "Unknown Property " + value.Str(name)}
		}
	}
	return nil
}

// CheckPolicy is Check of a resource's update policy.
func (t *Type) CheckPolicy(given *value.Map, at string, unknown func(name string) bool) (*value.Map, error) {
	made, err := check{unknown: unknown}.all(t.UpdatePolicy, given, false)
	return made, placed(err, at)
}

// placed is an error with the place in the template that its problem is at.
func placed(err error, at string) error {
	var wrong *problem
	if !errors.As(err, &wrong) {
		return err
	}
	return &hot.Error{Class: hot.ValidationFailed, About: "Property error", Path: hot.Join(append([]string{at}, wrong.path...)...), Message: wrong.text}
}

// Check holds a value against the property alone, and gives it of its type with
// every default filled in.
func (p *Property) Check(v any) (any, error) { return check{}.value(p, v) }

// problem is what is wrong, and where below the properties.
type problem struct {
	path []string
	text string
}

func (p *problem) Error() string { return p.text }

func wrong(err error, path ...string) error {
	var inner *problem
	if errors.As(err, &inner) {
		return &problem{append(path, inner.path...), inner.text}
	}
	// A service that is down is no fault of the value.
	if f := faults.As(err); f.Kind == faults.Unavailable {
		return err
	}
	return &problem{path, err.Error()}
}

// check is one look at properties.
type check struct {
	services hot.Constraints
	unknown  func(name string) bool
}

func (c check) all(properties Ordered[*Property], given *value.Map, nested bool) (*value.Map, error) {
	if err := known(properties, given.Keys()); err != nil {
		return nil, err
	}
	given = named(properties, given)
	made := &value.Map{}
	for _, name := range properties.Names {
		p, _ := properties.Get(name)
		v, there := given.Get(name)
		judged := nested || c.unknown == nil || !c.unknown(name)
		switch {
		case there:
		case p.Default != nil:
		case p.Required:
			return nil, &problem{text: "Property " + name + " not assigned"}
		default:
			made.Set(name, nil)
			continue
		}
		if there && !judged {
			made.Set(name, v)
			continue
		}
		v, err := c.value(p, v)
		if err != nil {
			return nil, wrong(err, name)
		}
		made.Set(name, v)
	}
	return made, nil
}

// together checks what may and must be given beside each other.
func (t *Type) together(given *value.Map) error {
	for _, rule := range t.Conflicts {
		names, counts := beside(given, rule)
		if slices.ContainsFunc(counts, func(n int) bool { return n > 1 }) {
			return &hot.Error{Class: "ResourcePropertyConflict", Message: "Cannot define the following properties at the same time: " + strings.Join(names, ", ") + "."}
		}
	}
	for _, rule := range t.OneOf {
		names, counts := beside(given, rule)
		if slices.Contains(counts, 0) {
			return &hot.Error{Class: "PropertyUnspecifiedError", Message: "At least one of the following properties must be specified: " + strings.Join(names, ", ") + "."}
		}
	}
	for _, names := range t.Depends {
		_, first := beside(given, names[:1])
		others, counts := beside(given, names[1:])
		if slices.Max(append(first, 0)) > 0 && slices.Max(append(counts, 0)) == 0 {
			return &hot.Error{Class: "ResourcePropertyDependency", Message: names[0] + " cannot be specified without " + strings.Join(others, ", ") + "."}
		}
	}
	return nil
}

// beside counts how many of a rule's properties are given: beside each other, or, of
// those that are named "roles.project", in each item of a list.
func beside(given *value.Map, rule []string) (names []string, counts []int) {
	in := []any{given}
	list, _, nested := strings.Cut(rule[0], ".")
	if nested {
		v, _ := given.Get(list)
		in, _ = v.([]any)
	}
	for _, path := range rule {
		names = append(names, path[strings.Index(path, ".")+1:])
	}
	for _, item := range in {
		m, _ := item.(*value.Map)
		n := 0
		for _, name := range names {
			if v, _ := m.Get(name); v != nil && v != false {
				n++
			}
		}
		counts = append(counts, n)
	}
	return names, counts
}

// named has values given under older names stand under the newer ones.
func named(properties Ordered[*Property], given *value.Map) *value.Map {
	for _, key := range given.Keys() {
		p, _ := properties.Get(value.Str(key))
		if p == nil || p.StandsFor == "" {
			continue
		}
		v, _ := given.Get(key)
		newer, _ := given.Get(p.StandsFor)
		if given = given.Without(key); newer == nil {
			given.Set(p.StandsFor, v)
		}
	}
	return given
}

// value is a value made of the property's type and checked.
func (c check) value(p *Property, v any) (any, error) {
	made, err := c.convert(p, v)
	if err != nil {
		return nil, err
	}
	for _, constraint := range p.Constraints {
		convert := func(v any) (any, error) { return c.convert(p, v) }
		if err := constraint.checked.Check(made, convert, c.services); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// Named gives properties with those under older names under their newer ones.
func (t *Type) Named(given *value.Map) *value.Map { return named(t.Properties, given) }

// Fits says whether a resource of some properties comes after another.
func (a After) Fits(own, other *value.Map) bool {
	for theirs, mine := range a.Where {
		are := reach(other, strings.Split(theirs, "."))
		if !slices.ContainsFunc(reach(own, strings.Split(mine, ".")), func(v any) bool { return value.In(v, are) }) {
			return false
		}
	}
	return true
}

// reach is what there is at a path, through lists.
func reach(v any, path []string) []any {
	switch x := v.(type) {
	case nil:
		return nil
	case []any:
		var all []any
		for _, one := range x {
			all = append(all, reach(one, path)...)
		}
		return all
	case *value.Map:
		if len(path) == 0 {
			return []any{x}
		}
		inner, _ := x.Get(path[0])
		return reach(inner, path[1:])
	}
	if len(path) > 0 {
		return nil
	}
	return []any{v}
}
