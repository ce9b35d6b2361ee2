package hot

// Outputs.

import (
	"holdfast.dev/internal/hot/value"
)

// Output is one output of a stack.
type Output struct {
	Name string
	// Enabled is false if its condition doesn't hold; its value is nil then.
	Enabled bool

	description any
	stack       *Stack
	value       any
}

// OutputNames are the names of the outputs that a template has.
func (t *Template) OutputNames() ([]string, error) {
	section, err := t.section(t.Version.words.outputs)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, key := range section.Keys() {
		names = append(names, value.Str(key))
	}
	return names, nil
}

func (s *Stack) loadOutputs() error {
	version := s.Template.Version
	w := version.words
	section, err := s.Template.section(w.outputs)
	if err != nil {
		return err
	}
	for i := range section.Len() {
		key, v := section.At(i)
		name := value.Str(key)
		fail := func(format string, args ...any) error {
			e := invalid(join(w.outputs, name), format, args...)
			e.About, e.Line = "Output validation error", section.LineOf(key)
			return e
		}
		body, ok := v.(*value.Map)
		if !ok {
			return fail("Output definitions must be a map. Found a %s instead", value.TypeName(v))
		}
		if !body.Has(w.value) {
			return fail("Each output definition must contain a %s key.", w.value)
		}
		o := &Output{Name: name, Enabled: true, stack: s, description: argument(body, w.outputDescription)}
		if version.conditions {
			if o.Enabled, err = s.outputEnabled(name, body); err != nil {
				return err
			}
		}
		if o.Enabled {
			if o.value, err = s.parse(version.functions, argument(body, w.value), join(w.outputs, name, w.value), body.LineOf(w.value)); err != nil {
				return err
			}
		}
		s.outputs = append(s.outputs, o)
	}
	return nil
}

func (s *Stack) outputEnabled(name string, body *value.Map) (bool, error) {
	w := s.Template.Version.words
	path := join(w.outputs, name, w.condition)
	line := body.LineOf(w.condition)
	parsed, err := s.parse(s.Template.Version.inConditions, argument(body, w.condition), path, line)
	if err != nil {
		return false, err
	}
	v, err := s.evaluation(nil).resolve(parsed)
	if err != nil {
		return false, err
	}
	enabled, err := s.conditions.enabled(v)
	if Class(err) == ValueError {
		return false, under(path, line, err)
	}
	return enabled, err
}

// Description is the output's description.
func (o *Output) Description() string {
	if o.description == nil {
		return "No description given"
	}
	return value.Str(o.description)
}

// Value is the output's value with its functions worked out.
func (o *Output) Value(attrs Attributes) (any, error) { return o.stack.Values(attrs)(o) }

// Values works out outputs one by one. Together they may take no more than one may.
func (s *Stack) Values(attrs Attributes) func(o *Output) (any, error) {
	e := s.evaluation(attrs)
	return func(o *Output) (any, error) { return e.resolve(o.value) }
}

// Requires are the names of the enabled resources that the value refers to.
func (o *Output) Requires() []string {
	names, err := o.stack.references(o.value, "")
	if err != nil {
		return nil
	}
	return names
}
