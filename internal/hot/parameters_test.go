package hot

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

func mustParse(t *testing.T, text string) *Template {
	t.Helper()
	tmpl, err := Parse(text, "", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func yamlMap(t *testing.T, text string) *value.Map {
	t.Helper()
	m, err := readMap(text, "", "not a map")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// parametersOf makes parameters of a section in YAML.
func parametersOf(t *testing.T, section, given string) (*Parameters, error) {
	t.Helper()
	tmpl := mustParse(t, "heat_template_version: wallaby\nparameters:\n"+section)
	return NewParameters(tmpl, Identity{"p", "s", "id"}, yamlMap(t, given), nil)
}

// flavors is a service that knows the flavor small, and is down for others.
type flavors struct{}

func (flavors) Known(name string) bool { return name == "nova.flavor" }

func (flavors) Check(_ string, v any) error {
	switch v {
	case "small":
		return nil
	case "down":
		return faults.New(faults.Unavailable, "Down", "the service is down")
	}
	return faults.New(faults.NotFound, "NotFound", "No Flavor matching {'name': '%s'}.", v)
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ schema, given, json, text string }{
		{"type: string", "5", `"5"`, "5"},
		{"type: string", "[a, 1]", `"['a', 1]"`, "['a', 1]"},
		{"type: string, hidden: true", "x", `"x"`, "******"},
		{"type: number", "'7'", "7", "7"},
		{"type: number", "'1.50'", "1.5", "1.5"},
		{"type: number, default: 3", "~", "3", "3"},
		{"type: boolean", "'On'", "true", "True"},
		{"type: comma_delimited_list", "'a, b'", `["a", " b"]`, "a, b"},
		{"type: comma_delimited_list", "[1, true]", `["1", "True"]`, "1,True"},
		{"type: comma_delimited_list", "''", `[]`, ""},
		{"type: json", "'{\"b\": 1, \"a\": [2]}'", `{"b": 1, "a": [2]}`, `{"b": 1, "a": [2]}`},
		{"type: json", "{1: x}", `{"1": "x"}`, `{"1": "x"}`},
		{"type: json", "''", `""`, `""`},
	} {
		p, err := parametersOf(t, "  p: {"+c.schema+"}", "p: "+c.given)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Validate(true, nil); err != nil {
			t.Errorf("%s: %v", c.schema, err)
		}
		v, err := p.Value("p")
		if err != nil || value.JSON(v, false) != c.json {
			t.Errorf("%s of %s is %s, %v", c.schema, c.given, value.JSON(v, false), err)
		}
		if text, err := p.Get("p").Text(); err != nil || text != c.text {
			t.Errorf("%s of %s shows %q, %v", c.schema, c.given, text, err)
		}
	}
}

func TestInvalidParameters(t *testing.T) {
	for _, c := range []struct{ schema, given, class, why string }{
		{"type: string", "{}", ParameterMissing, "The Parameter (p) was not provided."},
		{"type: string", "{q: 1}", ParameterUnknown, "The Parameter (q) was not defined in template."},
		{"type: string", "{p: x, 'OS::stack_id': 1}", ParameterUnknown, "The Parameter (OS::stack_id) was not defined in template."},
		{"type: number", "{p: x}", ValidationFailed, "Parameter 'p' is invalid: could not convert string to float: 'x' (line 3)"},
		{"type: boolean", "{p: x}", ValidationFailed, "Parameter 'p' is invalid: Unrecognized value 'x', acceptable values are: " +
			"'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes' (line 3)"},
		{"type: json", "{p: x}", ValidationFailed, "Parameter 'p' is invalid: Value must be valid JSON: Expecting value: line 1 column 1 (char 0) (line 3)"},
		{"type: string, constraints: [length: {min: 2, max: 3}]", "{p: abcd}", ValidationFailed,
			"Parameter 'p' is invalid: length (4) is out of range (min: 2, max: 3) (line 3)"},
		{"type: number, constraints: [range: {min: 2}]", "{p: 1.5}", ValidationFailed,
			"Parameter 'p' is invalid: 1.5 is out of range (min: 2, max: None) (line 3)"},
		{"type: number, constraints: [modulo: {step: 2, offset: 1}]", "{p: 4}", ValidationFailed,
			"Parameter 'p' is invalid: 4 is not a multiple of 2 with an offset of 1 (line 3)"},
		{"type: string, constraints: [allowed_values: [a, 1]]", "{p: b}", ValidationFailed,
			"Parameter 'p' is invalid: \"b\" is not an allowed value [\"a\", 1] (line 3)"},
		{"type: string, constraints: [allowed_pattern: '[a-z]+']", "{p: ab1}", ValidationFailed,
			"Parameter 'p' is invalid: \"ab1\" does not match pattern \"[a-z]+\" (line 3)"},
		{"type: string, constraints: [{allowed_pattern: '[a-z]+', description: small letters}]", "{p: AB}", ValidationFailed,
			"Parameter 'p' is invalid: small letters (line 3)"},
		{"type: string, constraints: [custom_constraint: nova.flavor]", "{p: big}", ValidationFailed,
			"Parameter 'p' is invalid: Error validating value 'big': No Flavor matching {'name': 'big'}. (line 3)"},
		{"type: string, constraints: [custom_constraint: nope]", "{p: x}", ValidationFailed,
			"Parameter 'p' is invalid: \"x\" does not validate nope (constraint not found) (line 3)"},
		{"type: number, constraints: [length: {min: 1}]", "{p: 1}", InvalidSchema,
			"Parameter 'p' is invalid: Length constraint invalid for number (line 3)"},
		{"type: string, default: abc, constraints: [length: {max: 1}]", "{p: x}", InvalidSchema,
			"Parameter 'p' is invalid: Invalid default abc (length (3) is out of range (min: None, max: 1)) (line 3)"},
		{"type: comma_delimited_list, constraints: [allowed_values: [a, b]]", "{p: 'a,c'}", ValidationFailed,
			"Parameter 'p' is invalid: [\"a\", \"c\"] is not an allowed value [\"a\", \"b\"] (line 3)"},
	} {
		p, err := parametersOf(t, "  p: {"+c.schema+"}", c.given)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Validate(true, flavors{})
		if err == nil || Class(err) != c.class || err.Error() != c.why {
			t.Errorf("%s, %s: %s: %v", c.schema, c.given, Class(err), err)
		}
	}
	p, err := parametersOf(t, "  p: {type: string, constraints: [custom_constraint: nova.flavor]}", "{p: down}")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(true, flavors{}); !faults.Is(err, faults.Unavailable) {
		t.Errorf("a service that is down is %v", err)
	}
	if err := p.Validate(false, flavors{}); err != nil {
		t.Errorf("without values: %v", err)
	}
}

func TestInvalidSchemas(t *testing.T) {
	for schema, why := range map[string]string{
		"5":                                                 "Invalid parameter (p), expected a mapping (line 3)",
		"{default: 1}":                                      "Missing parameter type for parameter: p (line 3)",
		"{type: text}":                                      "Invalid type (text) (line 3)",
		"{type: string, foo: 1}":                            "Invalid key 'foo' for parameter (p) (line 3)",
		"{type: string, tags: x}":                           "Tags property should be a list for parameter: p (line 3)",
		"{type: string, constraints: 5}":                    "Invalid parameter constraints for parameter p, expected a list (line 3)",
		"{type: string, constraints: [{}]}":                 "No constraint expressed (line 3)",
		"{type: string, constraints: [{foo: 1}]}":           "Invalid key 'foo' for parameter constraints (line 3)",
		"{type: string, constraints: [length: {}]}":         "A length constraint must have a min value and/or a max value specified. (line 3)",
		"{type: string, constraints: [length: {min: 1.5}]}": "min/max length must be integral (line 3)",
		"{type: number, constraints: [range: {step: 1}]}":   "Invalid key 'step' for range constraint (line 3)",
		"{type: number, constraints: [modulo: {step: 0, offset: 0}]}":             "step cannot be 0. (line 3)",
		"{type: number, constraints: [modulo: {step: 2, offset: 2}]}":             "offset must be smaller (by absolute value) than step. (line 3)",
		"{type: number, constraints: [modulo: {step: 2, offset: -1}]}":            "step and offset must be both positive or both negative. (line 3)",
		"{type: string, constraints: [allowed_values: a]}":                        "AllowedValues must be a list (line 3)",
		"{type: string, constraints: [allowed_pattern: 1]}":                       "AllowedPattern must be a string (line 3)",
		"{type: string, constraints: [{range: {min: x}, allowed_pattern: '(('}]}": "could not convert string to float: 'x' (line 3)",
	} {
		if _, err := parametersOf(t, "  p: "+schema, "{}"); err == nil || err.Error() != why {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// A bomb takes no longer than the time a match may take.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		matches       bool
	}{
		{"a|ab", "ab", false}, {"^ab$", "ab", true}, {"ab", "abc", false}, {"b", "ab", false}, {"(?=a)ab", "ab", true},
		{"a{,2}b", "aab", true}, {`\w+`, "äö", true}, {`\d+\Z`, "12", true}, {"", "", true}, {"(?P<x>a)b", "ab", true},
		{`(\w)\1`, "aa", true}, {"ab$", "ab\n", false},
	} {
		p, err := NewPattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Match(c.text); err != nil || got != c.matches {
			t.Errorf("%q on %q: %t, %v", c.pattern, c.text, got, err)
		}
	}
	for _, bomb := range []string{`(a+)+$`, `(?=x)?(a+)+b`, `(\w+\s?)*\1b`, `((a{0,100}){0,100}){0,9}b`} {
		p, err := NewPattern(bomb)
		if err != nil {
			continue
		}
		if got, err := p.Match(strings.Repeat("a", 50_000) + "!"); got {
			t.Errorf("%q matches, %v", bomb, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	p, err := parametersOf(t, `
  p:
    type: comma_delimited_list
    label: A list
    default: [a]
    tags: [x]
    constraints: [{length: {min: 1, max: 3}, description: short}, {allowed_values: [a, b], description: known}]
  q: {type: number, hidden: true, constraints: [{range: {max: 5}}, {modulo: {step: 2, offset: 0}}]}`, "p: 'b'")
	if err != nil {
		t.Fatal(err)
	}
	for name, wanted := range map[string]string{
		"p": `{"Type": "CommaDelimitedList", "Description": "", "NoEcho": "false", "Label": "A list", "Default": ["a"], "Value": "b", ` +
			`"Tags": ["x"], "MinLength": 1, "MaxLength": 3, "AllowedValues": ["a", "b"], "ConstraintDescription": "short known"}`,
		"q": `{"Type": "Number", "Description": "", "NoEcho": "true", "Label": "q", "MaxValue": 5, "Step": 2, "Offset": 0}`,
	} {
		if got := value.JSON(p.Get(name).Describe(), false); got != wanted {
			t.Errorf("%s", got)
		}
	}
}

func TestPseudoParameters(t *testing.T) {
	names := func(text string, id Identity) []string {
		p, err := NewParameters(mustParse(t, text), id, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		shown := []string{}
		for _, param := range p.All() {
			text, err := param.Text()
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, param.Name+"="+text)
		}
		return shown
	}
	id := Identity{"p", "s", "i"}
	if got := names("heat_template_version: pike", id); !slices.Equal(got, []string{"OS::stack_id=i", "OS::project_id=p", "OS::stack_name=s"}) {
		t.Errorf("%v", got)
	}
	if got := names("AWSTemplateFormatVersion: '2010-09-09'", id); !slices.Equal(got, []string{
		"AWS::StackId=arn:openstack:heat::p:stacks/s/i", "AWS::StackName=s", "AWS::Region=ap-southeast-1"}) {
		t.Errorf("%v", got)
	}
	if got := names("AWSTemplateFormatVersion: '2010-09-09'", Identity{}); !slices.Equal(got, []string{"AWS::StackId=None"}) {
		t.Errorf("%v", got)
	}
}

func TestImmutable(t *testing.T) {
	section := "  a: {type: string, immutable: true, default: x}\n  b: {type: string, default: x}"
	old, err := parametersOf(t, section, "{}")
	if err != nil {
		t.Fatal(err)
	}
	next, err := parametersOf(t, section, "{a: y, b: y}")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := old.ImmutableChanged(next); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("%v, %v", names, err)
	}
}

func TestGroups(t *testing.T) {
	for groups, why := range map[string]string{
		"[{label: g, parameters: [p]}]":    "",
		"5":                                "Parameter Groups error: parameter_groups: The parameter_groups should be a list. (line 4)",
		"[{label: g}]":                     "Parameter Groups error: parameter_groups.g: The parameters must be provided for each parameter group. (line 4)",
		"[{label: g, parameters: p}]":      "Parameter Groups error: parameter_groups.g: The parameters of parameter group should be a list. (line 4)",
		"[{label: g, parameters: [p, p]}]": "Parameter Groups error: parameter_groups.g: The p parameter must be assigned to one parameter group only. (line 4)",
		"[{label: g, parameters: [q]}]":    "Parameter Groups error: parameter_groups.g: The grouped parameter q does not reference a valid parameter. (line 4)",
		"[5]":                              "Parameter Groups error: parameter_groups: The parameter_groups should be a list of maps. (line 4)",
	} {
		p, err := parametersOf(t, "  p: {type: string}\nparameter_groups: "+groups, "{}")
		if err != nil {
			t.Fatal(err)
		}
		err = p.ValidateGroups()
		if why == "" && err != nil || why != "" && (err == nil || err.Error() != why) {
			t.Errorf("%s: %v", groups, err)
		}
	}
}

func TestErrorsAreFaults(t *testing.T) {
	_, err := Parse("a", "", Limits{})
	var fault *faults.Error
	if !errors.As(err, &fault) || fault.Kind != faults.Invalid || fault.Message != err.Error() {
		t.Errorf("%v", err)
	}
}
