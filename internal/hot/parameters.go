package hot

// Parameters: the values that a user gave, or their defaults.

import (
	"strings"

	"holdfast.dev/internal/hot/value"
)

// Identity is the stack that parameters belong to. Its fields may be empty:
// a stack that is only validated has a name at most.
type Identity struct {
	Project, Name, ID string
}

// ARN is the stack's long name.
func (i Identity) ARN() string {
	return "arn:openstack:heat::" + i.Project + ":stacks/" + i.Name + "/" + i.ID
}

// Hidden is what is shown of the value of a hidden parameter.
const Hidden = "******"

// Parameter is a parameter and what is known of its value.
type Parameter struct {
	*Schema
	// Pseudo parameters are the stack's own: its id, its name.
	Pseudo bool
	// Given is the value that the user gave; nil if none.
	Given any
	// Default is the default of the environment, or else of the template; nil
	// if there is none.
	Default any
}

// Parameters are the parameters of a stack, the pseudo parameters first.
type Parameters struct {
	template *Template
	list     []*Parameter
	byName   map[string]*Parameter
	given    *value.Map
}

// NewParameters makes the parameters of a template: given by the user, with
// defaults of the environment.
func NewParameters(t *Template, identity Identity, given, defaults *value.Map) (*Parameters, error) {
	schemas, err := t.Schemas()
	if err != nil {
		return nil, err
	}
	p := &Parameters{template: t, byName: map[string]*Parameter{}, given: orEmpty(given)}
	for _, pseudo := range t.pseudo(identity) {
		p.add(&Parameter{Schema: pseudo, Pseudo: true, Default: pseudo.Default})
	}
	for _, s := range schemas {
		param := &Parameter{Schema: s, Given: argument(p.given, s.Name), Default: s.Default}
		p.add(param)
	}
	if defaults != nil {
		for i := range defaults.Len() {
			key, v := defaults.At(i)
			if param := p.byName[value.Str(key)]; param != nil && v != nil {
				param.Default = v
			}
		}
	}
	return p, nil
}

// add puts a parameter in place of one of the same name, if there is one.
func (p *Parameters) add(param *Parameter) {
	if old := p.byName[param.Name]; old != nil {
		*old = *param
		return
	}
	p.byName[param.Name] = param
	p.list = append(p.list, param)
}

// regions are the regions that a CFN template may be told it is in.
var regions = []any{"us-east-1", "us-west-1", "us-west-2", "sa-east-1", "eu-west-1", "ap-southeast-1", "ap-northeast-1"}

// pseudo are the parameters that a stack has of its own.
func (t *Template) pseudo(id Identity) []*Schema {
	text := func(name, description, v string) *Schema {
		return &Schema{Name: name, Type: "String", written: "String", Description: description, Default: v}
	}
	if t.Version.Type == "hot" {
		list := []*Schema{text("OS::stack_id", "Stack ID", id.ID), text("OS::project_id", "Project ID", id.Project)}
		if id.Name != "" {
			list = append(list, text("OS::stack_name", "Stack Name", id.Name))
		}
		return list
	}
	if id == (Identity{}) {
		return []*Schema{text("AWS::StackId", "Stack ID", "None")}
	}
	list := []*Schema{text("AWS::StackId", "Stack ID", id.ARN())}
	if id.Name != "" {
		region := text("AWS::Region", "", "ap-southeast-1")
		region.Constraints = []*Constraint{{Allowed: regions}}
		list = append(list, text("AWS::StackName", "Stack Name", id.Name), region)
	}
	return list
}

// All are the parameters in their order, the pseudo parameters first.
func (p *Parameters) All() []*Parameter { return p.list }

// Get is the parameter of a name, nil if there is none.
func (p *Parameters) Get(name string) *Parameter { return p.byName[name] }

// Has says whether there is a parameter of a name.
func (p *Parameters) Has(name string) bool { return p.byName[name] != nil }

func missing(name string) error {
	return failf(ParameterMissing, "The Parameter (%s) was not provided.", name)
}

// Value is the value of a parameter, of its type.
func (p *Parameters) Value(name string) (any, error) {
	param := p.byName[name]
	if param == nil {
		return nil, missing(name)
	}
	return param.Value()
}

// raw is the value as it was given.
func (p *Parameter) raw() any {
	if p.Given != nil {
		return p.Given
	}
	return p.Default
}

// HasValue says whether the parameter has a value.
func (p *Parameter) HasValue() bool { return p.raw() != nil }

// Value is the parameter's value, of its type.
func (p *Parameter) Value() (any, error) {
	raw := p.raw()
	if raw == nil {
		return nil, missing(p.Name)
	}
	return p.parse(raw)
}

// parse makes a value of the parameter's type.
func (p *Parameter) parse(raw any) (any, error) {
	switch p.Type {
	case "Number":
		return value.ToNumber(raw)
	case "Boolean":
		return value.ToBool(value.Str(raw))
	case "CommaDelimitedList":
		switch v := raw.(type) {
		case []any:
			return texts(v), nil
		case string:
			if v == "" {
				return []any{}, nil
			}
			return splitComma(v), nil
		}
		return nil, value.Errorf(ValueError, "Value must be a comma-delimited list string: '%s' object has no attribute 'split'",
			value.TypeName(raw))
	case "Json":
		text, isText := raw.(string)
		if !isText {
			return value.Plain(raw), nil
		}
		if text == "" {
			return text, nil
		}
		v, err := value.ParseJSON(text)
		if err != nil {
			return nil, value.Errorf(ValueError, "Value must be valid JSON: %s", err)
		}
		return v, nil
	}
	return value.Str(raw), nil
}

