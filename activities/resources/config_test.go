package resources_test

// Software configs: texts and maps that servers are set up by.

import (
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

const configs = `
heat_template_version: 2021-04-16
resources:
  script:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: "#!/bin/sh\necho größer", inputs: [{name: n, type: Number, default: "3"}], outputs: [{name: result}]}
  tree: {type: OS::Heat::StructuredConfig, properties: {config: {a: [1, {b: two}]}}}
  init: {type: OS::Heat::CloudConfig, properties: {cloud_config: {write_files: [{path: /x, permissions: "0644", content: "one\ntwo\n"}], a: "yes"}}}
  inner: {type: OS::Heat::MultipartMime, properties: {parts: [{config: {get_resource: script}, filename: part-handler.py}]}}
  all: {type: OS::Heat::MultipartMime, properties: {parts: [{config: {get_resource: init}, subtype: cloud-config}, {config: {get_resource: inner}, type: multipart}, {config: plain}]}}
  wrong: {type: OS::Heat::MultipartMime, depends_on: all, properties: {parts: [{config: x, subtype: "a\nb: c"}]}}
`

// Configs are kept as the original keeps them, read by others of their stack, and
// gone with it; made twice they are one.
func TestConfigs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, configs)
	plan := w.plan(steps.Make)
	out := w.batch(steps.Make, plan.IDs...)
	if out.Failed == nil || !strings.Contains(out.Failed.Reason, "is no type of a part") {
		t.Errorf("%+v", out)
	}
	if again := w.batch(steps.Make, plan.IDs...); again.Failed == nil {
		t.Errorf("%+v", again)
	}
	rows, err := orchestration.ListConfigs(t.Context(), w.db.Pool, "p", "", 100)
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d configs, %v", len(rows), err)
	}
	of := func(name string) *stacks.Config {
		row, err := orchestration.GetConfig(t.Context(), w.db.Pool, "p", w.rows()[name].PhysicalID)
		if err != nil {
			t.Fatal(err)
		}
		c, err := stacks.OpenConfig(row, w.box)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	script := of("script")
	if got, want := value.JSON(value.NewMap("i", script.Inputs, "o", script.Outputs), true),
		`{"i": [{"default": 3, "name": "n", "type": "Number"}], "o": [{"error_output": false, "name": "result", "type": "String"}]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := value.JSON(of("tree").Config, true); got != `{"a": [1, {"b": "two"}]}` {
		t.Error(got)
	}
	if got, want := of("init").Config, "#cloud-config\na: \"yes\"\nwrite_files:\n  - content: |\n      one\n      two\n    path: /x\n    permissions: \"0644\"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	message, err := mail.ReadMessage(strings.NewReader(of("all").Config.(string)))
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for parts := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		one, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(one)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, one.Header.Get("Content-Type")+" "+one.FileName()+" "+one.Header.Get("Content-Transfer-Encoding")+" "+string(body[:5]))
	}
	want := `text/cloud-config; charset=us-ascii  7bit #clou|text/part-handler; charset=utf-8 part-handler.py base64 IyEvY|text/plain; charset=us-ascii  7bit plain`
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.end("CREATE", "FAILED")
	w.fence = w.begin(operations.StackDelete)
	w.follow(steps.Clear)
	if rows, err := orchestration.ListConfigs(t.Context(), w.db.Pool, "", "", 100); err != nil || len(rows) != 0 {
		t.Errorf("%d configs are left, %v", len(rows), err)
	}
}
