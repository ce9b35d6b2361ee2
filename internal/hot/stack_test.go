package hot

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/hot/value"
)

// bound makes a stack of a template with given parameters.
func bound(text, given string) (*Stack, error) {
	tmpl, err := Parse(text, "", Limits{})
	if err != nil {
		return nil, err
	}
	if err := tmpl.Validate(); err != nil {
		return nil, err
	}
	parameters, err := readMap(given, "", "not a map")
	if err != nil {
		return nil, err
	}
	p, err := NewParameters(tmpl, Identity{"p", "s", "i"}, parameters, nil)
	if err != nil {
		return nil, err
	}
	if err := p.Validate(true, nil); err != nil {
		return nil, err
	}
	if err := p.ValidateGroups(); err != nil {
		return nil, err
	}
	return Bind(tmpl, p, Surroundings{Files: map[string]string{"f": "text"}})
}

func mustBind(t *testing.T, text, given string) *Stack {
	t.Helper()
	s, err := bound(text, given)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(nil); err != nil {
		t.Fatal(err)
	}
	return s
}

const wallaby = "heat_template_version: wallaby\n"

func TestConditions(t *testing.T) {
	s := mustBind(t, wallaby+`
parameters: {env: {type: string, default: prod}, n: {type: number, default: 2}}
conditions:
  prod: {equals: [{get_param: env}, prod]}
  many: {yaql: {expression: "$.data > 1", data: {get_param: n}}}
  both: {and: [prod, many, {not: test}]}
  test: {or: [{equals: [{get_param: env}, test]}, false]}
resources:
  a: {type: T, condition: both}
  b: {type: T, condition: test}
  c: {type: T, condition: {not: {equals: [1, 1]}}, depends_on: b}
  d: {type: T, depends_on: [b, a], properties: {x: {if: [test, {get_resource: b}, {get_resource: a}]}}}
outputs:
  out: {value: 1, condition: prod, description: an output}
  gone: {value: {get_resource: b}, condition: test}
`, "{}")
	names := []string{}
	for _, r := range s.Resources() {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"a", "d"}) {
		t.Errorf("enabled: %v", names)
	}
	if v, err := s.Output("out").Value(Nothing); err != nil || !value.Equal(v, value.Int(1)) || s.Output("out").Description() != "an output" {
		t.Errorf("%v, %v", v, err)
	}
	if o := s.Output("gone"); o.Enabled || o.Description() != "No description given" {
		t.Error("a disabled output is on")
	} else if v, err := o.Value(Nothing); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if s.Output("none") != nil || s.Resource("b") != nil {
		t.Error("what isn't there is found")
	}
}

func TestInvalidStacks(t *testing.T) {
	for text, why := range map[string]string{
		"conditions: [1]":    "Conditions validation error: Condition definitions must be a map. Found a list instead (line 2)",
		"conditions: {a: x}": `Condition validation error: The definition of condition "a" is invalid: x (line 2)`,
		"conditions: {a: {not: b}, b: {not: a}}\nresources: {r: {type: T, condition: a}}":                                        `Condition validation error: Circular definition for condition "a" (line 2)`,
		"resources: {r: {type: T, condition: nope}}":                                                                             `resources.r.condition: Invalid condition "nope" (line 2)`,
		"resources: {r: {type: T, condition: [1]}}":                                                                              "Resource r condition type must be string_or_boolean (line 2)",
		"resources: {r: {type: [T]}}":                                                                                            "Resource r type type must be string (line 2)",
		"resources: {r: {type: T, properties: 5}}":                                                                               "Resource r properties type must be object (line 2)",
		"resources: {r: {type: T, metadata: [5]}}":                                                                               "Resource r metadata type must be object (line 2)",
		"resources: {r: {type: T, depends_on: 5}}":                                                                               "Resource r depends_on type must be list or string (line 2)",
		"resources: {r: {type: T, depends_on: [5]}}":                                                                             "Resource r depends_on must be a list of strings (line 2)",
		"resources: {r: {type: T, deletion_policy: Keep}}":                                                                       `Invalid deletion policy "Keep" (line 2)`,
		"resources: {r: {type: T, external_id: x, depends_on: q}, q: {type: T}}":                                                 "Invalid dependency with external T resource: x (line 2)",
		"resources: {r: {type: T, depends_on: q}}":                                                                               `The specified reference "q" (in r) is incorrect. (line 2)`,
		"resources:\n  r:\n    type: T\n    properties:\n      a:\n        - b: {get_resource: q}":                               `The specified reference "q" (in r.Properties.a[0].b) is incorrect. (line 7)`,
		"resources: {a: {type: T, depends_on: b}, b: {type: T, depends_on: c}, c: {type: T, metadata: {x: {get_attr: [a, y]}}}}": "Circular Dependency Found: a -> b -> c -> a (line 2)",
		"resources: {a: {type: T, depends_on: a}}":                                                                               "Circular Dependency Found: a -> a (line 2)",
		"parameters: {r: {type: string, default: x}}\nresources: {r: {type: T}}":                                                 "Duplicate names {'r'} (line 3)",
		"outputs: {o: 5}":  "Output validation error: outputs.o: Output definitions must be a map. Found a int instead (line 2)",
		"outputs: {o: {}}": "Output validation error: outputs.o: Each output definition must contain a value key. (line 2)",
		"outputs:\n  o:\n    value:\n      a:\n        list_join: x": `outputs.o.value.a.list_join: Incorrect arguments to "list_join" should be: "list_join" : [ " ", [ "str1", "str2"] ...] (line 6)`,
		"outputs: {o: {value: {Ref: x}}}":                            "outputs.o.value.Ref: The template version is invalid: The function Ref is not supported in this version of HOT. (line 2)",
	} {
		s, err := bound(wallaby+text, "{}")
		if err == nil {
			err = s.Validate(nil)
		}
		if err == nil || err.Error() != why {
			t.Errorf("%q:\n %v", text, err)
		}
	}
}

