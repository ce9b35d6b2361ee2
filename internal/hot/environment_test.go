package hot

import (
	"slices"
	"testing"

	"holdfast.dev/internal/hot/value"
)

func environmentOf(t *testing.T, text string) *Environment {
	t.Helper()
	e, err := ParseEnvironment(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestInvalidEnvironments(t *testing.T) {
	for text, why := range map[string]string{
		"[1]":                       "The environment is not a valid YAML mapping data type.",
		"foo: 1":                    `environment has wrong section "foo" (line 1)`,
		"parameters:":               `environment has empty section "parameters" (line 1)`,
		"parameters: 5":             `environment section "parameters" must be a map (line 1)`,
		"event_sinks: 5":            `environment section "event_sinks" must be a list (line 1)`,
		"resource_registry: {A: 5}": `resource_registry: "A" must be the name of a type or a template (line 1)`,
		"resource_registry: {resources: {a: {hooks: pre}}}": `Invalid hook type "pre" for resource breakpoint, acceptable hook types are: ` +
			`('pre-create', 'pre-update', 'pre-delete', 'post-create', 'post-update', 'post-delete') (line 1)`,
		"resource_registry: {resources: {a: {restricted_actions: [x]}}}": `Invalid restricted_action type "['x']" for resource, ` +
			`acceptable restricted_action types are: ('update', 'replace') (line 1)`,
		"a: [": "did not find expected node content (line 1)",
	} {
		if _, err := ParseEnvironment(text); err == nil || err.Error() != why {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEnvironmentShown(t *testing.T) {
	e := environmentOf(t, `
parameters: {a: 1, secret: x}
parameter_defaults: {b: 2}
encrypted_param_names: [secret]
resource_registry: {"My::T": my.yaml, resources: {r: {hooks: pre-create}}}`)
	if got := value.JSON(e.Stored(), false); got != `{"resource_registry": {"resources": {"r": {"hooks": "pre-create"}}, "My::T": "my.yaml"}, `+
		`"parameters": {"a": 1, "secret": "x"}, "parameter_defaults": {"b": 2}, "event_sinks": [], "encrypted_param_names": ["secret"]}` {
		t.Errorf("%s", got)
	}
	masked := e.Masked(map[string]*Schema{"secret": {Hidden: true}})
	if got := value.JSON(argument(masked, "parameters"), false); got != `{"a": 1, "secret": "******"}` {
		t.Errorf("%s", got)
	}
	again, err := NewEnvironment(e.Stored())
	if err != nil || !value.Equal(again.Stored(), e.Stored()) {
		t.Errorf("kept and read again: %v, %v", again, err)
	}
	if empty := value.JSON(environmentOf(t, "").User(), false); empty !=
		`{"resource_registry": {"resources": {}}, "parameters": {}, "parameter_defaults": {}, "event_sinks": []}` {
		t.Errorf("%s", empty)
	}
}

type typeNames []string

func (n typeNames) HasType(name string) bool { return slices.Contains(n, name) }

func TestRegistry(t *testing.T) {
	types := typeNames{"OS::Nova::Server", "OS::Heat::None", "OS::Neutron::Port"}
	e := environmentOf(t, `
resource_registry:
  "My::Server": OS::Nova::Server
  "My::Nested": nested.yaml
  "OS::Neutron::*": OS::Heat::None
  "Foo::*": OS::*
  "Loop::A": Loop::B
  "Loop::B": Loop::A
  "Away": AwayToo
  resources:
    special: {"My::Server": special.yaml}
`)
	for _, c := range []struct {
		typ, resource string
		wanted        Meaning
		fails         bool
	}{
		{"OS::Nova::Server", "r", Meaning{Type: "OS::Nova::Server"}, false},
		{"My::Server", "r", Meaning{Type: "OS::Nova::Server"}, false},
		{"My::Server", "special", Meaning{"special.yaml", "My::Server"}, false},
		{"My::Nested", "r", Meaning{"nested.yaml", "My::Nested"}, false},
		{"other.yaml", "r", Meaning{"other.yaml", "other.yaml"}, false},
		{"OS::Neutron::Port", "r", Meaning{Type: "OS::Heat::None"}, false},
		{"Foo::Nova::Server", "r", Meaning{Type: "OS::Nova::Server"}, false},
		{"Loop::A", "r", Meaning{}, true},
		{"Away", "r", Meaning{}, true},
		{"Nope", "r", Meaning{}, true},
		{"", "r", Meaning{}, true},
	} {
		got, err := e.Registry.Find(c.typ, c.resource, types)
		if got != c.wanted || (err != nil) != c.fails {
			t.Errorf("%s of %s is %v, %v", c.typ, c.resource, got, err)
		}
	}
	_, err := e.Registry.Find("Nope", "r", types)
	if err.Error() != "The Resource Type (Nope) could not be found." || Class(err) != ValidationFailed {
		t.Errorf("%v", err)
	}
}

func TestRegistryTakesAway(t *testing.T) {
	e := environmentOf(t, "resource_registry: {A::x: B, A::y: C, D: E, resources: {r: {T: U, V: W}}}")
	over := environmentOf(t, "resource_registry: {resources: {r: {X: Y}}}")
	sum, err := e.With(over)
	if err != nil || value.JSON(sum.Registry.Map(), false) != `{"resources": {"r": {"T": "U", "V": "W", "X": "Y"}}, "A::x": "B", "A::y": "C", "D": "E"}` {
		t.Errorf("%s, %v", value.JSON(sum.Registry.Map(), false), err)
	}
	less, err := e.Registry.With(yamlMap(t, "{'A::*': ~, resources: {r: {T: ~}}}"))
	if err != nil || value.JSON(less.Map(), false) != `{"resources": {"r": {"V": "W"}}, "D": "E"}` {
		t.Errorf("%s, %v", value.JSON(less.Map(), false), err)
	}
}

func TestHooks(t *testing.T) {
	e := environmentOf(t, `
resource_registry:
  resources:
    "web*": {hooks: [pre-create, pre-update], restricted_actions: replace}
    "web[0-9]": {hooks: post-create}
    nested: {hooks: pre-delete, "inner?": {hooks: pre-update}}
`)
	r := e.Registry
	if !r.HasHook("web1", "pre-create") || !r.HasHook("web1", "post-create") || r.HasHook("web", "post-create") || r.HasHook("db", "pre-create") {
		t.Error("hooks of the wrong resources")
	}
	if got := r.Restricted("webX"); !slices.Equal(got, []string{"replace"}) {
		t.Errorf("%v", got)
	}
	inside := environmentOf(t, "resource_registry: {resources: {nested: {'inner?': {hooks: pre-update}}, hooks: {T: U}}}")
	if !r.Sets("hooks") || !r.Sets("restricted_actions") || !inside.Registry.Sets("hooks") || inside.Registry.Sets("restricted_actions") ||
		environmentOf(t, "resource_registry: {resources: {hooks: {T: U}}}").Registry.Sets("hooks") {
		t.Error("hooks of the wrong registries")
	}
	child := e.Child(value.NewMap("a", "b"), "", "nested")
	if !child.Registry.HasHook("inner1", "pre-update") || child.Registry.HasHook("web1", "pre-create") {
		t.Errorf("%s", value.JSON(child.User(), false))
	}
}

func TestMergeFiles(t *testing.T) {
	tmpl := mustParse(t, `
heat_template_version: wallaby
parameters: {s: {type: string}, l: {type: comma_delimited_list}, j: {type: json}, n: {type: number}, b: {type: boolean}, o: {type: string}}`)
	schemas, err := tmpl.AllSchemas(map[string]string{"x": "not a template", "n.yaml": "heat_template_version: pike\nparameters: {inner: {type: string}}"})
	if err != nil || schemas["inner"] == nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"1": "parameters: {s: a, l: 'a', j: {x: {p: 1}, y: [1], t: a}, o: old}\nresource_registry: {A: B}",
		"2": `
parameters: {s: b, l: 'b', j: {x: {q: 2}, y: [2], t: b}, o: new, strange: 1}
resource_registry: {C: D}
parameter_merge_strategies: {default: deep_merge, o: overwrite}`,
		"3": "parameters: {n: 1}\nparameter_merge_strategies: {n: merge}",
		"4": "parameters: {b: true}\nparameter_merge_strategies: {b: merge}",
		"5": "parameters: {o: x}\nparameter_merge_strategies: {o: merge}",
	}
	// A parameter keeps the strategy it was first merged by, unless a file says
	// another, which is refused.
	first, err := environmentOf(t, "").MergeFiles([]string{"1", "2"}, files, schemas)
	if err != nil || argument(first.Parameters, "s") != "b" {
		t.Errorf("%v, %v", first, err)
	}
	files["6"] = "parameters: {s: c}\nparameter_merge_strategies: {s: merge}"
	if _, err := environmentOf(t, "").MergeFiles([]string{"1", "6"}, files, schemas); Class(err) != ConflictingMerge {
		t.Errorf("%v", err)
	}
	files["1"] += "\nparameter_merge_strategies: {default: deep_merge, o: overwrite}"
	merged, err := environmentOf(t, "").MergeFiles([]string{"1", "2"}, files, schemas)
	if err != nil {
		t.Fatal(err)
	}
	if got := value.JSON(merged.Parameters, false); got != `{"s": "ab", "l": "a,b", "j": {"x": {"p": 1, "q": 2}, "y": [1, 2], "t": "ab"}, "o": "new"}` {
		t.Errorf("%s", got)
	}
	if got := value.JSON(merged.Registry.Map(), false); got != `{"resources": {}, "A": "B", "C": "D"}` {
		t.Errorf("%s", got)
	}
	for _, names := range [][]string{{"1", "3"}, {"1", "4"}, {"1", "5"}, {"nope"}} {
		if _, err := environmentOf(t, "").MergeFiles(names, files, schemas); err == nil {
			t.Errorf("%v are merged", names)
		}
	}
}
