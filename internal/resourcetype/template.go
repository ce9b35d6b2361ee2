package resourcetype

// Types that are templates: their parameters are the properties, their outputs the
// attributes.

import (
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// parameterTypes are the types of properties that parameters of a type are.
var parameterTypes = map[string]string{"String": "string", "Number": "number", "CommaDelimitedList": "list", "Json": "map", "Boolean": "boolean"}

// AsParameter makes a value what parameters of a type are.
func AsParameter(typ string, v any) (any, error) { return As(parameterTypes[typ], v) }

// FromTemplate is the type of a name that a template is: of a file, with parameters
// and outputs. Defaults of the environment count as the parameters'.
func FromTemplate(name, file string, parameters []*hot.Schema, outputs []string, defaults *value.Map) *Type {
	t := &Type{Name: name, Class: name, Template: file, Support: Support{Status: "SUPPORTED"}}
	t.Properties.byName, t.Attributes.byName = map[string]*Property{}, map[string]*Attribute{}
	for _, s := range parameters {
		// What a parameter may be is checked with the template.
		p := &Property{Type: parameterTypes[s.Type], Required: s.Default == nil && !defaults.Has(s.Name), UpdateAllowed: true, Lenient: true}
		t.Properties.Names = append(t.Properties.Names, s.Name)
		t.Properties.byName[s.Name] = p
	}
	for _, name := range outputs {
		t.Attributes.Names = append(t.Attributes.Names, name)
		t.Attributes.byName[name] = &Attribute{}
	}
	return t
}

// Facade says why a template can't stand for a type of this release: what takes the
// place of another must take its properties and give its attributes.
func (t *Type) Facade(of *Type) error {
	fail := func(format string, args ...any) error {
		return &hot.Error{Class: hot.ValidationFailed, Message: value.Errorf("", format, args...).Message}
	}
	kinds := map[string]string{"integer": "number"}
	for _, name := range of.Properties.Names {
		theirs := of.Properties.byName[name]
		own := t.Properties.byName[name]
		kind := theirs.Type
		if wider := kinds[kind]; wider != "" {
			kind = wider
		}
		switch {
		case own == nil && theirs.Required:
			return fail("Required property %s for facade %s missing in provider", name, of.Name)
		case own != nil && own.Type != kind && kind != "any":
			return fail("Property %s type mismatch between facade %s (%s) and provider (%s)", name, of.Name, titles[theirs.Type], titles[own.Type])
		}
	}
	for _, name := range t.Properties.Names {
		if of.Properties.byName[name] == nil && t.Properties.byName[name].Required {
			return fail("Provider requires property %s unknown in facade %s", name, of.Name)
		}
	}
	for _, name := range of.Attributes.Names {
		if t.Attributes.byName[name] == nil {
			return fail("Attribute %s for facade %s missing in provider", name, of.Name)
		}
	}
	return nil
}

// titles are types of properties as the original's texts have them.
var titles = map[string]string{"string": "String", "integer": "Integer", "number": "Number", "boolean": "Boolean", "map": "Map", "list": "List", "any": "Any"}
