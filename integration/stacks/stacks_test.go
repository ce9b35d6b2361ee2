// Package stacks has the orchestration service as its clients see it, with every
// process of the cloud running.
package stacks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// user asks as a user, and reads a JSON answer.
type user struct {
	*testing.T
	*cloud.Cloud
}

// base is where the API has the user's project.
func (u user) base() string { return "/orchestration/v1/" + u.Project() }

// ask sends a request below the project, and wants a status.
func (u user) ask(method, path string, body any, want int) map[string]any {
	u.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		u.Fatal(err)
	}
	if body == nil {
		text = nil
	}
	answer, got, err := u.Ask(u.Context(), cloud.UserToken, method, u.base()+path, http.Header{"Content-Type": {"application/json"}}, text)
	if err != nil || answer.StatusCode != want {
		u.Fatalf("%s %s: %v %v %s, want %d", method, path, answer, err, got, want)
	}
	var document map[string]any
	if len(got) > 0 {
		if err := json.Unmarshal(got, &document); err != nil {
			u.Fatal(err)
		}
	}
	return document
}

// create asks for a stack and gives the path of it.
func (u user) create(name, template string) string {
	u.Helper()
	answer := u.ask("POST", "/stacks", map[string]any{"stack_name": name, "template": template}, 201)
	return "/stacks/" + name + "/" + answer["stack"].(map[string]any)["id"].(string)
}

func (u user) show(path string) map[string]any {
	u.Helper()
	return u.ask("GET", path, nil, 200)["stack"].(map[string]any)
}

// await waits until the stack is in a state.
func (u user) await(path, state string, within time.Duration) map[string]any {
	u.Helper()
	var s map[string]any
	u.Eventually(path+" is "+state, within, func(context.Context) error {
		if s = u.show(path); s["stack_status"] != state {
			return fmt.Errorf("it is %s: %s", s["stack_status"], s["stack_status_reason"])
		}
		return nil
	})
	return s
}

// restored has a snapshot be taken of a stack, the stack be updated and be what it was,
// and the snapshot be deleted.
func restored(u user, path string, update map[string]any) {
	u.Helper()
	taken := u.ask("POST", path+"/snapshots", map[string]any{"name": "then"}, 200)
	u.await(path, "SNAPSHOT_COMPLETE", cloud.Patience)
	one := path + "/snapshots/" + taken["id"].(string)
	if n := u.ask("GET", one, nil, 200)["snapshot"].(map[string]any); n["status"] != "COMPLETE" || len(n["data"].(map[string]any)["resources"].(map[string]any)) != 2 {
		u.Errorf("%v", n)
	}
	u.ask("PUT", path, update, 202)
	u.await(path, "UPDATE_COMPLETE", cloud.Patience)
	u.ask("POST", one+"/restore", nil, 202)
	s := u.await(path, "RESTORE_COMPLETE", cloud.Patience)
	if out := s["outputs"].([]any)[0].(map[string]any); out["output_value"] != 2.0 {
		u.Errorf("restored, it says %v", out)
	}
	u.ask("DELETE", one, nil, 204)
	u.Eventually("the snapshot is gone", cloud.Patience, func(context.Context) error {
		if all := u.ask("GET", path+"/snapshots", nil, 200)["snapshots"].([]any); len(all) != 0 {
			return fmt.Errorf("%v", all)
		}
		return nil
	})
	u.ask("POST", path+"/snapshots", map[string]any{}, 200) // which goes with the stack
	u.await(path, "SNAPSHOT_COMPLETE", cloud.Patience)
}