// What can't be worked out is told with its place: of a property or a policy the place
// that has a schema, as the original does, and of all else that of the function.
func TestEvaluationErrors(t *testing.T) {
	properties := func(r *Resource) error { _, err := r.Properties(living{}); return err }
	metadata := func(r *Resource) error { _, err := r.Metadata(living{}); return err }
	policy := func(r *Resource) error { _, err := r.UpdatePolicy(living{}); return err }
	external := func(r *Resource) error { _, err := r.ExternalID(living{}); return err }
	const head = wallaby + "parameters: {p: {type: string, default: text}}\nresources:\n  r:\n    type: T\n"
	for _, c := range []struct {
		text       string
		of         func(*Resource) error
		class, why string
	}{
		{"    properties:\n      a: 1\n      b:\n        c: [{str_replace: {template: {get_param: p}, params: {x: [1]}}}, {str_replace_strict:\n          {template: a, params: {b: c}}}]",
			properties, ValidationFailed, "Property error: resources.r.properties.b: The following params were not found in the template: b (line 9)"},
		{"    properties: {b: {get_param: nope}}", properties, ValidationFailed,
			"Property error: resources.r.properties.b: The Parameter (nope) was not provided. (line 6)"},
		{"    properties: {b: {repeat: {for_each: {x: {get_param: p}}, template: x}}}", properties, ValidationFailed,
			`Property error: resources.r.properties.b: The values of the "for_each" argument to "repeat" must be lists or maps (line 6)`},
		{"    properties: {b: {yaql: {expression: '$.data.nope()', data: 1}}}", properties, ValidationFailed,
			`Property error: resources.r.properties.b: Unknown method "nope" for receiver 1 (line 6)`},
		{"    properties: {b: {resource_facade: metadata}}", properties, ValidationFailed,
			"Property error: resources.r.properties.b: 'NoneType' object has no attribute 'metadata_get' (line 6)"},
		{"    properties: {b: {resource_facade: update_policy}}", properties, ValidationFailed,
			"Property error: resources.r.properties.b: 'NoneType' object has no attribute 't' (line 6)"},
		{"    deletion_policy: {resource_facade: deletion_policy}", nil, "AttributeError",
			"resources.r.deletion_policy.resource_facade: 'NoneType' object has no attribute 't' (line 6)"},
		{"    properties: {b: [{if: [{not: {get_param: nope}}, 1, 2]}]}", nil, ParameterMissing,
			"resources.r.properties.b[0].if: The Parameter (nope) was not provided. (line 6)"},
		{"    properties: {get_param: nope}", properties, ParameterMissing,
			"resources.r.properties.get_param: The Parameter (nope) was not provided. (line 6)"},
		{"    update_policy: {b: {c: {get_file: nope}}}", policy, ValidationFailed,
			`Property error: resources.r.update_policy.b: No content found in the "files" section for get_file path: nope (line 6)`},
		{"    metadata: {b: {c: {list_join: [',', [{get_file: nope}]]}}}", metadata, ValueError,
			`resources.r.metadata.b.c.list_join[1][0].get_file: No content found in the "files" section for get_file path: nope (line 6)`},
		{"    external_id: {get_param: nope}", external, ParameterMissing, "resources.r.external_id.get_param: The Parameter (nope) was not provided. (line 6)"},
		{"    deletion_policy: {get_file: nope}", nil, ValidationFailed,
			`resources.r.deletion_policy: No content found in the "files" section for get_file path: nope (line 6)`},
		{"    condition: {not: {get_param: nope}}", nil, ParameterMissing, "resources.r.condition.not.get_param: The Parameter (nope) was not provided. (line 6)"},
		{"conditions:\n  c: {equals: [1, {get_param: nope}]}\noutputs:\n  o: {value: 1, condition: c}", nil, ParameterMissing,
			"conditions.c.equals[1].get_param: The Parameter (nope) was not provided. (line 7)"},
		{"outputs:\n  o:\n    value: {a: [{map_merge: [{get_param: p}]}]}", func(r *Resource) error { _, err := r.stack.Output("o").Value(living{}); return err }, TypeError,
			"outputs.o.value.a[0].map_merge: Incorrect arguments: Items to merge must be maps. 'text' is type <class 'str'> instead of a dict (line 8)"},
	} {
		s, err := bound(head+c.text, "{}")
		if err == nil && c.of != nil {
			err = c.of(s.Resource("r"))
		}
		if err == nil || Class(err) != c.class || err.Error() != c.why {
			t.Errorf("%s:\n %s: %v", c.text, Class(err), err)
		}
	}
}

