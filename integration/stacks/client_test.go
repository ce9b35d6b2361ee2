package stacks

// The real command line client.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
)

// openstack runs `openstack stack ...` and gives what it prints.
func (u user) openstack(args ...string) string {
	u.Helper()
	cmd := exec.CommandContext(u.Context(), venv.Program(u.T, "clients", "openstack"), append([]string{"stack"}, args...)...)
	cmd.Env = append(os.Environ(), "OS_AUTH_TYPE=admin_token", "OS_TOKEN="+cloud.UserToken, "OS_ENDPOINT="+u.URL()+u.base())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		u.Fatalf("openstack stack %v: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

// told reads what the client prints as JSON.
func told[T any](u user, args ...string) (into T) {
	u.Helper()
	out := u.openstack(append(args, "-f", "json")...)
	if begins := strings.LastIndex(out, "\n{"); begins > 0 {
		out = out[begins:] // after what --wait has told
	}
	if err := json.Unmarshal([]byte(out), &into); err != nil {
		u.Fatalf("%v: %s: %v", args, out, err)
	}
	return into
}

func (u user) file(name, text string) string {
	u.Helper()
	path := filepath.Join(u.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.Fatal(err)
	}
	return path
}

// at is the path of the stack of a name.
func (u user) at(name string) string {
	u.Helper()
	for _, s := range u.ask("GET", "/stacks", nil, 200)["stacks"].([]any) {
		if s := s.(map[string]any); s["stack_name"] == name {
			return "/stacks/" + name + "/" + s["id"].(string)
		}
	}
	u.Fatalf("there is no stack %s", name)
	return ""
}

const first = `
heat_template_version: 2021-04-16
parameters: {n: {type: number, default: 12}}
resources:
  word: {type: OS::Heat::RandomString, properties: {length: {get_param: n}}}
  said: {type: OS::Heat::Value, properties: {value: {get_attr: [word, value]}}}
outputs:
  said: {value: {get_attr: [said, value]}}
`

// A stack is made, looked at, updated and deleted by the client of its users. Each
// call takes the client seconds, so that most are made with HOLDFAST_TEST_FULL only.
func client(t *testing.T, u user) {
	template := u.file("stack.yaml", first)
	made := told[map[string]any](u, "create", "-t", template, "--wait", "mine")
	if made["stack_status"] != "CREATE_COMPLETE" {
		t.Errorf("%v", made)
	}
	before := told[map[string]any](u, "output", "show", "mine", "said")["output_value"].(string)
	if len(before) != 12 {
		t.Errorf("it says %q", before)
	}
	if os.Getenv("HOLDFAST_TEST_FULL") != "" {
		more(t, u)
	}
	u.openstack("delete", "--yes", "--wait", "mine")
	if list := u.ask("GET", "/stacks", nil, 200)["stacks"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
}

// more is what else users do with a stack.
func more(t *testing.T, u user) {
	grown(u)
	updated := told[map[string]any](u, "update", "--existing", "--parameter", "n=5", "--wait", "mine")
	if updated["stack_status"] != "UPDATE_COMPLETE" {
		t.Errorf("%v", updated)
	}
	if after := told[map[string]any](u, "output", "show", "mine", "said")["output_value"].(string); len(after) != 5 {
		t.Errorf("it says %q", after)
	}
	for _, action := range []string{"suspend", "resume", "check"} {
		u.openstack(action, "--wait", "mine")
	}
	if s := u.show(u.at("mine")); s["stack_status"] != "CHECK_COMPLETE" {
		u.Errorf("%v", s)
	}
	taken := told[map[string]any](u, "snapshot", "create", "--name", "then", "mine")
	id := taken["ID"].(string)
	u.await(u.at("mine"), "SNAPSHOT_COMPLETE", cloud.Patience)
	if shown := told[map[string]any](u, "snapshot", "show", "mine", id)["snapshot"].(map[string]any); shown["status"] != "COMPLETE" {
		t.Errorf("%v", shown)
	}
	if all := told[[]map[string]any](u, "snapshot", "list", "mine"); len(all) != 1 || all[0]["id"] != id {
		t.Errorf("%v", all)
	}
	u.openstack("snapshot", "restore", "mine", id)
	u.await(u.at("mine"), "RESTORE_COMPLETE", cloud.Patience)
	u.openstack("snapshot", "delete", "--yes", "mine", id)
	hook(t, u)
	takenOver(u)
	if resources := told[[]map[string]any](u, "resource", "list", "mine"); len(resources) != 2 {
		t.Errorf("%v", resources)
	}
	if events := told[[]map[string]any](u, "event", "list", "mine"); len(events) < 10 {
		t.Errorf("%v", events)
	}
	if list := told[[]map[string]any](u, "list"); len(list) != 1 || list[0]["Stack Name"] != "mine" {
		t.Errorf("%v", list)
	}
}

// takenOver has the client abandon a stack, and adopt what that has left.
func takenOver(u user) {
	u.Helper()
	u.openstack("create", "-t", u.file("left.yaml", first), "--parameter", "n=9", "--wait", "left")
	before := told[map[string]any](u, "output", "show", "left", "said")["output_value"]
	left := filepath.Join(u.TempDir(), "left.json")
	u.openstack("abandon", "--output-file", left, "left")
	if made := told[map[string]any](u, "adopt", "--adopt-file", left, "--wait", "taken"); made["stack_status"] != "ADOPT_COMPLETE" {
		u.Errorf("%v", made)
	}
	if after := told[map[string]any](u, "output", "show", "taken", "said")["output_value"]; after != before {
		u.Errorf("it says %v, and said %v", after, before)
	}
	u.openstack("delete", "--yes", "--wait", "taken")
}

// hook has the client see a resource wait, and let it go on.
func hook(t *testing.T, u user) {
	u.openstack("create", "-t", u.file("hooked.yaml", first), "-e", u.file("hooks.yaml", "resource_registry: {resources: {word: {hooks: pre-create}}}"), "hooked")
	u.Eventually("the client sees that it waits", cloud.Patience, func(context.Context) error {
		if waits := told[[]map[string]any](u, "hook", "poll", "hooked"); len(waits) != 1 || waits[0]["Resource Name"] != "word" && waits[0]["Logical Resource ID"] != "word" {
			return fmt.Errorf("%v", waits)
		}
		return nil
	})
	u.openstack("hook", "clear", "--pre-create", "hooked", "word")
	u.await(u.at("hooked"), "CREATE_COMPLETE", cloud.Patience)
	u.openstack("delete", "--yes", "--wait", "hooked")
}

const grows = `
heat_template_version: 2021-04-16
parameters: {count: {type: number, default: 3}}
resources:
  group:
    type: OS::Heat::ResourceGroup
    update_policy: {rolling_update: {max_batch_size: 2}}
    properties: {count: {get_param: count}, resource_def: {type: OS::Heat::RandomString}}
  scaled: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 1, max_size: 3, resource: {type: OS::Heat::RandomString}}}
  up: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: scaled}, adjustment_type: change_in_capacity, scaling_adjustment: 1}}
outputs:
  words: {value: {get_attr: [group, refs]}}
  size: {value: {get_attr: [scaled, current_size]}}
`

// grown has a group of three grow to five and shrink to two, and another by a signal.
func grown(u user) {
	u.Helper()
	u.openstack("create", "-t", u.file("grows.yaml", grows), "--wait", "grown")
	for _, count := range []int{5, 2} {
		u.openstack("update", "--existing", "--parameter", fmt.Sprintf("count=%d", count), "--wait", "grown")
		if words := told[map[string]any](u, "output", "show", "grown", "words")["output_value"].([]any); len(words) != count {
			u.Errorf("%d members are %v", count, words)
		}
	}
	u.openstack("resource", "signal", "grown", "up")
	u.Eventually("the group is scaled", cloud.Patience, func(context.Context) error {
		if size := told[map[string]any](u, "output", "show", "grown", "size")["output_value"]; size != 2.0 && size != "2" {
			return fmt.Errorf("it has %v members", size)
		}
		return nil
	})
	u.openstack("delete", "--yes", "--wait", "grown")
}
