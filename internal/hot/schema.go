package hot

// Schemas of parameters.

import (
	"slices"
	"strings"

	"holdfast.dev/internal/hot/value"
)

// Schema is what a template says about a parameter.
type Schema struct {
	Name string
	// Type is the type by its name in the API: String, Number,
	// CommaDelimitedList, Json or Boolean.
	Type string
	// Default is nil if there is none.
	Default     any
	Description any
	Label       any
	Hidden      bool
	Immutable   bool
	Tags        []any
	Constraints []*Constraint

	// written is the type as the template has it.
	written string
	line    int
}

// types are the types by their names in HOT.
var types = map[string]string{"string": "String", "number": "Number", "comma_delimited_list": "CommaDelimitedList", "json": "Json",
	"boolean": "Boolean"}

var (
	hotParameterKeys = []string{"type", "description", "default", "schema", "constraints", "hidden", "label", "immutable"}
	cfnParameterKeys = []string{"Type", "Default", "NoEcho", "AllowedValues", "AllowedPattern", "MaxLength", "MinLength", "MaxValue",
		"MinValue", "Description", "ConstraintDescription", "Label"}
	constraintKeys = []string{"description", "length", "range", "modulo", "allowed_values", "allowed_pattern", "custom_constraint"}
)

// Schemas are the schemas of the template's parameters in their order.
func (t *Template) Schemas() ([]*Schema, error) {
	section, err := t.section(t.Version.words.parameters)
	if err != nil {
		return nil, err
	}
	schemas := make([]*Schema, 0, section.Len())
	for i := range section.Len() {
		key, v := section.At(i)
		s, err := t.schema(value.Str(key), v, section.LineOf(key))
		if err != nil {
			at := *asError(err)
			if at.Line == 0 {
				at.Line = section.LineOf(key)
			}
			return nil, &at
		}
		schemas = append(schemas, s)
	}
	return schemas, nil
}

// checkKeys checks that a thing is a map of known keys.
func checkKeys(v any, allowed []string, what string) (*value.Map, error) {
	m, ok := v.(*value.Map)
	if !ok {
		return nil, failf(InvalidSchema, "Invalid %s, expected a mapping", what)
	}
	for _, key := range m.Keys() {
		if name, isText := key.(string); !isText || !slices.Contains(allowed, name) {
			e := failf(InvalidSchema, "Invalid key '%s' for %s", value.Str(key), what)
			e.Line = m.LineOf(key)
			return nil, e
		}
	}
	return m, nil
}

func (t *Template) schema(name string, v any, line int) (*Schema, error) {
	hot := t.Version.Type == "hot"
	allowed, typeKey := cfnParameterKeys, "Type"
	if hot {
		allowed, typeKey = hotParameterKeys, "type"
		if t.Version.tags {
			allowed = append(slices.Clone(allowed), "tags")
		}
	}
	m, err := checkKeys(v, allowed, "parameter ("+name+")")
	if err != nil {
		return nil, err
	}
	if !m.Has(typeKey) {
		return nil, failf(InvalidSchema, "Missing parameter type for parameter: %s", name)
	}
	tags, there := m.Get("tags")
	list, isList := tags.([]any)
	if there && !isList {
		return nil, failf(InvalidSchema, "Tags property should be a list for parameter: %s", name)
	}
	s := &Schema{Name: name, Tags: list, line: line}
	if hot {
		s.Default, s.Description, s.Label = argument(m, "default"), argument(m, "description"), argument(m, "label")
		s.Hidden, s.Immutable = value.Truth(argument(m, "hidden")), value.Truth(argument(m, "immutable"))
		s.Constraints, err = t.hotConstraints(name, argument(m, "constraints"))
	} else {
		s.Default, s.Description, s.Label = argument(m, "Default"), argument(m, "Description"), argument(m, "Label")
		s.Hidden = strings.ToLower(value.Str(argument(m, "NoEcho"))) == "true"
		s.Constraints, err = cfnConstraints(m)
	}
	if err != nil {
		return nil, err
	}
	return s, s.setType(argument(m, typeKey), hot)
}

func (s *Schema) setType(v any, hot bool) error {
	s.written = value.Str(v)
	name, isText := v.(string)
	for in, wire := range types {
		if isText && (hot && name == in || !hot && name == wire) {
			s.Type = wire
			return nil
		}
	}
	return failf(InvalidSchema, "Invalid type (%s)", value.Clip(s.written, 200))
}

// number is a bound: a number, or a text that is one.
func number(m *value.Map, key string) (any, error) {
	v := argument(m, key)
	if v == nil {
		return nil, nil
	}
	n, err := value.ToNumber(v)
	if err != nil {
		e := *asError(err)
		e.Line = m.LineOf(key)
		return nil, &e
	}
	return n, nil
}

// bounds are two numbers of a map.
func bounds(m *value.Map, low, high string) (a, b any, err error) {
	if a, err = number(m, low); err == nil {
		b, err = number(m, high)
	}
	return a, b, err
}

func (t *Template) hotConstraints(name string, v any) ([]*Constraint, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, failf(InvalidSchema, "Invalid parameter constraints for parameter %s, expected a list", name)
	}
	constraints := make([]*Constraint, 0, len(list))
	for _, item := range list {
		m, err := checkKeys(item, constraintKeys, "parameter constraints")
		if err != nil {
			return nil, err
		}
		c, err := t.constraint(m)
		if err != nil {
			return nil, err
		}
		c.Description, c.line = argument(m, "description"), m.Line
		constraints = append(constraints, c)
	}
	return constraints, nil
}

