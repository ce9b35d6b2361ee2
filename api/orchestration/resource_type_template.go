package orchestration

// GET /resource_types/{type_name}/template: a template to begin with, that is one
// resource of the type.

import (
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// dialect is how a kind of template says things.
type dialect struct {
	version, released                           string
	description, parameters, resources, outputs string
	typ, properties, value, defaults            string
	types                                       map[string]string
	constrain                                   func(p *resourcetype.Property, parameter map[string]any)
	parameter, attribute                        func(string, string) any
	reference                                   func(string) any
}

var dialects = map[string]dialect{
	"hot": {
		version: "heat_template_version", released: "2016-10-14",
		description: "description", parameters: "parameters", resources: "resources", outputs: "outputs",
		typ: "type", properties: "properties", value: "value", defaults: "default",
		types: map[string]string{"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "map": "json", "list": "comma_delimited_list", "any": "json"},
		constrain: func(p *resourcetype.Property, parameter map[string]any) {
			constraints := p.Described()
			for i := range constraints {
				if constraints[i]["custom_constraint"] != nil {
					constraints[i] = map[string]any{} // nobody but its type knows it
				}
			}
			if len(constraints) > 0 {
				parameter["constraints"] = constraints
			}
		},
		parameter: func(name, _ string) any { return map[string]any{"get_param": name} },
		attribute: func(of, name string) any { return map[string]any{"get_attr": []string{of, name}} },
		reference: func(of string) any { return map[string]any{"get_resource": of} },
	},
	"cfn": {
		version: "HeatTemplateFormatVersion", released: "2012-12-12",
		description: "Description", parameters: "Parameters", resources: "Resources", outputs: "Outputs",
		typ: "Type", properties: "Properties", value: "Value", defaults: "Default",
		types: map[string]string{"string": "String", "integer": "Number", "number": "Number", "boolean": "Boolean", "map": "Json", "list": "CommaDelimitedList", "any": "Json"},
		constrain: func(p *resourcetype.Property, parameter map[string]any) {
			names := map[string][2]string{"length": {"MinLength", "MaxLength"}, "range": {"MinValue", "MaxValue"}}
			for _, constraint := range p.Described() {
				for kind, v := range constraint {
					bounds, _ := v.(map[string]any)
					for i, end := range []string{"min", "max"} {
						if bound := bounds[end]; bound != nil && names[kind][i] != "" {
							parameter[names[kind][i]] = bound
						}
					}
					switch kind {
					case "allowed_values":
						parameter["AllowedValues"] = v
					case "allowed_pattern":
						parameter["AllowedPattern"] = v
					}
				}
			}
			if p.Type == "boolean" {
				parameter["AllowedValues"] = []string{"True", "true", "False", "false"}
			}
		},
		parameter: func(name, typ string) any {
			ref := map[string]any{"Ref": name}
			if typ == "list" {
				return map[string]any{"Fn::Split": []any{",", ref}}
			}
			return ref
		},
		attribute: func(of, name string) any { return map[string]any{"Fn::GetAtt": []string{of, name}} },
		reference: func(of string) any { return map[string]any{"Ref": of} },
	},
}

func (a *API) showTypeTemplate(r *rest.Request) (*rest.Response, error) {
	said := "cfn"
	if r.Query.Has("template_type") {
		said = r.Query.Get("template_type")
	}
	d, ok := dialects[strings.ToLower(said)]
	if !ok {
		return nil, invalid(`Template type is not supported: Invalid template type "%s", valid types are: cfn, hot.`, value.Clip(said, maxShown))
	}
	t, err := a.typeOf(r)
	if err != nil {
		return nil, err
	}
	return rest.JSON(d.templateOf(t)), nil
}

// templateOf has the properties of a type be parameters, and its attributes outputs.
func (d dialect) templateOf(t *resourcetype.Type) map[string]any {
	parameters, properties, outputs := map[string]any{}, map[string]any{}, map[string]any{}
	for _, name := range t.Properties.Names {
		p, _ := t.Properties.Get(name)
		if p.Support.Hidden() {
			continue
		}
		parameter := map[string]any{d.typ: d.types[p.Type]}
		if p.Default != nil {
			parameter[d.defaults] = p.Default
		}
		d.constrain(p, parameter)
		parameters[name], properties[name] = parameter, d.parameter(name, p.Type)
	}
	for _, name := range append([]string{"show"}, t.Attributes.Names...) {
		if attribute, ok := t.Attributes.Get(name); !ok || !attribute.Support.Hidden() {
			outputs[name] = map[string]any{d.value: d.attribute(t.Class, name)}
		}
	}
	outputs["OS::stack_id"] = map[string]any{d.value: d.reference(t.Class)}
	return map[string]any{d.version: d.released, d.description: "Initial template of " + t.Class, d.parameters: parameters, d.outputs: outputs,
		d.resources: map[string]any{t.Class: map[string]any{d.typ: t.Name, d.properties: properties}}}
}
