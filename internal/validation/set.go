package validation

// Which schema binds which operation at which microversions.

import (
	"fmt"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/pyjson"
)

// Key names an operation as the contracts do; Action is empty for most.
type Key struct{ Method, Path, Action string }

// binding is a schema and the microversions that it is for.
type binding struct {
	versions microversion.Range
	schema   *Schema
	others   *others
}

// Bindings are the schemas of one operation. Nil checks nothing.
type Bindings struct {
	all []binding
	// where words what the schemas are of, "field/attribute" or "query parameters".
	where string
	// name picks what stands for a failure's path.
	name func(path []any) any
}

// Set are the schemas of a service.
type Set struct {
	bodies, queries map[Key]*Bindings
}

// Body gives the schemas of an operation's body, nil if it has none.
func (s *Set) Body(k Key) *Bindings {
	if s == nil {
		return nil
	}
	return s.bodies[k]
}

// Query gives the schemas of an operation's query, which is a map from each
// parameter to the list of its values; nil if it has none.
func (s *Set) Query(k Key) *Bindings {
	if s == nil {
		return nil
	}
	return s.queries[k]
}

// Keys are the operations that have a schema of either kind.
func (s *Set) Keys() []Key {
	var keys []Key
	for _, kind := range []map[Key]*Bindings{s.bodies, s.queries} {
		for k := range kind {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// at is what binds at a microversion, nil if nothing does.
func (b *Bindings) at(v microversion.Version) *binding {
	if b == nil {
		return nil
	}
	for i := range b.all {
		if b.all[i].versions.Has(v) {
			return &b.all[i]
		}
	}
	return nil
}

// Knows says whether the schema of a microversion names a key of the top level.
// Without a schema every key is known.
func (b *Bindings) Knows(v microversion.Version, key string) bool {
	bound := b.at(v)
	return bound == nil || bound.others.knows(key)
}

// Check validates a value at a microversion. Errors: faults.Invalid, code
// ValidationError, in the originals' words.
func (b *Bindings) Check(v microversion.Version, value any) error {
	bound := b.at(v)
	if bound == nil {
		return nil
	}
	f := bound.schema.Validate(value)
	if f == nil {
		return nil
	}
	if f.Whole || len(f.Path) == 0 {
		return faults.New(faults.Invalid, "ValidationError", "%s", f.Message)
	}
	return faults.New(faults.Invalid, "ValidationError", "Invalid input for %s %s. Value: %s. %s",
		b.where, pyjson.Str(b.name(f.Path)), pyjson.Str(f.Value), f.Message)
}

// Load reads schemas/<service>/requests.json, whose form that folder's
// generator gives: bindings by operation, and the schemas by name.
func Load(text []byte) (*Set, error) {
	value, _, err := pyjson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("request schemas: %w", err)
	}
	l := loader{file: value, schemas: map[string]*Schema{}}
	l.compiler.patterns = map[string]*Pattern{}
	s := &Set{}
	if s.bodies, err = l.bindings("body"); err != nil {
		return nil, err
	}
	if s.queries, err = l.bindings("query"); err != nil {
		return nil, err
	}
	return s, nil
}

// like is how the two kinds word a failure: of a body the last step of the path
// is named, of a query the parameter.
var like = map[string]Bindings{
	"body":  {where: "field/attribute", name: func(path []any) any { return path[len(path)-1] }},
	"query": {where: "query parameters", name: func(path []any) any { return path[0] }},
}

type loader struct {
	compiler
	file    any
	schemas map[string]*Schema
}

func (l *loader) bindings(kind string) (map[Key]*Bindings, error) {
	rows, _ := get(l.file, kind).([]any)
	all := map[Key]*Bindings{}
	for _, row := range rows {
		k := Key{text(row, "method"), text(row, "path"), text(row, "action")}
		b := like[kind]
		bound, _ := get(row, "schemas").([]any)
		for _, each := range bound {
			made, err := l.binding(each)
			if err != nil {
				return nil, fmt.Errorf("request schemas: %s %s %s: %w", k.Method, k.Path, k.Action, err)
			}
			b.all = append(b.all, made)
		}
		all[k] = &b
	}
	return all, nil
}

func (l *loader) binding(source any) (b binding, err error) {
	if b.versions.Min, err = version(text(source, "min")); err != nil {
		return b, err
	}
	if b.versions.Max, err = version(text(source, "max")); err != nil {
		return b, err
	}
	name := text(source, "schema")
	if b.schema, err = l.schema(name); err != nil {
		return b, err
	}
	object, _ := get(get(l.file, "schemas"), name).(*pyjson.Object)
	b.others, err = l.others(object)
	return b, err
}

func (l *loader) schema(name string) (*Schema, error) {
	if s, ok := l.schemas[name]; ok {
		return s, nil
	}
	s, err := l.compile(get(get(l.file, "schemas"), name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.schemas[name] = s
	return s, nil
}

func version(text string) (microversion.Version, error) {
	if text == "" {
		return microversion.Version{}, nil
	}
	return microversion.Parse(text)
}

func get(source any, key string) any {
	object, _ := source.(*pyjson.Object)
	value, _ := object.Get(key)
	return value
}

func text(source any, key string) string {
	s, _ := get(source, key).(string)
	return s
}
