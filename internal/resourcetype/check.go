package resourcetype

// Properties, checked and made of their types.

import (
	"errors"

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
	if err == nil {
		return made, nil
	}
	var wrong *problem
	if !errors.As(err, &wrong) {
		return nil, err
	}
	return nil, &hot.Error{Class: hot.ValidationFailed, About: "Property error", Path: hot.Join(append([]string{at}, wrong.path...)...), Message: wrong.text}
}

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
	for _, key := range given.Keys() {
		if _, ok := properties.Get(value.Str(key)); !ok {
			return nil, &problem{text: "Unknown Property " + value.Str(key)}
		}
	}
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
