package orchestration_test

// Types of resources that not everybody may use.

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/policy"
)

// A type is kept for some by the rule of its name or of all that begin alike, be it
// built in or the operator's alone, and also as the member of a group.
func TestTypesAreKept(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("resource_types:OS::Heat::Delay: role:admin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCloudWith(t, policy.Options{File: file})
	const group = `{"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": {"type": "%s", "properties": {"min_wait": 1}}}}`
	for _, row := range []struct{ typ, resource string }{
		{"OS::Keystone::Role", `{"type": "OS::Keystone::Role"}`},
		{"OS::Neutron::Segment", `{"type": "OS::Neutron::Segment"}`},
		{"OS::Heat::Delay", `{"type": "OS::Heat::Delay", "properties": {"min_wait": 1}}`},
		{"OS::Heat::Delay", fmt.Sprintf(group, "OS::Heat::Delay")},
	} {
		body := `{"stack_name": "kept", "template": {"heat_template_version": "2021-04-16", "resources": {"r": ` + row.resource + `}}}`
		status, answer, _ := c.ask("alice", "POST", "/stacks", body)
		fault, _ := answer["error"].(map[string]any)
		if want := "You are not authorized to use " + row.typ + "."; status != 403 || fault["message"] != want {
			t.Errorf("%s: %d %v, want %q", row.resource, status, answer, want)
		}
		if status, answer, _ := c.ask("alice", "GET", "/resource_types/"+row.typ, ""); status != 403 {
			t.Errorf("%s is shown: %d %v", row.typ, status, answer)
		}
	}
	_, answer, _ := c.ask("alice", "GET", "/resource_types", "")
	for _, name := range answer["resource_types"].([]any) {
		if name == "OS::Heat::Delay" || name == "OS::Keystone::Role" {
			t.Errorf("%s is listed", name)
		}
	}
}