// hooked has a stack wait for its user, who lets it go on, and deletes one that waits.
func hooked(u user) {
	u.Helper()
	var paths []string
	for _, name := range []string{"hooked", "stopped"} {
		answer := u.ask("POST", "/stacks", map[string]any{"stack_name": name, "environment": "resource_registry: {resources: {w: {hooks: pre-create}}}",
			"template": "heat_template_version: 2021-04-16\nresources: {w: {type: OS::Heat::RandomString}, n: {type: OS::Heat::None, depends_on: w}}"}, 201)
		path := "/stacks/" + name + "/" + answer["stack"].(map[string]any)["id"].(string)
		u.Eventually(name+" waits at its hook", cloud.Patience, func(context.Context) error {
			events := u.ask("GET", path+"/events", nil, 200)["events"].([]any)
			if last := events[0].(map[string]any); last["resource_status_reason"] != "CREATE paused until Hook pre-create is cleared" {
				return fmt.Errorf("%v", last)
			}
			return nil
		})
		paths = append(paths, path)
	}
	u.ask("POST", paths[0]+"/resources/w/signal", map[string]any{"unset_hook": "post-create"}, 400)
	u.ask("POST", paths[0]+"/resources/w/signal", map[string]any{"unset_hook": "pre-create"}, 200)
	u.await(paths[0], "CREATE_COMPLETE", cloud.Patience)
	u.ask("DELETE", paths[1], nil, 204)
	u.ask("DELETE", paths[0], nil, 204)
}