func TestResources(t *testing.T) {
	s := mustBind(t, wallaby+`
resources:
  net: {type: Net}
  port: {type: Port, properties: {network: {get_resource: net}}, deletion_policy: retain}
  server:
    type: Server
    description: a server
    depends_on: [vol]
    properties: {port: {get_resource: port}, ip: {get_attr: [port, fixed_ips, 0, ip]}, none: {if: [false, x]}}
    metadata: {all: {get_attr: [net]}}
    update_policy: {rolling: {max: {get_param: "OS::stack_name"}}}
  vol: {type: Vol, external_id: abc}
outputs:
  ip: {value: {get_attr: [port, fixed_ips, 0, ip]}}
`, "{}")
	g, names, err := s.Graph()
	if err != nil {
		t.Fatal(err)
	}
	order, err := g.Order()
	if err != nil {
		t.Fatal(err)
	}
	sorted := []string{}
	for _, n := range order {
		sorted = append(sorted, names[n])
	}
	if !slices.Equal(sorted, []string{"net", "port", "vol", "server"}) {
		t.Errorf("%v", sorted)
	}
	server := s.Resource("server")
	if requires, err := server.Requires(); err != nil || !slices.Equal(requires, []string{"vol", "port", "net"}) {
		t.Errorf("%v, %v", requires, err)
	}
	if p, err := server.Properties(Nothing); err != nil || value.JSON(p, false) != `{"port": "port", "ip": null}` {
		t.Errorf("%s, %v", value.JSON(p, false), err)
	}
	if p, err := server.UpdatePolicy(Nothing); err != nil || value.JSON(p, false) != `{"rolling": {"max": "s"}}` {
		t.Errorf("%s, %v", value.JSON(p, false), err)
	}
	if server.Description != "a server" || server.DeletionPolicy != "Delete" || s.Resource("port").DeletionPolicy != "Retain" ||
		s.Resource("vol").DeletionPolicy != "Retain" {
		t.Error("policies")
	}
	if id, err := s.Resource("vol").ExternalID(Nothing); id != "abc" || err != nil {
		t.Errorf("%s, %v", id, err)
	}
	wanted := s.Wanted()
	if len(wanted) != 2 || value.JSON(wanted["port"][0], false) != `["fixed_ips", 0, "ip"]` || len(wanted["port"]) != 1 || len(wanted["net"][0]) != 0 {
		t.Errorf("%v", wanted)
	}
	if requires := s.Output("ip").Requires(); !slices.Equal(requires, []string{"port"}) {
		t.Errorf("%v", requires)
	}
}

