package devcloud

// Stacks whose guests signal as users of their stacks: by what the real client logs in
// with, and by URLs that are signed.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
)

const guests = `
heat_template_version: 2021-04-16
resources:
  url: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: CFN_SIGNAL}}
  login: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: HEAT_SIGNAL}}
  amazon: {type: AWS::CloudFormation::WaitConditionHandle}
  group: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 1, max_size: 5, resource: {type: OS::Heat::RandomString}}}
  up: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: 2}}
  said: {type: OS::Heat::Value, properties: {value: {get_resource: amazon}}}
  waits_1: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: url}, timeout: 600}}
  waits_2: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: login}, timeout: 600}}
  waits_3: {type: AWS::CloudFormation::WaitCondition, properties: {Handle: {get_resource: amazon}, Timeout: 600}}
outputs:
  data: {value: [{get_attr: [waits_1, data]}, {get_attr: [waits_2, data]}, {get_attr: [waits_3, Data]}]}
  size: {value: {get_attr: [group, current_size]}}
`

// identities are the users and projects that Keystone has.
func (s *session) identities() (all []string) {
	s.t.Helper()
	for _, of := range []string{"users", "projects"} {
		_, text := s.send("admin", http.MethodGet, s.at["identity"]+"/"+of, "", nil)
		var listed map[string]json.RawMessage
		var things []struct{ ID, Name string }
		if json.Unmarshal(text, &listed) != nil || json.Unmarshal(listed[of], &things) != nil {
			s.t.Fatalf("%s: %s", of, text)
		}
		for _, one := range things {
			all = append(all, of+" "+one.Name+" "+one.ID)
		}
	}
	slices.Sort(all)
	return all
}

// eventually waits until nothing is wrong.
func (s *session) eventually(wrong func() string) {
	s.t.Helper()
	for deadline := time.Now().Add(cloud.Patience); ; time.Sleep(200 * time.Millisecond) {
		what := wrong()
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal(what)
		}
	}
}

// run runs a command, which succeeds, and gives what it prints.
func (s *session) run(env []string, name string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// signalled makes a stack whose guests signal it by each way, and deletes it.
func signalled(s *session) {
	s.t.Helper()
	before := s.identities()
	projects := s.ask(http.MethodGet, s.at["identity"]+"/auth/projects", "", http.StatusOK)["projects"].([]any)
	base := strings.TrimSuffix(s.compute, "/v2.1") + "/orchestration/v1/" + projects[0].(map[string]any)["id"].(string)
	body, err := json.Marshal(map[string]string{"stack_name": "guests", "template": guests})
	if err != nil {
		s.t.Fatal(err)
	}
	id := s.ask(http.MethodPost, base+"/stacks", string(body), http.StatusCreated)["stack"].(map[string]any)["id"].(string)
	path := base + "/stacks/guests/" + id
	attribute := func(resource, name string) (text string) {
		s.t.Helper()
		s.eventually(func() string {
			_, answer := s.send("demo", http.MethodGet, path+"/resources/"+resource, "", nil)
			var shown struct {
				Resource struct{ Attributes map[string]any }
			}
			if err := json.Unmarshal(answer, &shown); err != nil {
				return err.Error()
			}
			if text, _ = shown.Resource.Attributes[name].(string); text == "" {
				return fmt.Sprintf("%s has no %s: %s", resource, name, answer)
			}
			return ""
		})
		return text
	}
	var url, login map[string]string
	for name, into := range map[string]*map[string]string{"url": &url, "login": &login} {
		if err := json.Unmarshal([]byte(attribute(name, "signal")), into); err != nil {
			s.t.Fatal(err)
		}
	}
	curl := []string{"-sS", "--fail-with-body", "-X"}
	if got := s.run(nil, "curl", append(curl, "PUT", "--data-binary", `{"data": "by url"}`, url["alarm_url"])...); got != "<resource>url</resource>" {
		s.t.Errorf("the signed URL answers %s", got)
	}
	s.run(nil, "curl", append(curl, "PUT", "-H", "Content-Type:", "--data-binary", `{"Status": "SUCCESS", "Reason": "r", "UniqueId": "1", "Data": "amazon"}`, attribute("said", "value"))...)
	s.run([]string{"OS_AUTH_TYPE=password", "OS_IDENTITY_API_VERSION=3", "OS_AUTH_URL=" + login["auth_url"], "OS_USER_ID=" + login["user_id"], "OS_PASSWORD=" + login["password"],
		"OS_PROJECT_ID=" + login["project_id"], "OS_REGION_NAME=" + login["region_name"]},
		venv.Program(s.t, "clients", "openstack"), "stack", "resource", "signal", "guests/"+id, "login", "--data", `{"data": "by login"}`)
	s.run(nil, "curl", append(curl, "POST", attribute("up", "alarm_url"))...)

	outputs := map[string]any{}
	s.eventually(func() string {
		stack := s.ask(http.MethodGet, path, "", http.StatusOK)["stack"].(map[string]any)
		for _, o := range stack["outputs"].([]any) {
			outputs[o.(map[string]any)["output_key"].(string)] = o.(map[string]any)["output_value"]
		}
		if stack["stack_status"] != "CREATE_COMPLETE" || fmt.Sprint(outputs["size"]) != "3" {
			return fmt.Sprintf("the stack is %v, %v: %v", stack["stack_status"], stack["stack_status_reason"], outputs)
		}
		return ""
	})
	if got := fmt.Sprint(outputs["data"]); got != `[{"1": "by url"} {"1": "by login"} {"1": "amazon"}]` {
		s.t.Errorf("the guests say %s", got)
	}
	if made := len(s.identities()) - len(before); made != 5 {
		s.t.Errorf("%d users and projects were made, want 4 and 1", made)
	}
	s.ask(http.MethodDelete, path, "", http.StatusNoContent)
	s.eventually(func() string {
		if after := s.identities(); !slices.Equal(after, before) {
			return fmt.Sprintf("there is %v, want %v", after, before)
		}
		return ""
	})
}
