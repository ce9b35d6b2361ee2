package orchestration_test

// Templates by URL: read within bounds, and kept with the stack.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"holdfast.dev/api/orchestration"
)

// outside serves templates to a cloud that may read them there, until the test ends.
func outside(t *testing.T, c *cloud) (at string) {
	t.Helper()
	const head = "heat_template_version: 2021-04-16\n"
	var n int
	served := http.NewServeMux()
	for path, text := range map[string]string{
		"/one.yaml":   head + "resources: {v: {type: OS::Heat::Value, properties: {value: 1}}}",
		"/two.yaml":   head + "resources: {r: {type: AT/inner.yaml, properties: {p: 1}}}",
		"/inner.yaml": head + "parameters: {p: {type: string}}\nresources: {v: {type: OS::Heat::None}}",
		"/bad.yaml":   "resources: {}",
		"/none.yaml":  head + "resources: {r: {type: AT/missing.yaml}}",
		"/large.yaml": head + "# " + strings.Repeat("x", 524288),
	} {
		served.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, strings.ReplaceAll(text, "AT", "http://"+r.Host))
		})
	}
	served.HandleFunc("/endless.yaml", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "# nothing\n"); err != nil {
				return
			}
		}
	})
	served.HandleFunc("/slow.yaml", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	served.HandleFunc("/many/", func(w http.ResponseWriter, r *http.Request) {
		n++
		_, _ = fmt.Fprintf(w, head+"resources: {r: {type: 'http://%s/many/%d.yaml'}, s: {type: OS::Heat::None}}", r.Host, n)
	})
	served.Handle("/moved.yaml", http.RedirectHandler("/one.yaml", http.StatusFound))
	served.Handle("/circle.yaml", http.RedirectHandler("/circle.yaml", http.StatusFound))
	served.Handle("/file.yaml", http.RedirectHandler("file:///etc/hostname", http.StatusFound))
	served.Handle("/metadata.yaml", http.RedirectHandler("http://169.254.169.254/t.yaml", http.StatusFound))
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	c.api.Templates = orchestration.NewTemplates([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, time.Second)
	return server.URL
}

func TestTemplateURL(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	at := outside(t, c)
	named := func(path string) string { return `{"stack_name": "one", "template_url": "` + at + path + `"}` }
	for _, path := range []string{"/stacks/preview", "/validate"} {
		for _, template := range []string{"/one.yaml", "/moved.yaml", "/two.yaml"} {
			if status, answer, _ := c.ask("alice", "POST", path, named(template)); status != 200 {
				t.Errorf("%s %s: %d %v", path, template, status, answer)
			}
		}
	}
	status, answer, _ := c.ask("alice", "POST", "/stacks", named("/two.yaml"))
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	stack := "/stacks/one/" + answer["stack"].(map[string]any)["id"].(string)
	if _, files, _ := c.ask("alice", "GET", stack+"/files", ""); len(files) != 1 || files[at+"/inner.yaml"] == nil {
		t.Errorf("files %v", files)
	}
	for _, row := range []struct {
		method, path, template string
		want                   int
	}{
		{"PUT", "/preview", "/one.yaml", 200}, {"PATCH", "/preview", "/one.yaml", 200}, {"PUT", "", "/two.yaml", 202}, {"PATCH", "", "/one.yaml", 202},
	} {
		if status, answer, _ := c.ask("alice", row.method, stack+row.path, `{"template_url": "`+at+row.template+`"}`); status != row.want {
			t.Errorf("%s %s: %d %v", row.method, row.path, status, answer)
		}
	}
	if _, template, _ := c.ask("alice", "GET", stack+"/template", ""); template["resources"].(map[string]any)["v"] == nil {
		t.Errorf("template %v", template)
	}
}

// What was read once is a file of the stack's: a patch doesn't read it again.
func TestFetchedFilesAreKept(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	at := outside(t, c)
	_, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", "template_url": "`+at+`/two.yaml"}`)
	stack := "/stacks/one/" + answer["stack"].(map[string]any)["id"].(string)
	c.api.Templates = nil
	if status, answer, _ := c.ask("alice", "PATCH", stack, `{"tags": "a"}`); status != 202 {
		t.Errorf("%d %v", status, answer)
	}
}

// Refusals, in the original's words (heat.common.urlfetch), in bounded time.
func TestTemplateURLRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	at := outside(t, c)
	const failed, refused = "Could not retrieve template: Failed to retrieve template from ", ": its address, or what that leads to, is not allowed"
	for url, want := range map[string]string{
		at + "/nothing.yaml":          failed + at + "/nothing.yaml",
		at + "/slow.yaml":             failed + at + "/slow.yaml",
		at + "/endless.yaml":          "Could not retrieve template: Template exceeds maximum allowed size (524288 bytes)",
		at + "/large.yaml":            "Could not retrieve template: Template exceeds maximum allowed size (524288 bytes)",
		at + "/circle.yaml":           failed + at + "/circle.yaml" + refused,
		at + "/file.yaml":             failed + at + "/file.yaml" + refused,
		at + "/metadata.yaml":         failed + at + "/metadata.yaml" + refused,
		at + "/bad.yaml":              "Template not in valid format: Template format version not found.",
		at + "/none.yaml":             `Could not fetch remote template "` + at + `/missing.yaml": Failed to retrieve template from ` + at + "/missing.yaml",
		at + "/many/0.yaml":           "Request limit exceeded: Recursion depth exceeds 5.",
		"file:///etc/hostname":        "Could not retrieve template: Invalid URL scheme file",
		"FILE:///etc/hostname":        "Could not retrieve template: Invalid URL scheme file",
		"ftp://example.org/t.yaml":    "Could not retrieve template: Invalid URL scheme ftp",
		"t.yaml":                      "Could not retrieve template: Invalid URL scheme ",
		"":                            "Could not retrieve template: Invalid URL scheme ",
		"http://[::1":                 failed + "http://[::1",
		"http:///t.yaml":              failed + "http:///t.yaml",
		"http://192.0.2.1:1/t.yaml":   failed + "http://192.0.2.1:1/t.yaml" + refused,
		"http://169.254.169.254/user": failed + "http://169.254.169.254/user" + refused,
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", "template_url": "`+url+`"}`)
			fault, _ := answer["error"].(map[string]any)
			if text, _ := fault["message"].(string); status != 400 || text != want {
				t.Errorf("%d %v, want %q", status, answer, want)
			}
		})
	}
	many := map[string]any{}
	for i := range 40 {
		many[fmt.Sprint("r", i)] = map[string]any{"type": fmt.Sprint(at, "/one.yaml?", i, ".yaml")}
	}
	text, err := json.Marshal(map[string]any{"template": map[string]any{"heat_template_version": "2021-04-16", "resources": many}})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer, _ := c.ask("alice", "POST", "/validate", string(text)); status != 400 ||
		!strings.HasSuffix(answer["error"].(map[string]any)["message"].(string), ": A request names no more than 32 templates by URL") {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer, _ := c.ask("alice", "POST", "/validate", `{"template_url": 5}`); status != 400 ||
		answer["error"].(map[string]any)["message"] != "template_url must be a text, not int" {
		t.Errorf("%d %v", status, answer)
	}
}