// Stacks from end to end: made, read, failed, rolled back, deleted, cut short by
// a delete, and carried on by another worker.
func TestStacks(t *testing.T) {
	t.Parallel()
	u := user{t, cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{"orchestration.enable_stack_abandon": true, "orchestration.enable_stack_adopt": true}})}

	one := u.create("one", `
heat_template_version: 2021-04-16
parameters: {n: {type: number, default: 12}}
resources:
  word: {type: OS::Heat::RandomString, properties: {length: {get_param: n}}}
  wait: {type: OS::Heat::Delay, properties: {min_wait: 1}, depends_on: word}
  said: {type: OS::Heat::Value, depends_on: wait, properties: {value: {get_attr: [word, value]}}}
outputs:
  said: {value: {get_attr: [said, value]}}
  word: {value: {get_resource: word}}
`)
	s := u.await(one, "CREATE_COMPLETE", cloud.Patience)
	outputs := map[string]any{}
	for _, o := range s["outputs"].([]any) {
		outputs[o.(map[string]any)["output_key"].(string)] = o.(map[string]any)["output_value"]
	}
	if said, _ := outputs["said"].(string); len(said) != 12 || outputs["word"] != said {
		t.Errorf("outputs %v", outputs)
	}
	if resources := u.ask("GET", one+"/resources", nil, 200)["resources"].([]any); len(resources) != 3 {
		t.Errorf("resources %v", resources)
	}
	if events := u.ask("GET", one+"/events", nil, 200)["events"].([]any); len(events) != 8 {
		t.Errorf("%d events: %v", len(events), events)
	}

	// A newer update takes over from one that runs, and one that fails is taken back.
	value := func(n, wait int) map[string]any {
		return map[string]any{"disable_rollback": false, "template": fmt.Sprintf(`
heat_template_version: 2021-04-16
resources:
  v: {type: OS::Heat::Value, properties: {value: %d}}
  wait: {type: OS::Heat::TestResource, depends_on: v, properties: {action_wait_secs: {create: %d}, value: "%d", fail: %t}}
outputs:
  v: {value: {get_attr: [v, value]}}
`, n, wait, n, n == 13)}
	}
	u.ask("PUT", one, value(1, 600), 202)
	u.Eventually("the first update is at work", cloud.Patience, func(context.Context) error {
		if resources := u.ask("GET", one+"/resources?status=IN_PROGRESS", nil, 200)["resources"].([]any); len(resources) != 1 {
			return fmt.Errorf("%v", resources)
		}
		return nil
	})
	u.ask("PUT", one, value(2, 0), 202)
	s = u.await(one, "UPDATE_COMPLETE", cloud.Patience)
	if out := s["outputs"].([]any)[0].(map[string]any); out["output_value"] != 2.0 {
		t.Errorf("the newer update says %v", out)
	}
	u.ask("PUT", one, value(13, 0), 202)
	s = u.await(one, "ROLLBACK_COMPLETE", cloud.Patience)
	if out := s["outputs"].([]any)[0].(map[string]any); out["output_value"] != 2.0 {
		t.Errorf("taken back, it says %v", out)
	}
	if resources := u.ask("GET", one+"/resources", nil, 200)["resources"].([]any); len(resources) != 2 {
		t.Errorf("resources %v", resources)
	}

	// An update is cancelled and taken back; then the stack sleeps, wakes and is asked.
	u.ask("PUT", one, map[string]any{"template": `
heat_template_version: 2021-04-16
resources:
  v: {type: OS::Heat::Value, properties: {value: 3}}
  slow: {type: OS::Heat::Delay, depends_on: v, properties: {min_wait: 600}}
outputs:
  v: {value: {get_attr: [v, value]}}
`}, 202)
	u.Eventually("the update to be cancelled is at work", cloud.Patience, func(context.Context) error {
		if resources := u.ask("GET", one+"/resources?status=IN_PROGRESS", nil, 200)["resources"].([]any); len(resources) != 1 {
			return fmt.Errorf("%v", resources)
		}
		return nil
	})
	u.ask("POST", one+"/actions", map[string]any{"cancel_update": nil}, 200)
	s = u.await(one, "ROLLBACK_COMPLETE", cloud.Patience)
	if out := s["outputs"].([]any)[0].(map[string]any); out["output_value"] != 2.0 {
		t.Errorf("cancelled, it says %v", out)
	}
	for _, action := range []string{"suspend", "resume", "check"} {
		u.ask("POST", one+"/actions", map[string]any{action: nil}, 200)
		s = u.await(one, strings.ToUpper(action)+"_COMPLETE", cloud.Patience)
	}
	if want := "Stack CHECK completed successfully. 'CHECK' not fully supported (see resources)"; s["stack_status_reason"] != want {
		t.Errorf("reason %q, want %q", s["stack_status_reason"], want)
	}

	restored(u, one, value(5, 0))

	hooked(u)

	// A group grows and shrinks, and what is in it can be seen through its stack.
	group := func(count int) string {
		return fmt.Sprintf(`
heat_template_version: 2021-04-16
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: %d, resource_def: {type: OS::Heat::RandomString, properties: {length: 5}}}}
outputs:
  words: {value: {get_attr: [g, value]}}
`, count)
	}
	grouped := u.create("grouped", group(3))
	state := "CREATE_COMPLETE"
	for _, count := range []int{3, 5, 2} {
		if state != "CREATE_COMPLETE" {
			u.ask("PUT", grouped, map[string]any{"template": group(count)}, 202)
		}
		s = u.await(grouped, state, cloud.Patience)
		if words := s["outputs"].([]any)[0].(map[string]any)["output_value"].([]any); len(words) != count {
			t.Errorf("%d members say %v", count, words)
		}
		if resources := u.ask("GET", grouped+"/resources?nested_depth=1", nil, 200)["resources"].([]any); len(resources) != count+1 {
			t.Errorf("resources %v", resources)
		}
		state = "UPDATE_COMPLETE"
	}
	if nested := u.ask("GET", "/stacks?show_nested=true&name=grouped", nil, 200)["stacks"].([]any); len(nested) != 1 {
		t.Errorf("stacks %v", nested)
	}

	scaled(u)
	guests := signalled(u)

	broken := u.create("broken", "heat_template_version: 2021-04-16\nresources: {bad: {type: OS::Heat::TestResource, properties: {fail: true}}}")
	s = u.await(broken, "CREATE_FAILED", cloud.Patience)
	if want := "Resource CREATE failed: ValueError: resources.bad: Test Resource failed bad"; s["stack_status_reason"] != want {
		t.Errorf("reason %q, want %q", s["stack_status_reason"], want)
	}
	answer := u.ask("POST", "/stacks", map[string]any{"stack_name": "back", "disable_rollback": false, "template": `
heat_template_version: 2021-04-16
resources:
  good: {type: OS::Heat::None}
  bad: {type: OS::Heat::TestResource, depends_on: good, properties: {fail: true}}
`}, 201)
	back := "/stacks/back/" + answer["stack"].(map[string]any)["id"].(string)
	u.await(back, "ROLLBACK_COMPLETE", cloud.Patience)
	if resources := u.ask("GET", back+"/resources", nil, 200)["resources"].([]any); len(resources) != 0 {
		t.Errorf("resources %v", resources)
	}

	slow := u.create("slow", "heat_template_version: 2021-04-16\nresources: {slow: {type: OS::Heat::Delay, properties: {min_wait: 600}}}")
	u.Eventually("the slow one is begun", cloud.Patience, func(context.Context) error {
		if resources := u.ask("GET", slow+"/resources?status=IN_PROGRESS", nil, 200)["resources"].([]any); len(resources) != 1 {
			return fmt.Errorf("%v", resources)
		}
		return nil
	})

	began := time.Now()
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nresources:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  r%d: {type: OS::Heat::None}\n", i)
	}
	big := u.create("big", b.String())
	u.await(big, "CREATE_COMPLETE", cloud.Patience)
	made := time.Since(began)

	began = time.Now()
	for _, path := range []string{big, one, grouped, guests, broken, back, slow} {
		u.ask("DELETE", path, nil, 204)
	}
	for _, path := range []string{big, one, grouped, guests, broken, back, slow} {
		u.await(path, "DELETE_COMPLETE", cloud.Patience)
	}
	t.Logf("1,000 resources were made in %v; 7 stacks with them deleted in %v", made, time.Since(began))

	// A control worker that is killed half-way leaves nothing stuck.
	carried := u.create("carried", `
heat_template_version: 2021-04-16
resources:
  a: {type: OS::Heat::Delay, properties: {min_wait: 3}}
  b: {type: OS::Heat::RandomString, depends_on: a}
`)
	u.Eventually("it is begun", cloud.Patience, func(context.Context) error {
		if resources := u.ask("GET", carried+"/resources?status=IN_PROGRESS", nil, 200)["resources"].([]any); len(resources) != 1 {
			return fmt.Errorf("%v", resources)
		}
		return nil
	})
	u.Kill(cloud.Control)
	u.Restart(cloud.Control)
	u.await(carried, "CREATE_COMPLETE", cloud.Patience)
	u.ask("DELETE", carried, nil, 204)
	u.await(carried, "DELETE_COMPLETE", cloud.Patience)
	adopted(u)
	client(t, u)
	u.Audit()
}