// Text is the value as the API shows it: hidden if the parameter is.
func (p *Parameter) Text() (string, error) {
	v, err := p.Value()
	switch {
	case err != nil:
		return "", err
	case p.Hidden:
		return Hidden, nil
	}
	switch x := v.(type) {
	case []any:
		if p.Type == "CommaDelimitedList" {
			parts := make([]string, len(x))
			for i, item := range x {
				parts[i] = value.Str(item)
			}
			return strings.Join(parts, ","), nil
		}
		return value.JSON(x, false), nil
	case *value.Map:
		return value.JSON(x, false), nil
	}
	if p.Type == "Json" {
		return value.JSON(v, false), nil
	}
	return value.Str(v), nil
}

// Validate checks the schemas and, if strict, that every parameter has a value
// that fits.
func (p *Parameters) Validate(strict bool, services Constraints) error {
	for _, key := range p.given.Keys() {
		if param := p.byName[value.Str(key)]; param == nil || param.Pseudo {
			return failf(ParameterUnknown, "The Parameter (%s) was not defined in template.", value.Str(key))
		}
	}
	for _, param := range p.list {
		if err := param.validate(strict, services); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parameter) validate(strict bool, services Constraints) error {
	err := p.Schema.validate()
	if err == nil && strict {
		if err = p.validateValue(services); Class(err) == ParameterMissing {
			return err
		}
	}
	if err == nil {
		return nil
	}
	class := Class(err)
	switch class {
	case "":
		// A service couldn't be asked: that isn't the parameter's fault.
		return err
	case InvalidSchema:
	default:
		class = ValidationFailed
	}
	own := asError(err)
	e := failf(class, "Parameter '%s' is invalid: %s", p.Name, own.Message)
	if e.Line = own.Line; e.Line == 0 {
		e.Line = p.line
	}
	return e
}

func (p *Parameter) validateValue(services Constraints) error {
	raw := p.raw()
	if raw == nil {
		return missing(p.Name)
	}
	switch p.Type {
	case "Number":
		if _, err := value.ToNumber(raw); err != nil {
			return err
		}
	case "Boolean":
		if _, err := value.ToBool(raw); err != nil {
			return err
		}
	case "CommaDelimitedList", "Json":
		v, err := p.parse(raw)
		if err != nil {
			return err
		}
		raw = v
	}
	return p.check(raw, services, true)
}

// Describe is the parameter as the answer to a validation shows it.
func (p *Parameter) Describe() *value.Map {
	m := value.NewMap("Type", p.Type, "Description", textOr(p.Description, ""),
		"NoEcho", map[bool]string{true: "true", false: "false"}[p.Hidden], "Label", textOr(p.Label, p.Name))
	if p.Default != nil {
		m.Set("Default", p.Default)
	}
	if value.Truth(p.Given) {
		m.Set("Value", p.Given)
	}
	if len(p.Tags) > 0 {
		m.Set("Tags", p.Tags)
	}
	descriptions := []string{}
	set := func(name string, v any) {
		if v != nil {
			m.Set(name, v)
		}
	}
	for _, c := range p.Constraints {
		switch {
		case c.Length != nil:
			set("MinLength", c.Length.Min)
			set("MaxLength", c.Length.Max)
		case c.Range != nil:
			set("MinValue", c.Range.Min)
			set("MaxValue", c.Range.Max)
		case c.Modulo != nil:
			set("Step", c.Modulo.Step)
			set("Offset", c.Modulo.Offset)
		case c.Allowed != nil:
			set("AllowedValues", c.Allowed)
		case c.Pattern != nil:
			set("AllowedPattern", c.Pattern.Text)
		default:
			set("CustomConstraint", c.Custom)
		}
		if value.Truth(c.Description) {
			descriptions = append(descriptions, value.Str(c.Description))
		}
	}
	if len(descriptions) > 0 {
		m.Set("ConstraintDescription", strings.Join(descriptions, " "))
	}
	return m
}

func textOr(v any, otherwise string) any {
	if value.Truth(v) {
		return v
	}
	return otherwise
}

// ImmutableChanged are the names of the parameters that an update would change
// though they may not: those of both templates that are immutable in the new
// one and have another value there.
func (p *Parameters) ImmutableChanged(next *Parameters) ([]string, error) {
	names := []string{}
	for _, param := range next.list {
		before := p.byName[param.Name]
		if param.Pseudo || before == nil || before.Pseudo || !param.Immutable {
			continue
		}
		was, err := before.Value()
		if err != nil {
			return nil, err
		}
		now := param.Given
		if now == nil {
			if now, err = param.Value(); err != nil {
				return nil, err
			}
		}
		if !value.Equal(was, now) {
			names = append(names, param.Name)
		}
	}
	return names, nil
}
