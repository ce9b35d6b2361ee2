package hot

// A template: its version and its sections.

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast.dev/internal/hot/value"
)

// Limits are what a deployment may set.
type Limits struct {
	// TemplateSize is how many characters a template may have; 0 is MaxTemplate.
	TemplateSize int
}

// Template is a template of a known version. It is never changed.
type Template struct {
	// Version is the version, and Alias the name by which the template has it.
	Version *Version
	Alias   string
	body    *value.Map
}

// Parse reads a template from text, JSON or YAML. Where says what the text is,
// for the errors: the root stack if it is empty.
func Parse(text, where string, limits Limits) (*Template, error) {
	limit := limits.TemplateSize
	if limit == 0 {
		limit = MaxTemplate
	}
	if size := utf8.RuneCountInString(text); size > limit {
		return nil, failf(LimitExceeded, "Request limit exceeded: Template size (%d bytes) exceeds maximum allowed size (%d bytes).",
			size, limit)
	}
	if where == "" {
		where = "[root stack]"
	}
	body, err := readMap(text, "Error parsing template "+where+" ", "The template is not a JSON object or YAML mapping.")
	if err != nil {
		return nil, err
	}
	if !body.Has(keyHeat) && !body.Has(keyHOT) && !body.Has(keyAWS) {
		return nil, failf(ValueError, "Template format version not found.")
	}
	return New(body)
}

// ParseMap reads a text, JSON or YAML, that holds a map, of the depth and the number
// of values that a template may have. Errors: ValueError.
func ParseMap(text string) (*value.Map, error) {
	return readMap(text, "", "The template is not a JSON object or YAML mapping.")
}

// readMap reads a text that must hold a map; an empty one is an empty map.
func readMap(text, prefix, otherwise string) (*value.Map, error) {
	v, err := read(text)
	if err != nil {
		e := failf(ValueError, "%s%s", prefix, err)
		var at *unreadable
		if errors.As(err, &at) && at.line > 0 {
			e.Message, e.Line = prefix+at.what, at.line
		}
		return nil, e
	}
	switch m := v.(type) {
	case nil:
		return &value.Map{}, nil
	case *value.Map:
		return m, nil
	}
	return nil, failf(ValueError, "%s", otherwise)
}

// New makes a template of a map: what a request body holds, or a database.
func New(body *value.Map) (*Template, error) {
	present := []string{}
	for _, key := range []string{keyAWS, keyHeat, keyHOT} {
		if v, there := body.Get(key); there {
			if _, isText := v.(string); isText {
				present = append(present, key)
			}
		}
	}
	switch len(present) {
	case 0:
		return nil, badVersion("Template version was not provided")
	case 1:
	default:
		return nil, badVersion("Ambiguous versions (" + strings.Join(present, ", ") + ")")
	}
	key := present[0]
	v, _ := body.Get(key)
	name := value.Str(v)
	version, known := all[key+"."+name]
	if known {
		return &Template{Version: version, Alias: name, body: body}, nil
	}
	available := []string{}
	for full := range all {
		if rest, ok := strings.CutPrefix(full, key+"."); ok {
			available = append(available, rest)
		}
	}
	slices.Sort(available)
	should := "should be one of"
	if len(available) == 1 {
		should = "should be"
	}
	e := badVersion(`"` + key + ": " + value.Clip(name, 200) + `". "` + key + `" ` + should + ": " +
		strings.Join(available, ", "))
	e.Line = body.LineOf(key)
	return nil, e
}

func badVersion(why string) *Error {
	return failf(InvalidVersion, "The template version is invalid: %s", why)
}

// Body is the template as it was read.
func (t *Template) Body() *value.Map { return t.body }

// Description is the template's description.
func (t *Template) Description() any {
	if v, _ := t.body.Get(t.Version.words.description); value.Truth(v) {
		return v
	}
	return "No description"
}

// section is a section of the template; an empty one is an empty map.
func (t *Template) section(name string) (*value.Map, error) {
	v, _ := t.body.Get(name)
	if m, ok := v.(*value.Map); ok {
		return m, nil
	}
	if !value.Truth(v) {
		return &value.Map{}, nil
	}
	e := invalid(name, "expected a map, found a %s", value.TypeName(v))
	e.Line = t.body.LineOf(name)
	return nil, e
}

// Names are the names of the resources, disabled ones too, in their order.
func (t *Template) Names() []string {
	resources, err := t.section(t.Version.words.resources)
	if err != nil {
		return nil
	}
	names := make([]string, 0, resources.Len())
	for _, key := range resources.Keys() {
		names = append(names, value.Str(key))
	}
	return names
}

// Validate checks what the template has at its top and whether each resource
// has a type. What is inside is checked as it is bound to parameters.
func (t *Template) Validate() error {
	for _, key := range t.body.Keys() {
		if name, isText := key.(string); !isText || !t.Version.section(name) {
			e := failf(InvalidSection, "The template section is invalid: %s", value.Str(key))
			e.Line = t.body.LineOf(key)
			return e
		}
	}
	w := t.Version.words
	resources, err := t.section(w.resources)
	if err != nil {
		return err
	}
	for i := range resources.Len() {
		key, v := resources.At(i)
		if err := t.validateResource(v); err != nil {
			err.Line = resources.LineOf(key)
			return err
		}
	}
	return nil
}

// validateResource says what is wrong with a resource's form. The formats have
// texts of their own.
func (t *Template) validateResource(v any) *Error {
	w := t.Version.words
	m, isMap := v.(*value.Map)
	hot := t.Version.Type == "hot"
	switch {
	case !value.Truth(v):
		return invalid("", "Each %s must contain a %s key.", map[bool]string{true: "resource", false: "Resource"}[hot], w.typ)
	case !isMap && hot:
		return invalid("", `"resources" must contain a map of resource maps. Found a [<class '%s'>] instead`, value.TypeName(v))
	case !isMap:
		return invalid("", "Resources must contain Resource. Found a [<class '%s'>] instead", value.TypeName(v))
	}
	if hot {
		for _, key := range m.Keys() {
			if name := value.Str(key); !t.Version.resourceKey(name) && name != w.externalID && name != w.condition {
				return invalid("", `"%s" is not a valid keyword inside a resource definition`, name)
			}
		}
	}
	if typ, there := m.Get(w.typ); !there || !value.Truth(typ) {
		if hot && there {
			return invalid("", "Each Resource must contain a Type key.")
		}
		return invalid("", "Each %s must contain a %s key.", map[bool]string{true: "resource", false: "Resource"}[hot], w.typ)
	}
	return nil
}
