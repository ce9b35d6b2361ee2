package orchestration_test

// What templates ask for, also those that are nested in one.

import (
	"encoding/json"
	"testing"
)

func TestValidateNested(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	body, err := json.Marshal(map[string]any{
		"template": map[string]any{"heat_template_version": "2021-04-16", "resources": map[string]any{
			"v": map[string]any{"type": "OS::Heat::None"}, "r": map[string]any{"type": "t.yaml", "properties": map[string]any{"p": "x"}}}},
		"files": map[string]string{
			"t.yaml": "heat_template_version: 2021-04-16\ndescription: d\nparameters: {p: {type: string}, q: {type: number, default: 1}}\nparameter_groups: [{label: g, parameters: [p]}]\nresources: {i: {type: u.yaml}}",
			"u.yaml": "heat_template_version: 2021-04-16\nparameters: {z: {type: string, default: z}}\nresources: {n: {type: OS::Heat::None}}",
		}})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]bool{"": false, "?show_nested=false": false, "?show_nested=True&ignore_errors=99001": true} {
		status, answer, _ := c.ask("alice", "POST", "/validate"+query, string(body))
		nested, is := answer["NestedParameters"].(map[string]any)
		if status != 200 || is != want {
			t.Fatalf("%s: %d %v", query, status, answer)
		}
		if !want {
			continue
		}
		r, _ := nested["r"].(map[string]any)
		if len(nested) != 1 || r["Type"] != "t.yaml" || r["Description"] != "d" || len(r["Parameters"].(map[string]any)) != 2 || len(r["ParameterGroups"].([]any)) != 1 {
			t.Errorf("%v", nested)
		}
		if i, _ := r["NestedParameters"].(map[string]any)["i"].(map[string]any); i["Parameters"].(map[string]any)["z"] == nil || i["NestedParameters"] != nil {
			t.Errorf("%v", r)
		}
	}
	if status, answer, _ := c.ask("alice", "POST", "/validate?ignore_errors=99001,1", string(body)); status != 400 || answer["error"].(map[string]any)["message"] != "Invalid codes in ignore_errors : ['1']" {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer, _ := c.ask("alice", "POST", "/validate?show_nested=maybe", string(body)); status != 400 {
		t.Errorf("%d %v", status, answer)
	}
}
