package validation

// The keywords: what each checks and how it refuses.

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast.dev/internal/pyjson"
)

// builder makes a keyword's check of its value; schema is the object that it
// stands in. A nil check is always true.
type builder func(c *compiler, value any, schema *pyjson.Object) (check, error)

var keywords map[string]builder

func init() {
	// Set here since the builders of subschemas look the table up again.
	keywords = map[string]builder{
		"type":                 buildType,
		"enum":                 buildEnum,
		"properties":           buildProperties,
		"patternProperties":    buildPatternProperties,
		"additionalProperties": buildAdditionalProperties,
		"required":             buildRequired,
		"minProperties":        buildSize(objectSize, tooFew("does not have enough properties")),
		"maxProperties":        buildSize(objectSize, tooMany("has too many properties")),
		"items":                buildItems,
		"prefixItems":          buildPrefixItems,
		"minItems":             buildSize(arraySize, tooFew("is too short")),
		"maxItems":             buildSize(arraySize, tooMany("is too long")),
		"uniqueItems":          buildUniqueItems,
		"minLength":            buildSize(stringSize, tooFew("is too short")),
		"maxLength":            buildSize(stringSize, tooMany("is too long")),
		"pattern":              buildPattern,
		"format":               buildFormat,
		"minimum":              buildBound("%s is less than the minimum of %s", readNumber, func(order int) bool { return order < 0 }),
		"maximum":              buildBound("%s is greater than the maximum of %s", readNumber, func(order int) bool { return order > 0 }),
		"exclusiveMinimum":     buildBound("%s is less than or equal to the minimum of %s", asNumber, func(order int) bool { return order <= 0 }),
		"allOf":                buildAllOf,
		"anyOf":                buildAnyOf,
		"oneOf":                buildOneOf,
	}
}

// isType says whether a value has one of JSON schema's types; 1.0 is an integer.
func isType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case *big.Int:
		return name == "integer" || name == "number"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v) && !math.IsInf(v, 0)
	case []any:
		return name == "array"
	case *pyjson.Object:
		return name == "object"
	}
	return false
}

func buildType(_ *compiler, value any, _ *pyjson.Object) (check, error) {
	types, ok := value.([]any)
	if !ok {
		types = []any{value}
	}
	var names, quoted []string
	for _, t := range types {
		name, ok := t.(string)
		if !ok {
			return nil, errors.New("a type is a string")
		}
		names, quoted = append(names, name), append(quoted, pyjson.Repr(name))
	}
	list := strings.Join(quoted, ", ")
	return func(v any) *Failure {
		if slices.ContainsFunc(names, func(name string) bool { return isType(v, name) }) {
			return nil
		}
		return failf(v, "%s is not of type %s", pyjson.Repr(v), list)
	}, nil
}

func buildEnum(_ *compiler, value any, _ *pyjson.Object) (check, error) {
	allowed, ok := value.([]any)
	if !ok {
		return nil, errors.New("not a list")
	}
	list := pyjson.Repr(allowed)
	return func(v any) *Failure {
		if slices.ContainsFunc(allowed, func(a any) bool { return pyjson.Equal(a, v) }) {
			return nil
		}
		return failf(v, "%s is not one of %s", pyjson.Repr(v), list)
	}, nil
}

func buildProperties(c *compiler, value any, _ *pyjson.Object) (check, error) {
	properties, err := c.compileNamed(value)
	if err != nil {
		return nil, err
	}
	return func(v any) *Failure {
		object, _ := v.(*pyjson.Object)
		for _, p := range properties {
			if sent, there := object.Get(p.name); there {
				if f := p.schema.Validate(sent); f != nil {
					return f.under(p.name)
				}
			}
		}
		return nil
	}, nil
}

func buildPatternProperties(c *compiler, value any, _ *pyjson.Object) (check, error) {
	properties, err := c.compileNamed(value)
	if err != nil {
		return nil, err
	}
	patterns := make([]*Pattern, len(properties))
	for i, p := range properties {
		if patterns[i], err = c.pattern(p.name); err != nil {
			return nil, err
		}
	}
	return func(v any) *Failure {
		object, _ := v.(*pyjson.Object)
		for i, p := range properties {
			for _, key := range object.Keys() {
				if sent, _ := object.Get(key); patterns[i].Match(key) {
					if f := p.schema.Validate(sent); f != nil {
						return f.under(key)
					}
				}
			}
		}
		return nil
	}, nil
}

// others are the keys that neither properties nor patternProperties name.
type others struct {
	names    *pyjson.Object
	patterns []*Pattern
	list     string // the patterns, for the message
}

