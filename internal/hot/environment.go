package hot

// Environments: parameters, defaults, and which type a type stands for.

import (
	"slices"

	"holdfast.dev/internal/hot/value"
)

// The sections of an environment.
const (
	sectionParameters = "parameters"
	sectionDefaults   = "parameter_defaults"
	sectionRegistry   = "resource_registry"
	sectionEncrypted  = "encrypted_param_names"
	sectionSinks      = "event_sinks"
	sectionStrategies = "parameter_merge_strategies"
)

var environmentSections = []string{sectionParameters, sectionRegistry, sectionDefaults, sectionEncrypted, sectionSinks,
	sectionStrategies}

// Environment is what a user gives beside a template. Like everything here it
// is never changed: what adds to it makes another.
type Environment struct {
	// Parameters are the values of parameters, Defaults their defaults in this
	// stack and those nested in it.
	Parameters, Defaults *value.Map
	// Encrypted are the names of the parameters that are encrypted where they
	// are kept.
	Encrypted []string
	// Sinks are the event sinks, as they were given.
	Sinks []any
	// Registry says what types of resources stand for.
	Registry *Registry
	// Strategies say how parameters of several files are merged.
	Strategies *value.Map
}

// ParseEnvironment reads an environment from text.
func ParseEnvironment(text string) (*Environment, error) {
	m, err := readMap(text, "", "The environment is not a valid YAML mapping data type.")
	if err != nil {
		return nil, err
	}
	return NewEnvironment(m)
}

// NewEnvironment makes an environment of a map with the sections of one.
func NewEnvironment(m *value.Map) (*Environment, error) {
	for i := range m.Len() {
		key, v := m.At(i)
		name, isText := key.(string)
		switch {
		case !isText || !slices.Contains(environmentSections, name):
			return nil, sectionError(m, key, `environment has wrong section "%s"`)
		case v == nil:
			return nil, sectionError(m, key, `environment has empty section "%s"`)
		}
	}
	e := &Environment{}
	var err error
	for _, section := range []struct {
		name string
		into **value.Map
	}{{sectionParameters, &e.Parameters}, {sectionDefaults, &e.Defaults}, {sectionStrategies, &e.Strategies}} {
		if *section.into, err = mapSection(m, section.name); err != nil {
			return nil, err
		}
	}
	registry, err := mapSection(m, sectionRegistry)
	if err != nil {
		return nil, err
	}
	if e.Registry, err = (&Registry{}).With(registry); err != nil {
		return nil, err
	}
	names, err := listSection(m, sectionEncrypted)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		e.Encrypted = append(e.Encrypted, value.Str(name))
	}
	e.Sinks, err = listSection(m, sectionSinks)
	return e, err
}

func sectionError(m *value.Map, key any, format string) error {
	e := failf(ValueError, format, value.Str(key))
	e.Line = m.LineOf(key)
	return e
}

func mapSection(m *value.Map, name string) (*value.Map, error) {
	v, there := m.Get(name)
	section, ok := v.(*value.Map)
	if there && !ok {
		return nil, sectionError(m, name, `environment section "%s" must be a map`)
	}
	return orEmpty(section), nil
}

func listSection(m *value.Map, name string) ([]any, error) {
	v, there := m.Get(name)
	section, ok := v.([]any)
	if there && !ok {
		return nil, sectionError(m, name, `environment section "%s" must be a list`)
	}
	return section, nil
}

// User is the environment as the API shows it.
func (e *Environment) User() *value.Map {
	sinks := e.Sinks
	if sinks == nil {
		sinks = []any{}
	}
	return value.NewMap(sectionRegistry, e.Registry.Map(), sectionParameters, e.Parameters, sectionDefaults, e.Defaults,
		sectionSinks, sinks)
}

// Stored is the environment as it is kept.
func (e *Environment) Stored() *value.Map {
	m := e.User()
	names := make([]any, len(e.Encrypted))
	for i, name := range e.Encrypted {
		names[i] = name
	}
	m.Set(sectionEncrypted, names)
	return m
}

// Masked is the environment as the API shows it, without the values of hidden
// parameters.
func (e *Environment) Masked(schemas map[string]*Schema) *value.Map {
	m := e.User()
	for name, section := range map[string]*value.Map{sectionParameters: e.Parameters, sectionDefaults: e.Defaults} {
		masked := section.Copy()
		for _, key := range section.Keys() {
			if s := schemas[value.Str(key)]; s != nil && s.Hidden {
				masked.Set(key, Hidden)
			}
		}
		m.Set(name, masked)
	}
	return m
}

// WithParameters is the environment with more values of parameters.
func (e *Environment) WithParameters(parameters *value.Map) *Environment {
	c := *e
	c.Parameters = overlaid(e.Parameters, parameters)
	return &c
}

// overlaid is a map with the keys of another set.
func overlaid(under, over *value.Map) *value.Map {
	m := under.Copy()
	for i := range over.Len() {
		key, v := over.At(i)
		m.Set(key, v)
	}
	return m
}

// With is the environment with another on top.
func (e *Environment) With(over *Environment) (*Environment, error) {
	c := *e
	c.Parameters, c.Defaults = overlaid(e.Parameters, over.Parameters), overlaid(e.Defaults, over.Defaults)
	c.Sinks = append(slices.Clone(e.Sinks), over.Sinks...)
	var err error
	c.Registry, err = e.Registry.With(over.Registry.Map())
	return &c, err
}

// Child is the environment of a nested stack: this one with the nested stack's
// parameters, without the type that is the nested stack itself, and with what
// the registry says about the resource that it stands for.
func (e *Environment) Child(parameters *value.Map, without, resource string) *Environment {
	c := *e
	c.Parameters, c.Encrypted = orEmpty(parameters), nil
	c.Registry = e.Registry.child(without, resource)
	return &c
}
