package hot

import (
	"errors"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/hot/value"
)

// fakes are the resources of the vectors: one that is there and one that isn't
// begun.
type fakes struct{ attributes *value.Map }

func (f fakes) State(resource string) (string, string) {
	if resource == "res" {
		return "CREATE", "COMPLETE"
	}
	return "INIT", "COMPLETE"
}

func (f fakes) Reference(resource string) (any, error) {
	if resource == "res" {
		return "res-phys-id", nil
	}
	return resource, nil
}

func (f fakes) Attribute(_, attribute string, path []any) (any, error) {
	v, _ := f.attributes.Get(attribute)
	return Select(v, path), nil
}

func (f fakes) All(string) (*value.Map, error) { return f.attributes.Without("show"), nil }

func (f fakes) HasAttribute(_ *Resource, attribute string) bool { return f.attributes.Has(attribute) }

// vectorStack is the stack that the vectors of a version are worked out in.
func vectorStack(t *testing.T, version string, context *value.Map, around Surroundings) *Stack {
	t.Helper()
	parameters := get(context, "parameters")
	var text string
	switch {
	case version == "AWS" || version == "HeatCFN":
		text = `
Parameters: {s: {Type: String}, n: {Type: Number}, l: {Type: CommaDelimitedList}, m: {Type: Json}, b: {Type: Boolean}, e: {Type: String}}
Resources: {res: {Type: T}, res_init: {Type: T}}
Mappings: ` + value.JSON(get(context, "cfn_mappings"), false) + "\n"
		if version == "AWS" {
			text += "Conditions: {CT: {'Fn::Equals': [1, 1]}, CF: {'Fn::Equals': [1, 2]}}\nAWSTemplateFormatVersion: '2010-09-09'\n"
		} else {
			text += "HeatTemplateFormatVersion: '2012-12-12'\n"
		}
	default:
		text = "heat_template_version: " + version + `
parameters: {s: {type: string}, n: {type: number}, l: {type: comma_delimited_list}, m: {type: json}, b: {type: boolean}, e: {type: string}}
resources: {res: {type: T}, res_init: {type: T}}
`
		if version >= "2016-10-14" {
			text += "conditions: {ct: true, cf: false}\n"
		}
	}
	tmpl, err := Parse(text, "", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	params, err := NewParameters(tmpl, Identity{Project: "test_tenant_id", Name: "teststack", ID: "11111111-2222-3333-4444-555555555555"},
		parameters, nil)
	if err != nil {
		t.Fatal(err)
	}
	stack, err := Bind(tmpl, params, around)
	if err != nil {
		t.Fatal(err)
	}
	return stack
}

func facade(metadata, updatePolicy *value.Map, deletionPolicy string) *Facade {
	always := func(m *value.Map) func() (*value.Map, error) {
		return func() (*value.Map, error) { return orEmpty(m), nil }
	}
	return &Facade{always(metadata), always(updatePolicy), deletionPolicy}
}

func get(m *value.Map, path ...string) *value.Map {
	for _, key := range path {
		v, _ := m.Get(key)
		m, _ = v.(*value.Map)
	}
	return m
}

// intKeys makes integers of the keys that JSON shows as texts.
func intKeys(v any) any {
	switch x := v.(type) {
	case []any:
		list := make([]any, len(x))
		for i, item := range x {
			list[i] = intKeys(item)
		}
		return list
	case *value.Map:
		m := &value.Map{}
		for i := range x.Len() {
			key, item := x.At(i)
			if n, ok := value.ToInt(key.(string)); ok {
				key = n
			}
			m.Set(key, intKeys(item))
		}
		return m
	}
	return v
}

// outcome is what a vector came to.
type outcome struct {
	phase string
	err   error
	value any
}

func workOut(s *Stack, v *value.Map, schemas fakes) outcome {
	input, _ := v.Get("input")
	if note, _ := v.Get("note"); note != nil && strings.Contains(note.(string), "INTEGER") {
		input = intKeys(input)
	}
	context, _ := v.Get("context")
	functions := s.Template.Version.functions
	if context == "condition" {
		functions = s.Template.Version.inConditions
	}
	parsed, err := s.parse(functions, input, "outputs.o.value", 0)
	if err != nil {
		return outcome{phase: "parse", err: err}
	}
	if err := s.validate(parsed, schemas); err != nil {
		return outcome{phase: "validate", err: err}
	}
	result, err := s.evaluation(schemas).resolve(parsed)
	if err != nil {
		return outcome{phase: "resolve", err: err}
	}
	if text, ok := result.(string); ok && context == "condition" {
		result, err = s.conditions.enabled(text)
		if err != nil {
			return outcome{phase: "resolve", err: err}
		}
	}
	return outcome{value: result}
}

// differs says what is not as in a vector.
func differs(v *value.Map, got outcome) string {
	wanted, _ := v.Get("error")
	failure, _ := wanted.(*value.Map)
	if failure == nil {
		if got.err != nil {
			return got.phase + ": " + got.err.Error()
		}
		result, _ := v.Get("result")
		if m, ok := result.(*value.Map); ok && m.Has("__python__") {
			// A set is given back as a list.
			repr, _ := m.Get("repr")
			result = []any{strings.Trim(repr.(string), "{'}")}
		}
		if !value.Equal(result, got.value) {
			return value.JSON(got.value, false)
		}
		return ""
	}
	if got.err == nil {
		return "no error, but " + value.JSON(got.value, false)
	}
	if phase, _ := failure.Get("phase"); phase != got.phase {
		return "it fails in phase " + got.phase + ": " + got.err.Error()
	}
	if class, _ := failure.Get("type"); class != Class(got.err) {
		return "it is a " + Class(got.err) + ": " + got.err.Error()
	}
	var own *Error
	if placed := errors.As(got.err, &own); got.phase != "resolve" && !placed || placed && own.Class != ValidationFailed && !strings.HasPrefix(own.Path, "outputs.o.value.") {
		return "the error has no place"
	}
	return ""
}

// informative are the messages that come from Python itself or are of another
// wording here.
func informative(message string) bool {
	for _, part := range []string{"codec can't encode", "Algorithm must be one of", "Parse error",
		"receiver ()"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

func TestFunctionVectors(t *testing.T) {
	text, err := contracttest.Text("orchestration/function-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.ParseJSON(string(text))
	if err != nil {
		t.Fatal(err)
	}
	file := v.(*value.Map)
	context, vectors := get(file, "context"), get(file, "vectors")
	schemas := fakes{get(context, "resources", "res", "attributes")}
	files := map[string]string{"f.txt": "file content", "f.json": `{"a": 1}`}
	count := 0
	for g := range vectors.Len() {
		group, list := vectors.At(g)
		for _, item := range list.([]any) {
			count++
			v := item.(*value.Map)
			version, _ := v.Get("template_version")
			note, _ := v.Get("note")
			text, _ := note.(string)
			around := Surroundings{Files: files, Zones: []string{"az1", "az2"}, Facade: facade(nil, nil, "Delete")}
			if strings.Contains(text, "{k: v}") || strings.Contains(text, "CFN spelling") {
				around.Facade = facade(value.NewMap("k", "v"), value.NewMap("p", value.Int(1)), "Retain")
			}
			if strings.Contains(text, "without a stack") {
				around.Zones = nil
			}
			s := vectorStack(t, version.(string), context, around)
			got := workOut(s, v, schemas)
			if why := differs(v, got); why != "" {
				t.Errorf("%s, %s\n  got %s", group, value.JSON(v, false), why)
				continue
			}
			failure, _ := v.Get("error")
			if failure == nil {
				continue
			}
			message, _ := failure.(*value.Map).Get("message")
			if Said(got.err) != message && !informative(message.(string)) {
				t.Errorf("%s, %s\n  says %s", group, value.JSON(v, false), got.err)
			}
		}
	}
	if count != 567 {
		t.Errorf("%d vectors", count)
	}
}
