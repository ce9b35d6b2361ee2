package stacks

import (
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// A template that can't be a resource is refused with its parent, in the original's
// words; one that holds itself, or that holds too many, in bounded time.
func TestProvidersAreChecked(t *testing.T) {
	t.Parallel()
	types, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const head = "heat_template_version: 2021-04-16\n"
	wide := head + "resources:\n"
	for _, name := range strings.Fields("a b c d e f g h i j k l") {
		wide += "  " + name + ": {type: " + "t.yaml}\n"
	}
	for name, c := range map[string]struct {
		resource, file, registry, want string
	}{
		"no file":     {"{type: other.yaml}", "", "", `Could not fetch remote template "other.yaml": it is not among the files`},
		"unreadable":  {"{type: t.yaml}", "a: [", "", "Error parsing template t.yaml"},
		"a property":  {"{type: t.yaml, properties: {x: 1}}", head, "", "Property error: resources.r.properties: Unknown Property x"},
		"a missing":   {"{type: t.yaml}", head + "parameters: {n: {type: number}}", "", "Property error: resources.r.properties: Property n not assigned"},
		"a parameter": {"{type: t.yaml, properties: {n: 11}}", head + "parameters: {n: {type: number, constraints: [{range: {max: 10}}]}}", "", "11"},
		"inside":      {"{type: t.yaml}", head + "resources: {x: {type: OS::Heat::RandomString, properties: {length: 0}}}", "", "Property error: resources.r<t.yaml>.resources.x.properties.length: 0 is out of range (min: 1, max: 512)"},
		"worked out":  {"{type: t.yaml}", head + "resources: {x: {type: OS::Heat::RandomString, properties: {length: {get_file: nope}}}}", "", `Property error: resources.r<t.yaml>.resources.x.properties.length: No content found in the "files" section for get_file path: nope`},
		"unknown":     {"{type: OS::Heat::Value, properties: {value: {get_file: nope}, x: 1}}", head, "", "Property error: resources.r.properties: Unknown Property x"},
		"its policy":  {"{type: OS::Heat::ResourceGroup, update_policy: {x: 1}, properties: {count: {get_file: nope}}}", head, "", "Property error: resources.r.update_policy: Unknown Property x"},
		"raised":      {"{type: t.yaml}", head + "resources: {x: {type: OS::Heat::None, condition: {not: {get_param: nope}}}}", "", "UserParameterMissing: resources.r<t.yaml>.resources.x.condition.not.get_param: The Parameter (nope) was not provided."},
		"its facade":  {"{type: t.yaml, metadata: {a: 0}, deletion_policy: Retain}", head + "resources: {x: {type: OS::Heat::RandomString, deletion_policy: {resource_facade: deletion_policy}, properties: {length: {yaql: {expression: $.data.a, data: {resource_facade: metadata}}}}}}", "", "Property error: resources.r<t.yaml>.resources.x.properties.length: 0 is out of range (min: 1, max: 512)"},
		"looks at":    {"{type: OS::Heat::None, properties: {x: {get_file: nope}}}", head, "", ""},
		"an output":   {"{type: t.yaml}", head, "", ""},
		"itself":      {"{type: t.yaml}", head + "resources: {x: {type: t.yaml}}", "", "Recursion depth exceeds 5."},
		"wide":        {"{type: t.yaml}", wide, "", ""},
		"long":        {"{type: OS::Heat::ResourceChain, properties: {resources: [" + strings.Repeat("t.yaml, ", 400) + "OS::Heat::None]}}", head + "description: " + strings.Repeat("x", 100_000), "", "Maximum resources per stack exceeded."},
		"facade":      {"{type: OS::Heat::Value}", head, "OS::Heat::Value", "Required property value for facade OS::Heat::Value missing in provider"},
		"mistyped":    {"{type: OS::Heat::RandomString}", head + "parameters: {length: {type: string, default: a}}", "OS::Heat::RandomString", "Property length type mismatch between facade OS::Heat::RandomString (Integer) and provider (String)"},
		"silent":      {"{type: OS::Heat::RandomString}", head, "OS::Heat::RandomString", "Attribute value for facade OS::Heat::RandomString missing in provider"},
		"chained":     {"{type: OS::Heat::ResourceChain, properties: {resources: [OS::No]}}", head, "", "The Resource Type (OS::No) could not be found."},
		"stack":       {"{type: OS::Heat::Stack, properties: {template: 'x: 1'}}", head, "", "Template format version not found."},
		"its own":     {"{type: t.yaml}", head + "resources: {x: {type: OS::Heat::Value, properties: {value: {list_join: ['', [{get_param: OS::stack_name}, {get_param: OS::stack_id}, {get_param: OS::project_id}]]}}}}", "", ""},
		"elsewhere":   {"{type: OS::Heat::Stack, properties: {template: 'heat_template_version: 2021-04-16', context: {region_name: x}}}", head, "", "context is not supported."},
	} {
		began := time.Now()
		registry := &value.Map{}
		if c.registry != "" {
			registry.Set(c.registry, "t.yaml")
		}
		request, err := ParseRequest(value.NewMap("template", head+"resources: {r: "+c.resource+"}", "files", value.NewMap("t.yaml", c.file),
			"environment", value.NewMap("resource_registry", registry)), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := request.Define(hot.Identity{}, types)
		if err == nil {
			d.Used()
			err = d.Validate()
		}
		switch {
		case name == "wide" && hot.Class(err) != hot.LimitExceeded, c.want == "" && name != "wide" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
	}
}