// Without networks of the operator's, a cloud's own are not reached.
func TestTemplateNetworks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	at := outside(t, c)
	c.api.Templates = orchestration.NewTemplates(nil, time.Second)
	for _, url := range []string{at + "/one.yaml", strings.Replace(at, "127.0.0.1", "localhost", 1) + "/one.yaml", strings.Replace(at, "127.0.0.1", "[::ffff:127.0.0.1]", 1) + "/one.yaml",
		"http://10.0.0.1/t.yaml", "http://192.168.1.1/t.yaml", "http://0.0.0.0:80/", "http://[fe80::1]/", "http://[fd00::1]/", "http://2130706433/"} {
		if status, answer, _ := c.ask("alice", "POST", "/validate", `{"template_url": "`+url+`"}`); status != 400 ||
			!strings.HasPrefix(answer["error"].(map[string]any)["message"].(string), "Could not retrieve template: Failed to retrieve template from "+url) {
			t.Errorf("%s: %d %v", url, status, answer)
		}
	}
	inner := `{"stack_name": "one", "template": {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "` + at + `/inner.yaml", "properties": {"p": 1}}}}}`
	if status, answer, _ := c.ask("alice", "POST", "/stacks", inner); status != 400 || answer["error"].(map[string]any)["type"] != "StackValidationFailed" {
		t.Errorf("%d %v", status, answer)
	}
}
