package orchestration_test

import (
	"reflect"
	"testing"

	"holdfast.dev/internal/contracttest"
)

// The template of a type is the original's, but for descriptions.
func TestTypeTemplates(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for kind, sample := range map[string]string{"?template_type=HOT": "resource-type-template-hot-response", "": "resource-type-template-response"} {
		var want map[string]any
		contracttest.Read(t, "orchestration/samples/"+sample+".json", &want)
		status, got, _ := c.ask("alice", "GET", "/resource_types/OS::Nova::KeyPair/template"+kind, "")
		if status != 200 {
			t.Fatalf("%d %v", status, got)
		}
		for section, v := range want {
			if section == "parameters" || section == "Parameters" || section == "outputs" || section == "Outputs" {
				for _, one := range v.(map[string]any) {
					delete(one.(map[string]any), "description")
					delete(one.(map[string]any), "Description")
				}
			}
			if !reflect.DeepEqual(got[section], v) {
				t.Errorf("%s: %v, want %v", section, got[section], v)
			}
		}
	}
	if status, _, _ := c.ask("reader", "GET", "/resource_types/OS::Heat::None/template", ""); status != 403 {
		t.Errorf("%d", status)
	}
	// Whatever it is made of, it can be asked for.
	_, answer, _ := c.ask("reader", "GET", "/resource_types", "")
	for _, name := range answer["resource_types"].([]any) {
		for _, kind := range []string{"cfn", "hot"} {
			status, template, _ := c.ask("alice", "GET", "/resource_types/"+name.(string)+"/template?template_type="+kind, "")
			if status != 200 || len(template) != 5 {
				t.Errorf("%s: %d %v", name, status, template)
			}
		}
	}
	for path, want := range map[string]int{"/resource_types/OS::No/template": 404, "/resource_types/OS::Keystone::Role/template": 403, "/resource_types/OS::Heat::None/template?template_type=x": 400} {
		if status, answer, _ := c.ask("alice", "GET", path, ""); status != want {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
}