func (c *compiler) others(schema *pyjson.Object) (*others, error) {
	o := &others{}
	if names, ok := schema.Get("properties"); ok {
		o.names, _ = names.(*pyjson.Object)
	}
	patterns, _ := schema.Get("patternProperties")
	object, _ := patterns.(*pyjson.Object)
	var quoted []string
	for _, text := range slices.Sorted(slices.Values(object.Keys())) {
		p, err := c.pattern(text)
		if err != nil {
			return nil, err
		}
		o.patterns, quoted = append(o.patterns, p), append(quoted, pyjson.Repr(text))
	}
	o.list = strings.Join(quoted, ", ")
	return o, nil
}

func (o *others) of(object *pyjson.Object) []string {
	var keys []string
	for _, key := range object.Keys() {
		if !o.knows(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (o *others) knows(key string) bool {
	_, named := o.names.Get(key)
	return named || slices.ContainsFunc(o.patterns, func(p *Pattern) bool { return p.Match(key) })
}

func buildAdditionalProperties(c *compiler, value any, schema *pyjson.Object) (check, error) {
	if value == true {
		return nil, nil
	}
	o, err := c.others(schema)
	if err != nil {
		return nil, err
	}
	if value == false {
		return func(v any) *Failure {
			object, _ := v.(*pyjson.Object)
			if extras := o.of(object); len(extras) > 0 {
				return o.refuse(v, extras)
			}
			return nil
		}, nil
	}
	each, err := c.compile(value)
	if err != nil {
		return nil, err
	}
	return func(v any) *Failure {
		object, _ := v.(*pyjson.Object)
		for _, key := range o.of(object) {
			sent, _ := object.Get(key)
			if f := each.Validate(sent); f != nil {
				return f.under(key)
			}
		}
		return nil
	}, nil
}

func (o *others) refuse(v any, extras []string) *Failure {
	slices.Sort(extras)
	quoted := make([]string, len(extras))
	for i, key := range extras {
		quoted[i] = pyjson.Repr(key)
	}
	list, one := strings.Join(quoted, ", "), len(extras) == 1
	if o.list != "" {
		return failf(v, "%s %s not match any of the regexes: %s", list, choose(one, "does", "do"), o.list)
	}
	return failf(v, "Additional properties are not allowed (%s %s unexpected)", list, choose(one, "was", "were"))
}

func choose(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func buildRequired(_ *compiler, value any, _ *pyjson.Object) (check, error) {
	names, ok := value.([]any)
	if !ok {
		return nil, errors.New("not a list")
	}
	return func(v any) *Failure {
		object, isObject := v.(*pyjson.Object)
		if !isObject {
			return nil
		}
		for _, name := range names {
			if _, there := object.Get(pyjson.Str(name)); !there {
				return failf(v, "%s is a required property", pyjson.Repr(name))
			}
		}
		return nil
	}, nil
}

// Sizes; -1 is a value that the keyword doesn't concern.

func objectSize(v any) int {
	if object, ok := v.(*pyjson.Object); ok {
		return object.Len()
	}
	return -1
}

func arraySize(v any) int {
	if array, ok := v.([]any); ok {
		return len(array)
	}
	return -1
}

func stringSize(v any) int {
	if s, ok := v.(string); ok {
		return utf8.RuneCountInString(s)
	}
	return -1
}

// tooFew and tooMany word a size that is out of its bound; "" is none.

func tooFew(words string) func(size, bound int) string {
	return func(size, bound int) string {
		switch {
		case size >= bound:
			return ""
		case bound == 1:
			return "should be non-empty"
		}
		return words
	}
}

func tooMany(words string) func(size, bound int) string {
	return func(size, bound int) string {
		switch {
		case size <= bound:
			return ""
		case bound == 0:
			return "is expected to be empty"
		}
		return words
	}
}

func buildSize(size func(any) int, wrong func(size, bound int) string) builder {
	return func(_ *compiler, value any, _ *pyjson.Object) (check, error) {
		n, ok := value.(*big.Int)
		if !ok || !n.IsInt64() {
			return nil, errors.New("not an integer")
		}
		bound := int(n.Int64())
		return func(v any) *Failure {
			has := size(v)
			if has < 0 {
				return nil
			}
			if words := wrong(has, bound); words != "" {
				return failf(v, "%s %s", pyjson.Repr(v), words)
			}
			return nil
		}, nil
	}
}

func buildItems(c *compiler, value any, schema *pyjson.Object) (check, error) {
	each, err := c.compile(value)
	if err != nil {
		return nil, err
	}
	first := 0
	if prefix, ok := schema.Get("prefixItems"); ok {
		first = arraySize(prefix)
	}
	return func(v any) *Failure {
		array, _ := v.([]any)
		for i := first; i < len(array); i++ {
			if f := each.Validate(array[i]); f != nil {
				return f.under(i)
			}
		}
		return nil
	}, nil
}

func buildPrefixItems(c *compiler, value any, _ *pyjson.Object) (check, error) {
	prefix, err := c.compileAll(value)
	if err != nil {
		return nil, err
	}
	return func(v any) *Failure {
		array, _ := v.([]any)
		for i := range min(len(array), len(prefix)) {
			if f := prefix[i].Validate(array[i]); f != nil {
				return f.under(i)
			}
		}
		return nil
	}, nil
}

func buildUniqueItems(_ *compiler, value any, _ *pyjson.Object) (check, error) {
	if value != true {
		return nil, nil
	}
	return func(v any) *Failure {
		array, _ := v.([]any)
		if repeats(array) {
			return failf(v, "%s has non-unique elements", pyjson.Repr(v))
		}
		return nil
	}, nil
}

// repeats looks strings up and compares the rest, of which there are few where
// schemas ask for unique items.
func repeats(array []any) bool {
	seen := map[string]bool{}
	var rest []any
	for _, item := range array {
		s, ok := item.(string)
		if ok && seen[s] || !ok && slices.ContainsFunc(rest, func(r any) bool { return pyjson.Equal(r, item) }) {
			return true
		}
		if ok {
			seen[s] = true
			continue
		}
		rest = append(rest, item)
	}
	return false
}

func buildPattern(c *compiler, value any, _ *pyjson.Object) (check, error) {
	text, ok := value.(string)
	if !ok {
		return nil, errors.New("not a string")
	}
	p, err := c.pattern(text)
	if err != nil {
		return nil, err
	}
	quoted := pyjson.Repr(text)
	return func(v any) *Failure {
		if s, ok := v.(string); ok && !p.Match(s) {
			return failf(v, "%s does not match %s", pyjson.Repr(v), quoted)
		}
		return nil
	}, nil
}

func buildFormat(_ *compiler, value any, _ *pyjson.Object) (check, error) {
	name, _ := value.(string)
	f, ok := formats[name]
	if !ok {
		return nil, fmt.Errorf("unknown format %s", pyjson.Repr(value))
	}
	return func(v any) *Failure {
		switch {
		case f.accepts(v):
			return nil
		case f.message != "":
			return &Failure{Value: v, Message: f.message, Whole: true}
		}
		return failf(v, "%s is not a %s", pyjson.Repr(v), pyjson.Repr(name))
	}, nil
}

// buildBound makes minimum and its kin; read says which values are numbers.
func buildBound(words string, read func(any) (any, bool), outside func(order int) bool) builder {
	return func(_ *compiler, bound any, _ *pyjson.Object) (check, error) {
		if _, ok := asNumber(bound); !ok {
			return nil, errors.New("not a number")
		}
		return func(v any) *Failure {
			n, ok := read(v)
			if !ok {
				return nil
			}
			if order, ok := pyjson.Compare(n, bound); ok && outside(order) {
				return failf(v, words, pyjson.Repr(n), pyjson.Repr(bound))
			}
			return nil
		}, nil
	}
}

func asNumber(v any) (any, bool) {
	switch v.(type) {
	case *big.Int, float64:
		return v, true
	}
	return nil, false
}

func buildAllOf(c *compiler, value any, _ *pyjson.Object) (check, error) {
	all, err := c.compileAll(value)
	if err != nil {
		return nil, err
	}
	return func(v any) *Failure {
		for _, s := range all {
			if f := s.Validate(v); f != nil {
				return f
			}
		}
		return nil
	}, nil
}

func notUnderAny(v any, schemas []*Schema) *Failure {
	f := failf(v, "%s is not valid under any of the given schemas", pyjson.Repr(v))
	if len(schemas) > 0 {
		f.Cause = schemas[0].Validate(v)
	}
	return f
}

func buildAnyOf(c *compiler, value any, _ *pyjson.Object) (check, error) {
	schemas, err := c.compileAll(value)
	if err != nil {
		return nil, err
	}
	return func(v any) *Failure {
		for _, s := range schemas {
			if s.Validate(v) == nil {
				return nil
			}
		}
		return notUnderAny(v, schemas)
	}, nil
}

func buildOneOf(c *compiler, value any, _ *pyjson.Object) (check, error) {
	all, err := c.compileAll(value)
	if err != nil {
		return nil, err
	}
	sources := value.([]any)
	return func(v any) *Failure {
		var valid []string
		for i, s := range all {
			if s.Validate(v) == nil {
				valid = append(valid, pyjson.Repr(sources[i]))
			}
		}
		switch len(valid) {
		case 0:
			return notUnderAny(v, all)
		case 1:
			return nil
		}
		// python-jsonschema names the first of them last.
		return failf(v, "%s is valid under each of %s", pyjson.Repr(v), strings.Join(append(valid[1:], valid[0]), ", "))
	}, nil
}
