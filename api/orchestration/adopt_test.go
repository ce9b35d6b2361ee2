package orchestration_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// adoption is a body that has a text be adopted.
func adoption(t *testing.T, name string, left any, more map[string]any) string {
	t.Helper()
	asked := map[string]any{"stack_name": name, "adopt_stack_data": left}
	for key, v := range more {
		asked[key] = v
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What an abandoned stack has left is adopted by a new one, with the parameters that
// it had, unless others are given; where the operator allows it.
func TestAdopt(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	c.api.Abandon = true
	_, document, _ := c.ask("alice", "DELETE", "/stacks/one/"+id+"/abandon", "")
	document["resources"] = map[string]any{"v": map[string]any{"name": "v", "resource_id": "there", "type": "OS::Heat::Value", "action": "CREATE", "status": "COMPLETE", "metadata": map[string]any{}, "resource_data": map[string]any{}}}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	left := string(text)
	if status, answer, _ := c.ask("alice", "POST", "/stacks", adoption(t, "two", left, nil)); status != 400 || answer["error"].(map[string]any)["type"] != "NotSupported" ||
		answer["error"].(map[string]any)["message"] != "Stack Adopt is not supported." {
		t.Errorf("%d %v", status, answer)
	}
	c.api.Adopt = true
	if status, answer, _ := c.ask("reader", "POST", "/stacks", adoption(t, "two", left, nil)); status != 403 {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer, _ := c.ask("alice", "POST", "/stacks/preview", adoption(t, "two", left, nil)); status != 200 || answer["stack"].(map[string]any)["parameters"].(map[string]any)["n"] != "3" {
		t.Errorf("%d %v", status, answer)
	}
	for name, want := range map[string]string{"two": "3", "three": "5"} {
		more := map[string]any{"disable_rollback": false}
		if name == "three" {
			more["parameters"] = map[string]any{"n": 5}
		}
		status, answer, _ := c.ask("alice", "POST", "/stacks", adoption(t, name, left, more))
		if status != 201 {
			t.Fatalf("%d %v", status, answer)
		}
		at := "/stacks/" + name + "/" + answer["stack"].(map[string]any)["id"].(string)
		_, answer, _ = c.ask("alice", "GET", at, "")
		s := answer["stack"].(map[string]any)
		if s["stack_status"] != "ADOPT_IN_PROGRESS" || s["stack_status_reason"] != "Stack ADOPT started" || s["parameters"].(map[string]any)["n"] != want {
			t.Errorf("%v", s)
		}
		// What isn't adopted yet is left again to whoever abandons the stack.
		_, answer, _ = c.ask("alice", "GET", at+"/export", "")
		if one := answer["resources"].(map[string]any)["v"].(map[string]any); one["resource_id"] != "there" {
			t.Errorf("%v", one)
		}
	}
	if len(c.offers.ids) != 4 {
		t.Errorf("%v", c.offers.ids)
	}
}

// What can't be adopted is told where it is wrong, and changes nothing.
func TestAdoptRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.api.Adopt = true
	const template = `"template": {"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::None"}}}`
	const bad = "Invalid adopt data: "
	for name, row := range map[string]struct {
		left           any
		class, message string
	}{
		"null":            {nil, "HTTPBadRequest", bad + "adopt_stack_data must be a text, not NoneType"},
		"a map":           {map[string]any{}, "HTTPBadRequest", bad + "adopt_stack_data must be a text, not dict"},
		"empty":           {"", "HTTPBadRequest", bad + "'template'"},
		"a list":          {"[]", "HTTPBadRequest", bad + "The template is not a JSON object or YAML mapping."},
		"a word":          {"word", "HTTPBadRequest", bad + "The template is not a JSON object or YAML mapping."},
		"torn":            {`{"template": {`, "HTTPBadRequest", ""},
		"no template":     {`{"resources": {}}`, "HTTPBadRequest", bad + "'template'"},
		"a template":      {`{"template": "x"}`, "HTTPBadRequest", bad + "template must be a map, not str"},
		"no version":      {`{"template": {}}`, "InvalidTemplateVersion", ""},
		"an unknown type": {`{"template": {"heat_template_version": "2021-04-16", "resources": {"a": {"type": "My::Own"}}}}`, "StackValidationFailed", ""},
		"environment":     {`{` + template + `, "environment": []}`, "HTTPBadRequest", bad + "environment must be a map, not list"},
		"parameters":      {`{` + template + `, "environment": {"parameters": 1}}`, "HTTPBadRequest", bad + "environment.parameters must be a map, not int"},
		"resources":       {`{` + template + `, "resources": []}`, "HTTPBadRequest", bad + "resources must be a map, not list"},
		"a resource":      {`{` + template + `, "resources": {"a": "x"}}`, "HTTPBadRequest", bad + "resources.a must be a map, not str"},
		"an id":           {`{` + template + `, "resources": {"a": {"resource_id": 1}}}`, "HTTPBadRequest", bad + "resources.a.resource_id must be a text, not int"},
		"a long id":       {`{` + template + `, "resources": {"a": {"resource_id": "` + strings.Repeat("x", 256) + `"}}}`, "HTTPBadRequest", bad + "resources.a.resource_id is longer than 255 characters"},
		"a control":       {`{` + template + `, "resources": {"a": {"resource_id": "\u0000"}}}`, "HTTPBadRequest", bad + "resources.a.resource_id is the id of nothing"},
		"a way up":        {`{` + template + `, "resources": {"a": {"resource_id": ".."}}}`, "HTTPBadRequest", bad + "resources.a.resource_id is the id of nothing"},
		"data":            {`{` + template + `, "resources": {"a": {"resource_data": [1]}}}`, "HTTPBadRequest", bad + "resources.a.resource_data must be a map, not list"},
		"metadata":        {`{` + template + `, "resources": {"a": {"metadata": "x"}}}`, "HTTPBadRequest", bad + "resources.a.metadata must be a map, not str"},
		"inside":          {`{` + template + `, "resources": {"a": {"resources": {"b": {"resource_id": {}}}}}}`, "HTTPBadRequest", bad + "resources.a.resources.b.resource_id must be a text, not dict"},
		"deep":            {`{` + template + `, "resources": ` + strings.Repeat(`{"a": {"resources": `, 5000) + `{}` + strings.Repeat(`}}`, 5000) + `}`, "HTTPBadRequest", ""},
		"deep YAML":       {"resources: " + strings.Repeat("[", 5000), "HTTPBadRequest", ""},
		"a bomb":          {"a: &a [1,1,1,1,1,1,1,1,1]\n" + bomb(9), "HTTPBadRequest", ""},
	} {
		status, answer, _ := c.ask("alice", "POST", "/stacks", adoption(t, "s", row.left, nil))
		wrong, _ := answer["error"].(map[string]any)
		if status != 400 || wrong["type"] != row.class || row.message != "" && wrong["message"] != row.message {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
	for name, left := range map[string]string{
		"huge":      `{` + template + `, "resources": {"a": {"resource_id": "` + strings.Repeat("x", 1<<20) + `"}}}`,
		"too large": `{"template": {"heat_template_version": "2021-04-16", "description": "` + strings.Repeat("x", 600_000) + `"}}`,
	} {
		if status, answer, _ := c.ask("alice", "POST", "/stacks", adoption(t, "s", left, nil)); status != 400 && status != 413 {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", "/stacks", ""); len(answer["stacks"].([]any)) != 0 || len(c.offers.ids) != 0 {
		t.Errorf("%v, %v", answer, c.offers.ids)
	}
}

// bomb is a text whose aliases stand for more than anybody can hold.
func bomb(levels int) string {
	var b strings.Builder
	for i := range levels {
		name, before := string(rune('b'+i)), string(rune('a'+i))
		b.WriteString(name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+before+",", 9), ",") + "]\n")
	}
	return b.String()
}