// adopted has a stack be abandoned and another adopt what that has left: it says what
// the first has said. One that lacks a part of it adopts nothing.
func adopted(u user) {
	u.Helper()
	first := u.create("left", `
heat_template_version: 2021-04-16
resources:
  word: {type: OS::Heat::RandomString}
  group: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: OS::Heat::RandomString}}}
  scaled: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 2, max_size: 5, resource: {type: OS::Heat::RandomString}}}
outputs:
  said: {value: [{get_resource: word}, {get_attr: [group, value]}, {get_attr: [scaled, outputs, value]}]}
`)
	said := func(s map[string]any) string {
		return fmt.Sprint(s["outputs"].([]any)[0].(map[string]any)["output_value"])
	}
	want := said(u.await(first, "CREATE_COMPLETE", cloud.Patience))
	left := u.ask("DELETE", first+"/abandon", nil, 200)
	u.await(first, "DELETE_COMPLETE", cloud.Patience)
	adopt := func(name string, left map[string]any) string {
		text, err := json.Marshal(left)
		if err != nil {
			u.Fatal(err)
		}
		answer := u.ask("POST", "/stacks", map[string]any{"stack_name": name, "adopt_stack_data": string(text), "disable_rollback": false}, 201)
		return "/stacks/" + name + "/" + answer["stack"].(map[string]any)["id"].(string)
	}
	again := adopt("left", left)
	if got := said(u.await(again, "ADOPT_COMPLETE", cloud.Patience)); got != want || strings.Count(got, "nil") != 0 {
		u.Errorf("it says %s, and said %s", got, want)
	}
	delete(left["resources"].(map[string]any)["group"].(map[string]any)["resources"].(map[string]any), "1")
	lacks := adopt("lacks", left)
	u.await(lacks, "ROLLBACK_COMPLETE", cloud.Patience)
	if events := fmt.Sprint(u.ask("GET", lacks+"/events", nil, 200)["events"]); !strings.Contains(events, "Exception: resources.group.resources.1: Resource ID was not provided.") {
		u.Errorf("%v", events)
	}
	for _, path := range []string{again, lacks} {
		u.ask("DELETE", path, nil, 204)
		u.await(path, "DELETE_COMPLETE", cloud.Patience)
	}
}

