package hot

// What a template says about its resources.

import (
	"slices"
	"strings"
	"sync"

	"holdfast.dev/internal/hot/value"
)

// Resource is the definition of an enabled resource.
type Resource struct {
	Name, Type, Description string
	// DependsOn are the names it is said to depend on.
	DependsOn []string
	// DeletionPolicy is "Delete", "Retain" or "Snapshot".
	DeletionPolicy string

	stack        *Stack
	line         int
	properties   any
	metadata     any
	updatePolicy any
	externalID   any
}

// External says whether the resource is one that is there already, by an external_id.
func (r *Resource) External() bool { return r.externalID != nil }

func (s *Stack) loadResources() error {
	w := s.Template.Version.words
	section, err := s.Template.section(w.resources)
	if err != nil {
		return err
	}
	for i := range section.Len() {
		key, v := section.At(i)
		name := value.Str(key)
		r, enabled, err := s.resource(name, v, section.LineOf(key))
		if err != nil {
			return err
		}
		if enabled {
			s.resources = append(s.resources, r)
			s.byName[name] = r
		}
	}
	return nil
}

// fields reads the fields of one resource.
type fields struct {
	stack *Stack
	name  string
	body  *value.Map
}

// field is a field parsed by a table of functions; nil if it isn't there.
// Expected says what it must be, and fits whether it is.
func (f fields) field(key string, functions table, expected string, fits func(v any) bool) (any, error) {
	v, there := f.body.Get(key)
	if !there {
		return nil, nil
	}
	parsed, err := f.stack.parse(functions, v, join(f.stack.Template.Version.words.resources, f.name, key), f.body.LineOf(key))
	if err != nil {
		return nil, err
	}
	if !fits(parsed) {
		return nil, f.fail(key, "Resource %s %s type must be %s", f.name, key, expected)
	}
	return parsed, nil
}

func (f fields) fail(key, format string, args ...any) *Error {
	e := invalid("", format, args...)
	e.Line = f.body.LineOf(key)
	return e
}

func isText(v any) bool { _, ok := v.(string); return ok }
func isMap(v any) bool  { _, ok := v.(*value.Map); return ok || isCall(v) }

func (s *Stack) resource(name string, v any, line int) (r *Resource, enabled bool, err error) {
	w, functions := s.Template.Version.words, s.Template.Version.functions
	body, ok := v.(*value.Map)
	if !ok {
		e := s.Template.validateResource(v)
		if e == nil {
			e = invalid("", "Resource %s is not a map", name)
		}
		e.Line = line
		return nil, false, e
	}
	f := fields{s, name, body}
	if err := s.checkKeys(f); err != nil {
		return nil, false, err
	}
	if !body.Has(w.typ) {
		return nil, false, under("", line, value.Errorf(KeyError, "%s",
			value.Repr(`Resource `+name+` is missing "`+w.typ+`"`)))
	}
	r = &Resource{Name: name, stack: s, line: line}
	typ, err := f.field(w.typ, functions, "string", isText)
	if err != nil {
		return nil, false, err
	}
	r.Type = typ.(string)
	if r.properties, err = f.field(w.properties, functions, "object", isMap); err != nil {
		return nil, false, err
	}
	if r.metadata, err = f.field(w.metadata, functions, "object", isMap); err != nil {
		return nil, false, err
	}
	if r.DependsOn, err = f.dependsOn(); err != nil {
		return nil, false, err
	}
	if r.DeletionPolicy, err = f.deletionPolicy(); err != nil {
		return nil, false, err
	}
	if r.updatePolicy, err = f.field(w.updatePolicy, functions, "object", isMap); err != nil {
		return nil, false, err
	}
	description, err := f.field(w.resourceDescription, nil, "string", isText)
	if err != nil {
		return nil, false, err
	}
	r.Description, _ = description.(string)
	if s.Template.Version.external {
		if r.externalID, err = f.field(w.externalID, functions, "string", func(v any) bool { return isText(v) || isCall(v) }); err != nil {
			return nil, false, err
		}
	}
	if r.externalID != nil {
		r.DeletionPolicy = "Retain"
	}
	enabled, err = f.enabled()
	return r, enabled, err
}

// checkKeys refuses keys that the version doesn't have; CFN templates may hold
// any.
func (s *Stack) checkKeys(f fields) error {
	if s.Template.Version.Type != "hot" {
		return nil
	}
	strange := []string{}
	for _, key := range f.body.Keys() {
		if name, isText := key.(string); !isText || !s.Template.Version.resourceKey(name) {
			strange = append(strange, value.Str(key))
		}
	}
	if len(strange) > 0 {
		return f.fail(strange[0], "Invalid keyword(s) inside a resource definition: %s", strings.Join(strange, ", "))
	}
	return nil
}

