package resources_test

// Provider templates, OS::Heat::Stack and OS::Heat::ResourceChain: stacks that are
// resources of others, by templates.

import (
	"strings"
	"testing"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

const provided = `
heat_template_version: 2021-04-16
resources:
  word: {type: "My::Word", properties: {length: 9, tags: [a, b], more: {x: 1}}}
  file: {type: word.yaml, properties: {length: 3}}
  chain: {type: OS::Heat::ResourceChain, properties: {resources: ["My::Alias", OS::Heat::RandomString], resource_properties: {length: 4}}}
  stack:
    type: OS::Heat::Stack
    properties:
      parameters: {n: 5}
      template: |
        heat_template_version: 2021-04-16
        parameters: {n: {type: string}}
        outputs: {twice: {value: {list_join: [x, [{get_param: n}, {get_param: n}]]}}}
  said: {type: OS::Heat::Value, properties: {value: [{get_attr: [word, word]}, {get_attr: [word, tags]}, {get_attr: [word, resource.made, value]},
    {get_attr: [stack, outputs, twice]}, {get_attr: [chain, attributes, value]}, {get_resource: word}]}}
`

const wordYAML = `
heat_template_version: 2021-04-16
parameters:
  length: {type: number, constraints: [{range: {max: 10}}]}
  tags: {type: comma_delimited_list, default: []}
  more: {type: json, default: {}}
resources:
  made: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
outputs:
  word: {value: {get_attr: [made, value]}}
  tags: {value: {get_param: tags}}
  more: {value: {get_param: more}}
`

func providedBy(template, file string) *value.Map {
	return value.NewMap("template", template, "files", value.NewMap("word.yaml", file),
		"environment", value.NewMap("resource_registry", value.NewMap("My::Word", "word.yaml", "My::Alias", "OS::Heat::RandomString")))
}

// What is nested is made, read, changed with its file and taken away, and shown
// under the name of its type.
func TestProviders(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, providedBy(provided, wordYAML))
	nested := []string{"word", "file", "chain", "stack"}
	plan := w.plan(steps.Make)
	if out := w.batch(steps.Make, plan.IDs...); len(out.Waiting) != 4 || out.Failed != nil {
		t.Fatalf("%+v", out)
	}
	for _, name := range nested {
		w.carryOut(name, steps.Make, steps.StackOutcome{Action: "CREATE", Status: "COMPLETE"}, operations.ResultDone)
	}
	if out := w.later(steps.Make, plan.IDs...); len(out.Done) != 5 || out.Failed != nil {
		t.Fatalf("%+v %+v", out, out.Failed)
	}
	rows := w.rows()
	said, err := stacks.OpenState(rows["said"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := said.Attributes.Get("value")
	got, _ := v.([]any)
	if len(got) != 6 || len(value.Str(got[0])) != 9 || value.JSON(got[1], false) != `["a", "b"]` || got[2] != got[0] || got[3] != "5x5" {
		t.Errorf("%s", value.JSON(v, false))
	}
	if members, _ := got[4].(*value.Map); members.Len() != 2 {
		t.Errorf("the chain has %v", got[4])
	}
	if want := "arn:openstack:heat::p:stacks/" + w.nestedOf("word").Name + "/" + rows["word"].PhysicalID; got[5] != want {
		t.Errorf("the word is %v, want %s", got[5], want)
	}
	for name, typ := range map[string]string{"word": "My::Word", "file": "word.yaml", "chain": "OS::Heat::ResourceChain"} {
		if rows[name].Type != typ {
			t.Errorf("%s is a %s", name, rows[name].Type)
		}
	}
	members, err := orchestration.Resources(t.Context(), w.db.Pool, rows["chain"].PhysicalID)
	if err != nil || len(members) != 2 || members[0].Type != "My::Alias" || len(members[1].Requires) != 1 {
		t.Errorf("%v, %v", members, err)
	}
	w.end("CREATE", "COMPLETE")
	if n := w.files(); n != 1 {
		t.Errorf("the files of all stacks are kept %d times", n)
	}

	// Only the file has changed.
	w.askFor(providedBy(provided, wordYAML+"  new: {value: 7}\n"))
	update := w.plan(steps.Make)
	if out := w.batch(steps.Make, update.IDs[:4]...); len(out.Waiting) != 4 {
		t.Fatalf("%+v", out)
	}
	for _, name := range nested {
		if op := w.part(name); op.Kind != operations.StackUpdate {
			t.Errorf("%s: %s", name, op.Kind)
		}
		w.carryOut(name, steps.Make, steps.StackOutcome{Action: "UPDATE", Status: "COMPLETE"}, operations.ResultDone)
	}
	if out := w.later(steps.Make, update.IDs[:5]...); len(out.Done) != 5 {
		t.Fatalf("%+v", out)
	}
	word, err := stacks.OpenState(w.rows()["word"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := word.Attributes.Get("new"); !value.Equal(n, value.Int(7)) {
		t.Errorf("%s", value.JSON(word.Attributes, false))
	}
	w.end("UPDATE", "COMPLETE")
	if n := w.files(); n != 1 {
		t.Errorf("after an update the files are kept %d times", n)
	}

	w.fence = w.begin(operations.StackDelete)
	id := w.rows()["word"].ID
	w.batch(steps.Clear, -w.rows()["said"].ID)
	if out := w.batch(steps.Clear, -id); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	w.carryOut("word", steps.Clear, steps.StackOutcome{Action: "DELETE", Status: "COMPLETE", Deleted: true}, operations.ResultDone)
	if out := w.later(steps.Clear, -id); len(out.Done) != 1 || w.rows()["word"] != nil {
		t.Fatalf("%+v", out)
	}
}

// What a template asks of the resource that stands for it is what that is when the stack
// is asked for, and is known to whoever reads the stack without its parent.
func TestFacades(t *testing.T) {
	t.Parallel()
	const parent = `
heat_template_version: 2021-04-16
resources:
  other: {type: OS::Heat::Value, properties: {value: known}}
  word: {type: word.yaml, metadata: {of: {get_attr: [other, value]}}, deletion_policy: retain}
`
	const asking = `
heat_template_version: 2021-04-16
resources:
  made: {type: OS::Heat::Value, deletion_policy: {resource_facade: deletion_policy}, properties: {value: {resource_facade: metadata}}}
outputs:
  policy: {value: {resource_facade: update_policy}}
`
	w := newWorldOf(t, providedBy(parent, asking))
	for _, step := range []struct{ action, value string }{{"CREATE", "known"}, {"UPDATE", "more"}} {
		if step.action == "UPDATE" {
			w.askFor(providedBy(strings.Replace(parent, "known", step.value, 1), asking))
		}
		if out := w.follow(steps.Make); out.Failed != nil {
			t.Fatalf("%s: %+v", step.action, out.Failed)
		}
		w.carryOut("word", steps.Make, steps.StackOutcome{Action: step.action, Status: "COMPLETE"}, operations.ResultDone)
		if out := w.later(steps.Make, w.rows()["word"].ID); len(out.Done) != 1 {
			t.Fatalf("%s: %+v", step.action, out)
		}
		members, err := orchestration.Resources(t.Context(), w.db.Pool, w.rows()["word"].PhysicalID)
		if err != nil || len(members) != 1 || members[0].DeletionPolicy != "Retain" {
			t.Fatalf("%s: %+v, %v", step.action, members, err)
		}
		made, err := stacks.OpenState(members[0], w.box)
		if err != nil {
			t.Fatal(err)
		}
		if got := value.JSON(made.Properties, false); !strings.Contains(got, `{"of": "`+step.value+`"}`) {
			t.Errorf("%s: %s", step.action, got)
		}
		word, err := stacks.OpenState(w.rows()["word"], w.box)
		if err != nil {
			t.Fatal(err)
		}
		if policy, _ := word.Attributes.Get("policy"); !value.Equal(policy, &value.Map{}) {
			t.Errorf("%s: the update policy is %s", step.action, value.JSON(policy, false))
		}
		w.end(step.action, "COMPLETE")
	}
}

// files is how many times files are kept.
func (w *world) files() (n int) {
	w.Helper()
	if err := w.db.Pool.QueryRow(w.Context(), `SELECT count(*) FROM orchestration.files`).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// nestedOf is the stack that a resource is.
func (w *world) nestedOf(name string) *orchestration.Stack {
	w.Helper()
	s, err := orchestration.GetStack(w.Context(), w.db.Pool, "", w.rows()[name].PhysicalID)
	if err != nil {
		w.Fatal(err)
	}
	return s
}