// constraint is the first constraint that a map expresses; the others in it are
// ignored.
func (t *Template) constraint(m *value.Map) (*Constraint, error) {
	c := &Constraint{}
	two := func(what, low, high string) (a, b any, err error) {
		inner, err := checkKeys(argument(m, what), []string{low, high}, what+" constraint")
		if err != nil {
			return nil, nil, err
		}
		return bounds(inner, low, high)
	}
	var a, b any
	var err error
	switch {
	case m.Has("modulo") && t.Version.modulo:
		if a, b, err = two("modulo", "step", "offset"); err == nil {
			c.Modulo, err = newModulo(a, b)
		}
	case m.Has("range"):
		if a, b, err = two("range", "min", "max"); err == nil {
			c.Range, err = newBounds("range", a, b)
		}
	case m.Has("length"):
		if a, b, err = two("length", "min", "max"); err == nil {
			c.Length, err = newBounds("length", a, b)
		}
	case m.Has("allowed_values"):
		c.Allowed, err = allowedValues(argument(m, "allowed_values"))
	case m.Has("allowed_pattern"):
		c.Pattern, err = allowedPattern(argument(m, "allowed_pattern"))
	case m.Has("custom_constraint"):
		c.Custom = value.Str(argument(m, "custom_constraint"))
	default:
		err = failf(InvalidSchema, "No constraint expressed")
	}
	return c, err
}

func allowedValues(v any) ([]any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, failf(InvalidSchema, "AllowedValues must be a list")
	}
	return append([]any{}, list...), nil
}

func allowedPattern(v any) (*Pattern, error) {
	text, ok := v.(string)
	if !ok {
		return nil, failf(InvalidSchema, "AllowedPattern must be a string")
	}
	return NewPattern(text)
}

func cfnConstraints(m *value.Map) ([]*Constraint, error) {
	constraints := []*Constraint{}
	description := argument(m, "ConstraintDescription")
	add := func(c Constraint, err error) error {
		c.Description, c.line = description, m.Line
		constraints = append(constraints, &c)
		return err
	}
	if m.Has("MinValue") || m.Has("MaxValue") {
		a, b, err := bounds(m, "MinValue", "MaxValue")
		if err != nil {
			return nil, err
		}
		r, err := newBounds("range", a, b)
		if err := add(Constraint{Range: r}, err); err != nil {
			return nil, err
		}
	}
	if m.Has("MinLength") || m.Has("MaxLength") {
		a, b, err := bounds(m, "MinLength", "MaxLength")
		if err != nil {
			return nil, err
		}
		l, err := newBounds("length", a, b)
		if err := add(Constraint{Length: l}, err); err != nil {
			return nil, err
		}
	}
	if v, there := m.Get("AllowedValues"); there {
		list, err := allowedValues(v)
		if err := add(Constraint{Allowed: list}, err); err != nil {
			return nil, err
		}
	}
	if v, there := m.Get("AllowedPattern"); there {
		p, err := allowedPattern(v)
		if err := add(Constraint{Pattern: p}, err); err != nil {
			return nil, err
		}
	}
	return constraints, nil
}

// convert makes a value of the schema's type of one that may be text.
func (s *Schema) convert(v any) (any, error) {
	var made any = v
	var err error
	switch s.Type {
	case "Number":
		made, err = value.ToNumber(v)
	case "String":
		made = value.Str(v)
	case "Boolean":
		made, err = value.ToBool(value.Str(v))
	}
	if Class(err) == ValueError {
		return nil, value.Errorf(ValueError, `Value "%s" is invalid for data type "%s".`, value.Str(v), s.written)
	}
	return made, err
}

// check checks a value against the constraints. Without services the custom
// constraints are left out.
func (s *Schema) check(v any, services Constraints, custom bool) error {
	for _, c := range s.Constraints {
		if c.Custom != "" && !custom {
			continue
		}
		if err := c.check(v, s.convert, services); err != nil {
			return err
		}
	}
	return nil
}

// validate checks the schema itself: whether its constraints fit its type, and
// its default the constraints.
func (s *Schema) validate() error {
	for _, c := range s.Constraints {
		if !c.fits(s.Type) {
			e := failf(InvalidSchema, "%s constraint invalid for %s", c.kind(), s.written)
			e.Line = c.line
			return e
		}
	}
	if s.Default == nil {
		return nil
	}
	v := s.Default
	if s.Type == "CommaDelimitedList" {
		switch d := s.Default.(type) {
		case string:
			v = splitComma(d)
		case []any:
			v = texts(d)
		default:
			return failf(InvalidSchema, "Default must be a comma-delimited list string: '%s' object has no attribute 'split'",
				value.TypeName(d))
		}
	}
	if err := s.check(v, nil, false); err != nil {
		return failf(InvalidSchema, "Invalid default %s (%s)", value.Str(s.Default), asError(err).Message)
	}
	return nil
}

func splitComma(text string) []any {
	parts := strings.Split(text, ",")
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list
}

func texts(list []any) []any {
	made := make([]any, len(list))
	for i, item := range list {
		made[i] = value.Str(item)
	}
	return made
}