// scaled has a group be scaled by a policy that is signalled, and not once more while
// it cools down.
func scaled(u user) {
	u.Helper()
	path := u.create("scaled", `
heat_template_version: 2021-04-16
resources:
  g: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 1, max_size: 5, resource: {type: OS::Heat::RandomString}}}
  up: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: g}, adjustment_type: change_in_capacity, scaling_adjustment: 2, cooldown: 3600}}
outputs:
  size: {value: {get_attr: [g, current_size]}}
  refs: {value: {get_attr: [g, refs]}}
`)
	u.await(path, "CREATE_COMPLETE", cloud.Patience)
	for range 2 {
		u.ask("POST", path+"/resources/up/signal", nil, 200)
		u.Eventually("the group is scaled", cloud.Patience, func(context.Context) error {
			for _, o := range u.show(path)["outputs"].([]any) {
				switch v := o.(map[string]any)["output_value"].(type) {
				case float64:
					if v != 3 {
						return fmt.Errorf("it has %v members", v)
					}
				case []any:
					if len(v) != 3 {
						return fmt.Errorf("its members are %v", v)
					}
				}
			}
			return nil
		})
	}
	if s := u.show(path); s["stack_status"] != "CREATE_COMPLETE" {
		u.Errorf("it shows %v", s["stack_status"])
	}
	if events := u.ask("GET", path+"/resources/up/events?resource_action=SIGNAL", nil, 200)["events"].([]any); len(events) != 1 {
		u.Errorf("events %v", events)
	}
	u.ask("DELETE", path, nil, 204)
	u.await(path, "DELETE_COMPLETE", cloud.Patience)
}

// signalled is a stack whose guest, in a template of its own, says that it is ready: by
// the token that it is given and no other.
func signalled(u user) (path string) {
	u.Helper()
	const guest = `
heat_template_version: 2021-04-16
parameters: {count: {type: number}}
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, count: {get_param: count}, timeout: 600}}
outputs:
  data: {value: {get_attr: [wait, data]}}
`
	answer := u.ask("POST", "/stacks", map[string]any{"stack_name": "guests", "files": map[string]string{"guest.yaml": guest},
		"environment": map[string]any{"resource_registry": map[string]string{"My::Guest": "guest.yaml"}}, "template": `
heat_template_version: 2021-04-16
resources:
  guest: {type: "My::Guest", properties: {count: 2}}
outputs:
  data: {value: {get_attr: [guest, data]}}
`}, 201)
	path = "/stacks/guests/" + answer["stack"].(map[string]any)["id"].(string)
	var token, endpoint string
	u.Eventually("the guest has a handle", cloud.Patience, func(context.Context) error {
		for _, r := range u.ask("GET", path+"/resources?nested_depth=1&name=handle", nil, 200)["resources"].([]any) {
			_, nested, _ := strings.Cut(r.(map[string]any)["links"].([]any)[0].(map[string]any)["href"].(string), u.base())
			attributes := u.ask("GET", nested, nil, 200)["resource"].(map[string]any)["attributes"].(map[string]any)
			token, _ = attributes["token"].(string)
			endpoint, _ = attributes["endpoint"].(string)
		}
		if token == "" {
			return fmt.Errorf("there is none yet")
		}
		return nil
	})
	_, at, _ := strings.Cut(endpoint, "/orchestration")
	for i, want := range []int{200, 401, 200} {
		with := token
		if want == 401 {
			with += "x"
		}
		body := fmt.Sprintf(`{"data": "%d"}`, i)
		answer, got, err := u.Ask(u.Context(), with, "POST", "/orchestration"+at, http.Header{"Content-Type": {"application/json"}}, []byte(body))
		if err != nil || answer.StatusCode != want {
			u.Fatalf("%v %v %s, want %d", answer, err, got, want)
		}
	}
	s := u.await(path, "CREATE_COMPLETE", cloud.Patience)
	if data := s["outputs"].([]any)[0].(map[string]any)["output_value"]; data != `{"1": "0", "2": "2"}` {
		u.Errorf("the guest says %v", data)
	}
	return path
}
