package hot

// Conditions: named, decided once, and never in a circle.

import (
	"holdfast.dev/internal/hot/value"
)

type conditions struct {
	stack *Stack
	// definitions are the parsed conditions by name.
	definitions *value.Map
	decided     map[string]verdict
}

// verdict is what a condition came to, or that it is being looked at.
type verdict struct {
	enabled, open bool
}

func (s *Stack) loadConditions() error {
	s.conditions = &conditions{stack: s, definitions: &value.Map{}, decided: map[string]verdict{}}
	if !s.Template.Version.conditions {
		return nil
	}
	section := s.Template.Version.words.conditions
	v, there := s.Template.body.Get(section)
	if !there {
		return nil
	}
	m, ok := v.(*value.Map)
	if !ok {
		e := aboutConditions("Condition definitions must be a map. Found a %s instead", value.TypeName(v))
		e.About = "Conditions validation error"
		e.Line = s.Template.body.LineOf(section)
		return e
	}
	for i := range m.Len() {
		key, v := m.At(i)
		parsed, err := s.parse(s.Template.Version.inConditions, v, join(section, value.Str(key)), m.LineOf(key))
		if err != nil {
			return err
		}
		s.conditions.definitions.SetAt(key, parsed, m.LineOf(key))
	}
	return nil
}

func aboutConditions(format string, args ...any) *Error {
	e := invalid("", format, args...)
	e.About = "Condition validation error"
	return e
}

// check says whether a definition can be a condition at all.
func (c *conditions) check(name, definition any) error {
	switch definition.(type) {
	case bool, *call:
		return nil
	}
	e := aboutConditions(`The definition of condition "%s" is invalid: %s`, value.Str(name), value.Str(definition))
	e.Line = c.definitions.LineOf(name)
	return e
}

func (c *conditions) validate(schemas Schemas) error {
	for i := range c.definitions.Len() {
		name, definition := c.definitions.At(i)
		if err := c.check(name, definition); err != nil {
			return err
		}
		if err := c.stack.validate(definition, schemas); err != nil {
			return err
		}
	}
	return nil
}

// enabled says whether a condition holds: a boolean, the name of one, or none
// at all.
func (c *conditions) enabled(condition any) (bool, error) {
	switch x := condition.(type) {
	case nil:
		return true, nil
	case bool:
		return x, nil
	}
	name, ok := condition.(string)
	definition, there := c.definitions.Get(name)
	if !ok || !there {
		return false, value.Errorf(ValueError, `Invalid condition "%s"`, value.Str(condition))
	}
	if known, there := c.decided[name]; there {
		if known.open {
			return false, aboutConditions(`Circular definition for condition "%s"`, name)
		}
		return known.enabled, nil
	}
	c.decided[name] = verdict{open: true}
	v, err := c.stack.evaluation(nil).resolve(definition)
	if err != nil {
		return false, err
	}
	if err := c.check(name, v); err != nil {
		return false, err
	}
	c.decided[name] = verdict{enabled: v == true}
	return v == true, nil
}
