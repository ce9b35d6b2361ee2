package resourcetype

// Expressions of mappings: texts in which $(name) stands for a value.
//
//	$(network)               a property
//	$(routes.destination)    what is in it
//	$(name|self.mark|'x')    the first of these that isn't null
//	$(self.id)               the resource: id, mark, name, project
//	$(object.status)         what the service says of it
//	$(item.subnet)           of a list, the item that each is for
//	$(gone.tags)             what a list had, or the keys that a map had, before an
//	                         update, and has no more
//	$(none), $(tags|[])      a null that is sent, a list of nothing
//
// A text that is one expression is its value, of whatever type; in others values
// are written as text, escaped in a path. Nulls in maps and lists are left out.
// Maps with these keys stand for something:
//
//	+, ++, ...                      what these hold is merged into the map
//	{each: LIST, give: VALUE}       a list of values, one for every item
//	{when: TRUTH, give: VALUE}      the value, or null
//	{base64: TEXT}                  the text in base64, if there is one
//	{nullable: TEXT, unless: TEXT}  the text; an empty one is a null that is sent,
//	                                and the one it is unless is left out

import (
	"encoding/base64"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// Scope is what expressions read.
type Scope struct {
	Properties *value.Map
	// Self is what is known of the resource: id, mark, name, project.
	Self *value.Map
	// Object is what the service says of it, Item the item of a list.
	Object, Item any
	// Gone is by property what it had before an update.
	Gone *value.Map
}

var expression = regexp.MustCompile(`\$\(([^()]*)\)`)

// roots are the names in expressions that are no properties.
var roots = []string{"self", "object", "item", "gone", "none"}

// null is a null that is sent.
type null struct{}

func sent(v any) any {
	if _, ok := v.(null); ok {
		return nil
	}
	return v
}

// Value works out a value.
func (s Scope) Value(v *Value) any {
	if v == nil {
		return nil
	}
	return sent(s.value(v.template))
}

// Text works out a text that is one expression, or any other.
func (s Scope) Text(text string) any { return sent(s.value(text)) }

// Wanted works out a value that something is compared with, and whether there is
// anything to compare.
func (s Scope) Wanted(v *Value) (want any, some bool) {
	worked := s.value(v.template)
	return sent(worked), worked != nil
}

// Template is the value with its expressions.
func (v *Value) Template() any { return v.template }

// First works out the first of some texts all of whose properties are there; nil if
// there is none.
func (s Scope) First(texts []string) any {
	for _, text := range texts {
		missing := func(name string) bool { v, _ := s.Properties.Get(name); return v == nil || v == "" }
		if !slices.ContainsFunc(Names(text), missing) {
			return s.Text(text)
		}
	}
	return nil
}

// Path works out a path with its query; what it stands for can't lead elsewhere.
func (s Scope) Path(text string) string {
	path, query, _ := strings.Cut(text, "?")
	fill := func(in string, escape func(string) string) string {
		return expression.ReplaceAllStringFunc(in, func(one string) string { return escape(written(s.term(one[2 : len(one)-1]))) })
	}
	segment := func(text string) string {
		if text == "." || text == ".." || text == "" {
			return "%2E" // no name of anything
		}
		return url.PathEscape(text)
	}
	if path = fill(path, segment); query != "" {
		path += "?" + fill(query, url.QueryEscape)
	}
	return path
}

func (s Scope) value(template any) any {
	switch t := template.(type) {
	case string:
		if at := expression.FindStringIndex(t); at != nil && at[0] == 0 && at[1] == len(t) {
			return s.term(t[2 : len(t)-1])
		}
		return expression.ReplaceAllStringFunc(t, func(one string) string { return written(s.term(one[2 : len(one)-1])) })
	case *value.Map:
		return s.mapping(t)
	case []any:
		list := []any{}
		for _, one := range t {
			if v := s.value(one); v != nil {
				list = append(list, sent(v))
			}
		}
		return list
	}
	return template
}

func (s Scope) mapping(t *value.Map) any {
	give, _ := t.Get("give")
	if each, ok := t.Get("each"); ok && t.Has("give") {
		items, ok := s.value(each).([]any)
		if !ok {
			return nil
		}
		list := []any{}
		for _, item := range items {
			inner := s
			inner.Item = item
			list = append(list, sent(inner.value(give)))
		}
		return list
	}
	if when, ok := t.Get("when"); ok && t.Has("give") {
		if !value.Truth(sent(s.value(when))) {
			return nil
		}
		return s.value(give)
	}
	if text, ok := t.Get("base64"); ok && t.Len() == 1 {
		if content := written(s.value(text)); content != "" {
			return base64.StdEncoding.EncodeToString([]byte(content))
		}
		return nil
	}
	if text, ok := t.Get("nullable"); ok {
		unless, _ := t.Get("unless")
		switch v := s.value(text); v {
		case "":
			return null{}
		case unless:
			return nil
		default:
			return v
		}
	}
	m := &value.Map{}
	for i := range t.Len() {
		key, one := t.At(i)
		if v := s.value(one); v != nil {
			put(m, key, v)
		}
	}
	return m
}

// put sets a key of a map, or merges a map into it.
func put(m *value.Map, key, v any) {
	more, isMap := v.(*value.Map)
	switch {
	case strings.Trim(value.Str(key), "+") != "":
		m.Set(key, sent(v))
	case isMap:
		for i := range more.Len() {
			m.Set(more.At(i))
		}
	}
}

// term is the first of some alternatives that isn't null.
func (s Scope) term(text string) any {
	for one := range strings.SplitSeq(text, "|") {
		switch {
		case len(one) > 1 && one[0] == '\'':
			return strings.Trim(one, "'")
		case one == "none":
			return null{}
		case one == "[]":
			return []any{}
		}
		parts := strings.Split(one, ".")
		var v any
		switch parts[0] {
		case "self":
			v = s.Self
		case "object":
			v = s.Object
		case "item":
			v = s.Item
		case "gone":
			v = s.Gone
		default:
			v, _ = s.Properties.Get(parts[0])
		}
		path := make([]any, 0, len(parts)-1)
		for _, part := range parts[1:] {
			if n, whole := value.ToInt(part); whole {
				path = append(path, n) // a place in a list
				continue
			}
			path = append(path, part)
		}
		if v = hot.Select(v, path); v != nil {
			return v
		}
	}
	return nil
}

// written is a value in a text.
func written(v any) string {
	switch x := v.(type) {
	case nil, null:
		return ""
	case bool:
		if x {
			return "true"
		}
		return "false"
	}
	return value.Str(v)
}

// Names are the properties that templates read, each once.
func Names(template any) []string {
	return terms(template, func(name, _ string) string {
		if slices.Contains(roots, name) {
			return ""
		}
		return name
	})
}

// GoneNames are the properties of which templates read what is gone, each once.
func GoneNames(template any) []string {
	return terms(template, func(name, more string) string {
		if name != "gone" {
			return ""
		}
		name, _, _ = strings.Cut(more, ".")
		return name
	})
}

// terms are what is made of the terms of templates, each once; an empty text is nothing.
func terms(template any, of func(name, more string) string) []string {
	names := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch t := v.(type) {
		case string:
			for _, found := range expression.FindAllStringSubmatch(t, -1) {
				for one := range strings.SplitSeq(found[1], "|") {
					name, more, _ := strings.Cut(one, ".")
					if name == "" || name[0] == '\'' || name[0] == '[' {
						continue
					}
					if name = of(name, more); name != "" {
						names[name] = true
					}
				}
			}
		case *value.Map:
			for i := range t.Len() {
				_, one := t.At(i)
				walk(one)
			}
		case []any:
			for _, one := range t {
				walk(one)
			}
		}
	}
	walk(template)
	return slices.Sorted(maps.Keys(names))
}

// Changed works out a body of an update: of the fields in its envelope those that
// read a property that has changed, null if it has become so. There are none if
// ok is false.
func (s Scope) Changed(v *Value, changed []string) (body any, ok bool) {
	whole, isMap := v.template.(*value.Map)
	if !isMap || whole.Len() != 1 {
		return nil, false
	}
	key, inner := whole.At(0)
	fields, isMap := inner.(*value.Map)
	if !isMap {
		return nil, false
	}
	m := &value.Map{}
	for i := range fields.Len() {
		name, template := fields.At(i)
		if !slices.ContainsFunc(Names(template), func(n string) bool { return slices.Contains(changed, n) }) {
			continue
		}
		put(m, name, s.value(template))
	}
	return value.NewMap(key, m), m.Len() > 0
}
