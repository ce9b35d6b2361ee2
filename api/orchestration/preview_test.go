package orchestration_test

// Previews: what would be made or changed, and nothing is.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	store_ "holdfast.dev/internal/store/orchestration"
)

func TestPreview(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const template = `"template": {"heat_template_version": "2021-04-16", "parameters": {"n": {"type": "number", "default": 3}}, "resources": {
		"v": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "n"}}, "metadata": {"a": 1}},
		"g": {"type": "OS::Heat::ResourceGroup", "depends_on": "v", "properties": {"count": 1, "resource_def": {"type": "OS::Heat::None"}}}},
		"outputs": {"o": {"value": {"get_attr": ["v", "value"]}}}}`
	status, answer, _ := c.ask("alice", "POST", "/stacks/preview", `{"stack_name": "one", "parameters": {"n": 5}, `+template+`}`)
	s, _ := answer["stack"].(map[string]any)
	if status != 200 || s["id"] != "None" || s["stack_name"] != "one" || s["parameters"].(map[string]any)["n"] != "5" || s["stack_status"] != nil || s["creation_time"] != nil || len(s["outputs"].([]any)) != 1 {
		t.Fatalf("%d %v", status, answer)
	}
	resources := s["resources"].([]any)
	v := resources[0].(map[string]any)
	if v["resource_name"] != "v" || v["resource_action"] != "INIT" || v["properties"].(map[string]any)["value"] != 5.0 || v["metadata"].(map[string]any)["a"] != 1.0 ||
		!slices.Equal(v["required_by"].([]any), []any{"g"}) || v["resource_identity"].(map[string]any)["path"] != "/resources/v" {
		t.Errorf("%v", v)
	}
	if members := resources[1].([]any); len(members) != 1 || members[0].(map[string]any)["parent_resource"] != "g" {
		t.Errorf("%v", resources[1])
	}
	for body, class := range map[string]string{`{` + template + `}`: "HTTPBadRequest",
		`{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::No"}}}}`: "StackValidationFailed"} {
		if status, answer, _ := c.ask("alice", "POST", "/stacks/preview", body); status != 400 || answer["error"].(map[string]any)["type"] != class {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
	var stacks_ int
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM orchestration.stacks`).Scan(&stacks_); err != nil || stacks_ != 0 || len(c.trusts.of) != 0 {
		t.Errorf("%d stacks, %v", stacks_, err)
	}
	c.create("one")
	if status, _, _ := c.ask("alice", "POST", "/stacks/preview", `{"stack_name": "one", `+template+`}`); status != 409 {
		t.Errorf("%d", status)
	}
}

// A preview of more than is ever looked into ends in bounded time, though nothing of it
// would be made.
func TestPreviewIsBounded(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	empty := func(n int) string {
		all := map[string]any{}
		for i := range n {
			all[fmt.Sprint("r", i)] = map[string]any{"type": "OS::Heat::ResourceGroup", "properties": map[string]any{"count": 0, "resource_def": map[string]any{"type": "t.yaml"}}}
		}
		text, err := json.Marshal(map[string]any{"heat_template_version": "2021-04-16", "resources": all})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for n, want := range map[int]int{2: 200, 20: 400} {
		body, err := json.Marshal(map[string]any{"stack_name": "one", "template": empty(2), "files": map[string]string{"t.yaml": empty(n * n)}})
		if err != nil {
			t.Fatal(err)
		}
		if status, answer, _ := c.ask("alice", "POST", "/stacks/preview", string(body)); status != want ||
			want == 400 && answer["error"].(map[string]any)["message"] != "Request limit exceeded: Maximum resources per stack exceeded." {
			t.Errorf("%d: %d %v, want %d", n, status, answer["error"], want)
		}
	}
}

func TestPreviewOfUpdate(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	template := func(kept, changed, length int, more string) string {
		return fmt.Sprintf(`{"template": {"heat_template_version": "2021-04-16", "resources": {"kept": {"type": "OS::Heat::Value", "properties": {"value": %d}},
			"changed": {"type": "OS::Heat::Value", "properties": {"value": %d}}, "replaced": {"type": "OS::Heat::RandomString", "properties": {"length": %d}}, "%s": {"type": "OS::Heat::None"}}}}`,
			kept, changed, length, more)
	}
	status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", `+template(1, 1, 5, "dropped")[1:])
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	rows := []*store_.Resource{{Name: "kept", Type: "OS::Heat::Value"}, {Name: "changed", Type: "OS::Heat::Value"},
		{Name: "replaced", Type: "OS::Heat::RandomString"}, {Name: "dropped", Type: "OS::Heat::None"}}
	var states []*stacks.State
	for _, properties := range []*value.Map{value.NewMap("value", value.Int(1), "type", nil), value.NewMap("value", value.Int(1), "type", nil), value.NewMap("length", value.Int(5)), {}} {
		states = append(states, &stacks.State{Properties: properties, Attributes: &value.Map{}, Data: &value.Map{}})
	}
	c.made(id, rows, states...)
	at := "/stacks/one/" + id + "/preview"
	for _, method := range []string{"PUT", "PATCH"} {
		status, answer, _ := c.ask("alice", method, at, template(1, 2, 6, "added"))
		changes, _ := answer["resource_changes"].(map[string]any)
		if status != 200 || len(changes) != 5 {
			t.Fatalf("%d %v", status, answer)
		}
		for change, want := range map[string]string{"unchanged": "kept", "updated": "changed", "replaced": "replaced", "added": "added", "deleted": "dropped"} {
			if list := changes[change].([]any); len(list) != 1 || list[0].(map[string]any)["resource_name"] != want {
				t.Errorf("%s: %v, want %s", change, list, want)
			}
		}
	}
	if status, answer, _ := c.ask("alice", "PATCH", at, `{}`); status != 200 || len(answer["resource_changes"].(map[string]any)["added"].([]any)) != 0 {
		t.Errorf("%d %v", status, answer)
	}
	for _, row := range []struct {
		token, method, path, body string
		status                    int
	}{
		{"alice", "PUT", at, `{}`, 400}, {"alice", "PUT", at + "?show_nested=x", template(1, 1, 5, "x"), 400},
		{"alice", "PUT", at + "?show_nested=true", template(1, 1, 5, "x"), 200}, {"alice", "PUT", at + "?show_nested=false", template(1, 1, 5, "x"), 200}, {"reader", "PUT", at, template(1, 1, 5, "x"), 403},
		{"reader", "PATCH", at, `{}`, 403}, {"bob", "PATCH", "/v1/p2" + at, `{}`, 404},
	} {
		if status, answer, _ := c.ask(row.token, row.method, row.path, row.body); status != row.status {
			t.Errorf("%s %s: %d %v", row.method, row.path, status, answer)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", "/stacks/one/"+id, ""); answer["stack"].(map[string]any)["stack_status"] != "CREATE_IN_PROGRESS" {
		t.Errorf("%v", answer)
	}
}

// nest has a stack of p1 be there as a resource of another, by a template, with resources
// of some properties, all of OS::Heat::Value.
func (c *cloud) nest(parent, resource, template string, values map[string]any) (id string) {
	c.Helper()
	id = uuid.NewString()
	err := c.db.InTx(c.Context(), func(tx store.Tx) error {
		s := &store_.Stack{ID: id, Name: "one-" + resource, ProjectID: "p1", UserID: "alice", ParentID: parent, ParentResource: resource, Depth: 1, Action: "CREATE"}
		return store_.InsertStack(c.Context(), tx, s, &store_.Template{Template: template, Files: "{}", Environment: c.api.Secrets.Seal([]byte("{}"), "stack/"+id+"/environment")})
	})
	if err != nil {
		c.Fatal(err)
	}
	var rows []*store_.Resource
	var states []*stacks.State
	for _, name := range slices.Sorted(maps.Keys(values)) {
		rows = append(rows, &store_.Resource{Name: name, Type: "OS::Heat::Value"})
		states = append(states, &stacks.State{Properties: value.NewMap("value", values[name], "type", nil), Attributes: &value.Map{}, Data: &value.Map{}})
	}
	c.made(id, rows, states...)
	return id
}

// A preview of an update looks into nested stacks, if it is asked to: into a group that
// grows, shrinks or changes, into a provider's template, and into those that come, go and
// are replaced.
func TestPreviewOfUpdateLooksInside(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	group := func(count, v int) string {
		return fmt.Sprintf(`{"type": "OS::Heat::ResourceGroup", "properties": {"count": %d, "resource_def": {"type": "OS::Heat::Value", "properties": {"value": %d}}}}`, count, v)
	}
	body := func(resources string) string {
		return `{"files": {"t.yaml": "heat_template_version: 2021-04-16\nparameters: {n: {type: number}}\nresources: {inner: {type: OS::Heat::Value, properties: {value: {get_param: n}}}, same: {type: OS::Heat::Value, properties: {value: 1}}}"},
			"template": {"heat_template_version": "2021-04-16", "resources": {` + resources + `}}}`
	}
	status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", `+body(`"g": ` + group(2, 1) + `, "p": {"type": "t.yaml", "properties": {"n": 1}}`)[1:])
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	of := c.nest(id, "g", `{"heat_template_version": "2015-04-30", "resources": {}}`, map[string]any{"0": value.Int(1), "2": value.Int(1)})
	provided := c.nest(id, "p", `{"heat_template_version": "2021-04-16", "resources": {}}`, map[string]any{"inner": value.Int(1), "same": value.Int(1)})
	given, err := value.ParseJSON(`{"count": 2, "resource_def": {"type": "OS::Heat::Value", "properties": {"value": 1}}}`)
	if err != nil {
		t.Fatal(err)
	}
	properties, err := c.api.Types.Find("OS::Heat::ResourceGroup").Check(given.(*value.Map), "", nil, stacks.Constraints)
	if err != nil {
		t.Fatal(err)
	}
	c.made(id, []*store_.Resource{{Name: "g", Type: "OS::Heat::ResourceGroup", PhysicalID: of}, {Name: "p", Type: "t.yaml", CarriedBy: stacks.Provider, PhysicalID: provided}},
		&stacks.State{Properties: properties, Attributes: &value.Map{}, Data: &value.Map{}})
	at := "/stacks/one/" + id + "/preview"
	for _, row := range []struct {
		what, resources string
		want            map[string][]string
	}{
		{"grows", `"g": ` + group(3, 1) + `, "p": {"type": "t.yaml", "properties": {"n": 1}}`,
			map[string][]string{"updated": {"g", "p"}, "unchanged": {"0", "2", "inner", "same"}, "added": {"3"}}},
		{"shrinks", `"g": ` + group(1, 1) + `, "p": {"type": "t.yaml", "properties": {"n": 1}}`,
			map[string][]string{"updated": {"g", "p"}, "unchanged": {"0", "inner", "same"}, "deleted": {"2"}}},
		{"changes", `"g": ` + group(2, 5) + `, "p": {"type": "t.yaml", "properties": {"n": 2}}`,
			map[string][]string{"updated": {"g", "p", "0", "2", "inner"}, "unchanged": {"same"}}},
		{"goes, and another comes", `"p": {"type": "t.yaml", "properties": {"n": 1}}, "q": {"type": "t.yaml", "properties": {"n": 1}}`,
			map[string][]string{"updated": {"p"}, "unchanged": {"inner", "same"}, "deleted": {"g", "0", "2"}, "added": {"q", "inner", "same"}}},
		{"is replaced", `"g": {"type": "t.yaml", "properties": {"n": 1}}, "p": {"type": "t.yaml", "properties": {"n": 1}}`,
			map[string][]string{"replaced": {"g"}, "updated": {"p"}, "unchanged": {"inner", "same"}, "deleted": {"0", "2"}, "added": {"inner", "same"}}},
	} {
		for _, nested := range []bool{false, true} {
			status, answer, _ := c.ask("alice", "PUT", fmt.Sprintf("%s?show_nested=%t", at, nested), body(row.resources))
			changes, _ := answer["resource_changes"].(map[string]any)
			if status != 200 || len(changes) != 5 {
				t.Fatalf("%s: %d %v", row.what, status, answer)
			}
			for change, list := range changes {
				names, want := []string{}, []string{}
				for _, one := range list.([]any) {
					names = append(names, one.(map[string]any)["resource_name"].(string))
				}
				for _, name := range row.want[change] {
					if nested || len(name) == 1 && name > "9" { // one of the stack itself
						want = append(want, name)
					}
				}
				slices.Sort(names)
				slices.Sort(want)
				if !slices.Equal(names, want) {
					t.Errorf("%s, nested %t: %s are %v, want %v", row.what, nested, change, names, want)
				}
			}
		}
	}
	if status, answer, _ := c.ask("alice", "PUT", at+"?show_nested=true", body(`"g": `+group(5000, 1))); status != 400 {
		t.Errorf("of too many members: %d %v", status, answer)
	}
}

// Of a group that scales itself the members are those that there are.
func TestPreviewOfUpdateLooksIntoScaled(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	body := func(v int) string {
		return fmt.Sprintf(`{"template": {"heat_template_version": "2021-04-16", "resources": {"g": {"type": "OS::Heat::AutoScalingGroup", "properties": {"min_size": 1, "max_size": 3,
			"resource": {"type": "OS::Heat::Value", "properties": {"value": %d}}}}}}}`, v)
	}
	status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", `+body(1)[1:])
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	of := c.nest(id, "g", `{"heat_template_version": "2015-04-30", "resources": {}}`, map[string]any{"abc": value.Int(1), "xyz": value.Int(1)})
	given, err := value.ParseJSON(`{"min_size": 1, "max_size": 3, "resource": {"type": "OS::Heat::Value", "properties": {"value": 1}}}`)
	if err != nil {
		t.Fatal(err)
	}
	properties, err := c.api.Types.Find("OS::Heat::AutoScalingGroup").Check(given.(*value.Map), "", nil, stacks.Constraints)
	if err != nil {
		t.Fatal(err)
	}
	c.made(id, []*store_.Resource{{Name: "g", Type: "OS::Heat::AutoScalingGroup", PhysicalID: of}}, &stacks.State{Properties: properties, Attributes: &value.Map{}, Data: &value.Map{}})
	for v, want := range map[int]string{1: "unchanged", 2: "updated"} {
		_, answer, _ := c.ask("alice", "PUT", "/stacks/one/"+id+"/preview?show_nested=true", body(v))
		names := []string{}
		for change, list := range answer["resource_changes"].(map[string]any) {
			for _, one := range list.([]any) {
				names = append(names, change+" "+one.(map[string]any)["resource_name"].(string))
			}
		}
		wanted := []string{want + " abc", want + " xyz", "updated g"}
		slices.Sort(names)
		slices.Sort(wanted)
		if !slices.Equal(names, wanted) {
			t.Errorf("of the value %d: %v, want %v", v, names, wanted)
		}
	}
}