func TestCFN(t *testing.T) {
	s := mustBind(t, `{
  "AWSTemplateFormatVersion": "2010-09-09",
  "Description": "A template",
  "Parameters": {"Env": {"Type": "String", "Default": "prod", "AllowedValues": ["prod", "test"], "NoEcho": "TRUE"},
                 "N": {"Type": "Number", "MinValue": "1", "MaxValue": "5", "Default": "3"}},
  "Mappings": {"Sizes": {"prod": {"size": "big"}}},
  "Conditions": {"Prod": {"Fn::Equals": [{"Ref": "Env"}, "prod"]}, "Not": {"Fn::Not": [{"Fn::Or": ["Prod", false]}]}},
  "Resources": {
    "Server": {"Type": "AWS::EC2::Instance", "DependsOn": "Volume", "Condition": "Prod", "DeletionPolicy": "Snapshot", "Anything": 1,
      "Properties": {"Size": {"Fn::FindInMap": ["Sizes", {"Ref": "Env"}, "size"]}, "Volume": {"Ref": "Volume"},
                     "Zone": {"Fn::GetAtt": ["Volume", "Zone"]}, "Name": {"Fn::Join": ["-", [{"Ref": "AWS::StackName"}, "x"]]}}},
    "Volume": {"Type": "AWS::EC2::Volume"},
    "Gone": {"Type": "T", "Condition": "Not"}
  },
  "Outputs": {"Zone": {"Value": {"Fn::GetAtt": ["Volume", "Zone"]}, "Description": "d"}}
}`, "{}")
	if s.Template.Description() != "A template" || s.Resource("Gone") != nil || !s.Parameters.Get("Env").Hidden {
		t.Error("description, condition or NoEcho")
	}
	p, err := s.Resource("Server").Properties(Nothing)
	if err != nil || value.JSON(p, false) != `{"Size": "big", "Volume": "Volume", "Zone": null, "Name": "s-x"}` {
		t.Errorf("%s, %v", value.JSON(p, false), err)
	}
	g, _, err := s.Graph()
	if err != nil || !slices.Equal(g.Needs[0], []int{1}) {
		t.Errorf("%v, %v", g, err)
	}
	for text, why := range map[string]string{
		`{"HeatTemplateFormatVersion": "2012-12-12", "Conditions": {}}`:                                             "The template section is invalid: Conditions (line 1)",
		`{"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"r": {"Type": "T", "DeletionPolicy": "delete"}}}`: `Invalid deletion policy "delete" (line 1)`,
	} {
		if _, err := bound(text, "{}"); err == nil || err.Error() != why {
			t.Errorf("%v", err)
		}
	}
}

// What a template's objects have no line of says exactly what the original does.
func TestErrorsOfObjects(t *testing.T) {
	body := value.NewMap("heat_template_version", "wallaby", "outputs", value.NewMap("o", value.NewMap("value", value.NewMap("get_attr", "res"))))
	tmpl, err := New(body)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewParameters(tmpl, Identity{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Bind(tmpl, p, Surroundings{})
	if err == nil || err.Error() != `outputs.o.value.get_attr: Argument to "get_attr" must be a list` || strings.Contains(err.Error(), "line") {
		t.Errorf("%v", err)
	}
}

// A stack asks for zones where a function of what is enabled gives them, and its
// version has that.
func TestAsksZones(t *testing.T) {
	t.Parallel()
	const aws = "AWSTemplateFormatVersion: '2010-09-09'\nConditions: {Here: {'Fn::Equals': [1, 1]}, There: {'Fn::Equals': [1, 2]}}\n"
	for name, c := range map[string]struct {
		template string
		want     bool
	}{
		"nothing":             {aws, false},
		"a property":          {aws + "Resources: {R: {Type: T, Properties: {p: {'Fn::Select': [0, {'Fn::GetAZs': ''}]}}}}", true},
		"metadata":            {aws + "Resources: {R: {Type: T, Metadata: {m: [{'Fn::GetAZs': here}]}}}", true},
		"an output":           {aws + "Outputs: {O: {Value: {'Fn::Join': [',', {'Fn::GetAZs': {Ref: 'AWS::Region'}}]}}}", true},
		"a taken branch":      {aws + "Outputs: {O: {Value: {'Fn::If': [Here, {'Fn::GetAZs': ''}, x]}}}", true},
		"another branch":      {aws + "Outputs: {O: {Value: {'Fn::If': [There, {'Fn::GetAZs': ''}, x]}}}", false},
		"not enabled":         {aws + "Outputs: {O: {Condition: There, Value: {'Fn::GetAZs': ''}}}", false},
		"more keys":           {aws + "Outputs: {O: {Value: {'Fn::GetAZs': '', x: 1}}}", false},
		"the first HOT":       {"heat_template_version: 2013-05-23\noutputs: {o: {value: {'Fn::GetAZs': ''}}}", true},
		"a HOT without":       {"heat_template_version: 2021-04-16\noutputs: {o: {value: {'Fn::GetAZs': ''}}}", false},
		"in its own argument": {aws + "Outputs: {O: {Value: {'Fn::Base64': {'Fn::Select': [0, {'Fn::GetAZs': {'Fn::Select': [0, {'Fn::GetAZs': ''}]}}]}}}}", true},
	} {
		s, err := bound(c.template, "{}")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.AsksZones() != c.want {
			t.Errorf("%s: it asks %t, want %t", name, s.AsksZones(), c.want)
		}
	}
}
