package validation

// Schemas: compiled once, then asked.

import (
	"fmt"
	"slices"

	"holdfast.dev/internal/pyjson"
)

// Failure is the first thing in a value that a schema refuses.
type Failure struct {
	// Path leads to the value: keys, and indexes of arrays as ints.
	Path []any
	// Value is what was found there.
	Value any
	// Message is python-jsonschema's.
	Message string
	// Whole says that Message stands for itself, without path and value.
	Whole bool
	// Cause is why the first of several schemas refused the value that fits none.
	Cause *Failure
}

// Schema is a compiled schema.
type Schema struct {
	checks []check
}

// check is one keyword; nil is no failure.
type check func(value any) *Failure

// Validate gives the first failure in the schema's order, nil for none.
func (s *Schema) Validate(value any) *Failure {
	for _, c := range s.checks {
		if f := c(value); f != nil {
			return f
		}
	}
	return nil
}

// under puts a step before a failure's path.
func (f *Failure) under(step any) *Failure {
	if f != nil {
		f.Path = slices.Insert(f.Path, 0, step)
	}
	return f
}

func failf(value any, format string, args ...any) *Failure {
	return &Failure{Value: value, Message: fmt.Sprintf(format, args...)}
}

// compiler shares patterns between schemas.
type compiler struct {
	patterns map[string]*Pattern
}

// annotations are keywords that say nothing about validity; additionalItems is
// none of draft 2020-12, though two schemas have it.
var annotations = []string{"title", "description", "default", "additionalItems", "$comment"}

// Compile reads a schema of the form pyjson.Parse gives.
func Compile(source any) (*Schema, error) {
	return (&compiler{patterns: map[string]*Pattern{}}).compile(source)
}

func (c *compiler) compile(source any) (*Schema, error) {
	object, ok := source.(*pyjson.Object)
	if !ok {
		return nil, fmt.Errorf("a schema is an object, not %s", pyjson.Repr(source))
	}
	s := &Schema{}
	for _, keyword := range object.Keys() {
		if slices.Contains(annotations, keyword) {
			continue
		}
		build, known := keywords[keyword]
		if !known {
			return nil, fmt.Errorf("unknown keyword %q", keyword)
		}
		value, _ := object.Get(keyword)
		made, err := build(c, value, object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyword, err)
		}
		if made != nil {
			s.checks = append(s.checks, made)
		}
	}
	return s, nil
}

func (c *compiler) compileAll(source any) ([]*Schema, error) {
	list, ok := source.([]any)
	if !ok {
		return nil, fmt.Errorf("not a list")
	}
	all := make([]*Schema, len(list))
	for i, item := range list {
		var err error
		if all[i], err = c.compile(item); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// named is a schema and the key or pattern it stands under.
type named struct {
	name   string
	schema *Schema
}

func (c *compiler) compileNamed(source any) ([]named, error) {
	object, ok := source.(*pyjson.Object)
	if !ok {
		return nil, fmt.Errorf("not an object")
	}
	all := make([]named, 0, object.Len())
	for _, name := range object.Keys() {
		value, _ := object.Get(name)
		schema, err := c.compile(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, named{name, schema})
	}
	return all, nil
}

func (c *compiler) pattern(text string) (*Pattern, error) {
	if p, ok := c.patterns[text]; ok {
		return p, nil
	}
	p, err := CompilePattern(text)
	if err != nil {
		return nil, err
	}
	c.patterns[text] = p
	return p, nil
}