func (f fields) dependsOn() ([]string, error) {
	key := f.stack.Template.Version.words.dependsOn
	v, err := f.field(key, nil, "list or string", func(v any) bool {
		_, isList := v.([]any)
		return isList || isText(v)
	})
	if text, isText := v.(string); isText {
		return []string{text}, nil
	}
	list, _ := v.([]any)
	names := make([]string, 0, len(list))
	for _, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, f.fail(key, "Resource %s %s must be a list of strings", f.name, key)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

func (f fields) deletionPolicy() (string, error) {
	version := f.stack.Template.Version
	parsed, err := f.field(version.words.deletionPolicy, version.functions, "string", func(v any) bool { return isText(v) || isCall(v) })
	if err != nil {
		return "", err
	}
	v, err := f.stack.evaluation(nil).resolve(parsed)
	switch class := Class(err); {
	case class == ValueError, class == TypeError, class == KeyError:
		return "", under(join(version.words.resources, f.name, version.words.deletionPolicy), 0, err)
	case err != nil || v == nil:
		return "Delete", err
	}
	name, _ := v.(string)
	policy, known := version.deletionPolicy(name)
	if !known {
		return "", f.fail(version.words.deletionPolicy, `Invalid deletion policy "%s"`, value.Str(v))
	}
	return policy, nil
}

func (f fields) enabled() (bool, error) {
	version := f.stack.Template.Version
	if !version.conditions {
		return true, nil
	}
	key := version.words.condition
	expected := "string_or_boolean"
	if version.Type == "cfn" {
		expected = "string or boolean"
	}
	parsed, err := f.field(key, version.inConditions, expected, func(v any) bool {
		_, isBool := v.(bool)
		return isBool || isText(v) || isCall(v)
	})
	if err != nil {
		return false, err
	}
	v, err := f.stack.evaluation(nil).resolve(parsed)
	if err != nil {
		return false, err
	}
	enabled, err := f.stack.conditions.enabled(v)
	if Class(err) == ValueError {
		return false, under(join(version.words.resources, f.name, key), f.body.LineOf(key), err)
	}
	return enabled, err
}

// Properties are the properties with their functions worked out. One that can't be is
// a failed validation there, as one of a wrong value is.
func (r *Resource) Properties(attrs Attributes) (*value.Map, error) {
	return r.checked(r.properties, r.stack.Template.Version.words.properties, attrs)
}

// PropertyNames are the names of the properties, as far as they can be told before
// functions are worked out.
func (r *Resource) PropertyNames() []any {
	given, _ := r.properties.(*value.Map)
	return given.Keys()
}

// Metadata is the metadata with its functions worked out.
func (r *Resource) Metadata(attrs Attributes) (*value.Map, error) {
	return r.resolveMap(r.metadata, attrs)
}

// UpdatePolicy is the update policy with its functions worked out, as Properties are.
func (r *Resource) UpdatePolicy(attrs Attributes) (*value.Map, error) {
	return r.checked(r.updatePolicy, r.stack.Template.Version.words.updatePolicy, attrs)
}

// Facade is the resource as the stack sees it that stands for it.
func (r *Resource) Facade(attrs Attributes) *Facade {
	return &Facade{DeletionPolicy: r.DeletionPolicy,
		Metadata:     sync.OnceValues(func() (*value.Map, error) { return r.Metadata(attrs) }),
		UpdatePolicy: sync.OnceValues(func() (*value.Map, error) { return r.UpdatePolicy(attrs) })}
}

// ExternalID is the id of what the resource stands for, if that isn't the
// stack's own.
func (r *Resource) ExternalID(attrs Attributes) (string, error) {
	v, err := r.stack.evaluation(attrs).resolve(r.externalID)
	if v == nil || err != nil {
		return "", err
	}
	return value.Str(v), nil
}

// checked is resolveMap of a part whose entries a schema has: what is raised for one of
// them is said of it.
func (r *Resource) checked(parsed any, part string, attrs Attributes) (*value.Map, error) {
	given, ok := parsed.(*value.Map)
	if !ok {
		return r.resolveMap(parsed, attrs)
	}
	m, name, err := r.stack.evaluation(attrs).entries(given)
	if err == nil {
		return m, nil
	}
	wrong := asError(err)
	path := join(r.stack.Template.Version.words.resources, r.Name, part, value.Str(name))
	if wrong.Class == ValidationFailed {
		path = join(path, wrong.Path)
	}
	return nil, &Error{Class: ValidationFailed, About: "Property error", Path: path, Line: wrong.Line, Message: wrong.Message}
}

func (r *Resource) resolveMap(parsed any, attrs Attributes) (*value.Map, error) {
	v, err := r.stack.evaluation(attrs).resolve(parsed)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return &value.Map{}, nil
	}
	m, ok := v.(*value.Map)
	if !ok {
		e := invalid(join(r.stack.Template.Version.words.resources, r.Name), "expected a map, found a %s", value.TypeName(v))
		e.Line = r.line
		return nil, e
	}
	return m, nil
}
