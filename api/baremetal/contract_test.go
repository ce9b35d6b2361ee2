package baremetal_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
)

// versioned is versioned-fields.json.
type versioned struct {
	Resources map[string]struct {
		Fields []struct {
			Name       string
			MinVersion string `json:"min_version"`
			Listed     bool   `json:"in_default_list"`
			Create     bool
			Sortable   bool
		}
	}
}

// Every field of every resource at the versions where any changes: shown and
// listed from the version that knows it on, and hidden before.
func TestEveryFieldFromItsVersionOn(t *testing.T) {
	t.Parallel()
	var contract versioned
	contracttest.Read(t, "baremetal/versioned-fields.json", &contract)
	c := newCloud(t)
	node := c.enroll("root", `{"driver": "fake-hardware"}`)
	port := c.ask("root", "1.115", "POST", "/v1/ports", `{"address": "aa:bb:cc:dd:ee:01", "node_uuid": "`+node+`"}`)
	chassis := c.ask("root", "1.115", "POST", "/v1/chassis", `{}`)
	group := c.ask("root", "1.115", "POST", "/v1/portgroups", `{"node_uuid": "`+node+`"}`)
	ids := map[string]string{"portgroup": group.body["uuid"].(string), "node": node, "port": port.body["uuid"].(string), "chassis": chassis.body["uuid"].(string)}
	for resource, many := range map[string]string{"node": "nodes", "port": "ports", "portgroup": "portgroups", "chassis": "chassis"} {
		edges := map[int]bool{1: true, 115: true}
		for _, f := range contract.Resources[resource].Fields {
			var since int
			if _, err := fmt.Sscanf(f.MinVersion, "1.%d", &since); err != nil {
				t.Fatal(err)
			}
			edges[since], edges[max(since-1, 1)] = true, true
		}
		for minor := range edges {
			version := fmt.Sprintf("1.%d", minor)
			if resource == "portgroup" && minor < 23 {
				if got := c.ask("root", version, "GET", "/v1/portgroups", ""); got.status != 404 || got.fault != "The API is not supported for this version" {
					t.Errorf("port groups at %s: %d %s", version, got.status, got.fault)
				}
				continue
			}
			one := c.ask("root", version, "GET", "/v1/"+many+"/"+ids[resource], "").body
			list := c.ask("root", version, "GET", "/v1/"+many, "").body[many].([]any)[0].(map[string]any)
			for _, f := range contract.Resources[resource].Fields {
				var since int
				if _, err := fmt.Sscanf(f.MinVersion, "1.%d", &since); err != nil {
					t.Fatal(err)
				}
				_, shown := one[f.Name]
				_, listed := list[f.Name]
				if shown != (minor >= since) || listed != (f.Listed && minor >= since) {
					t.Errorf("%s %s at %s: shown %t, listed %t", resource, f.Name, version, shown, listed)
				}
			}
		}
	}
}

// What is at the edge of a field's version is refused in queries, bodies and
// patches before it, and taken from it on.
func TestFieldsAreRefusedBeforeTheirVersion(t *testing.T) {
	t.Parallel()
	var contract versioned
	contracttest.Read(t, "baremetal/versioned-fields.json", &contract)
	c := newCloud(t)
	node := c.enroll("root", `{"driver": "fake-hardware"}`)
	for _, f := range contract.Resources["node"].Fields {
		var since int
		if _, err := fmt.Sscanf(f.MinVersion, "1.%d", &since); err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprintf("1.%d", max(since, 8))
		before := fmt.Sprintf("1.%d", since-1)
		if got := c.ask("root", at, "GET", "/v1/nodes?fields="+f.Name, ""); got.status != 200 {
			t.Errorf("fields=%s at %s: %d %s", f.Name, at, got.status, got.fault)
		}
		if since > 8 {
			if got := c.ask("root", before, "GET", "/v1/nodes?fields="+f.Name, ""); got.status != 406 {
				t.Errorf("fields=%s at %s: %d %s", f.Name, before, got.status, got.fault)
			}
		}
		if got := c.ask("root", "1.115", "GET", "/v1/nodes?sort_key="+f.Name, ""); (got.status == 200) != f.Sortable {
			t.Errorf("sort_key=%s: %d %s", f.Name, got.status, got.fault)
		}
		if since > 1 && f.Create {
			body := fmt.Sprintf(`{"driver": "fake-hardware", %q: %s}`, f.Name, sample(f.Name))
			if got := c.ask("root", before, "POST", "/v1/nodes", body); got.status != 406 {
				t.Errorf("POST of %s at %s: %d %s", f.Name, before, got.status, got.fault)
			}
			patch := fmt.Sprintf(`[{"op": "add", "path": "/%s", "value": %s}]`, f.Name, sample(f.Name))
			if got := c.ask("root", before, "PATCH", "/v1/nodes/"+node, patch); got.status != 406 && !strings.HasPrefix(got.fault, "Cannot patch") {
				t.Errorf("PATCH of %s at %s: %d %s", f.Name, before, got.status, got.fault)
			}
		}
	}
}

// sample is a value of a field.
func sample(name string) string {
	switch {
	case name == "network_data":
		return `{"a": 1}`
	case slices.Contains([]string{"automated_clean", "disable_power_off", "protected", "retired", "secure_boot", "console_enabled"}, name):
		return "true"
	}
	return `"x"`
}

// served are the paths that the table has rows of.
var served = regexp.MustCompile(`^/v1/(nodes|ports|portgroups|chassis|drivers|conductors|deploy_templates|shards|allocations|runbooks|inspection_rules|lookup|heartbeat|continue_inspection)`)

// public are the paths that ramdisks ask without a token.
var public = regexp.MustCompile(`^/v1/(lookup|heartbeat|continue_inspection)`)

// rowless are rows of the contract that no client can use: names of rules, and
// one that the original only documents (operations.json, documented_not_served).
var rowless = regexp.MustCompile(`^PATCH /v1/runbooks/\{\w+\}/(owner|public)$|^DELETE /v1/inspection_rules$`)

// Every row of the contract that is served is asked of the server: by a stranger,
// by who may not, of what isn't there; and every other method of its path is 405.
func TestEveryRowIsServed(t *testing.T) {
	t.Parallel()
	var contract struct {
		Operations []struct {
			Method, Path string
			MinVersion   string `json:"min_version"`
		}
	}
	contracttest.Read(t, "baremetal/operations.json", &contract)
	c := newCloud(t)
	methods := map[string][]string{}
	for _, o := range contract.Operations {
		if !served.MatchString(o.Path) || notServed.MatchString(o.Path) || strings.Contains(o.Path, "passthru") || rowless.MatchString(o.Method+" "+o.Path) {
			continue
		}
		path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(o.Path, "1be26c0b-03f2-4d2e-ae87-c02d7f33c781")
		methods[path] = append(methods[path], o.Method)
		if got := c.ask("", "1.115", o.Method, path, ""); got.status != 401 && !public.MatchString(path) {
			t.Errorf("%s %s by a stranger: %d", o.Method, path, got.status)
		}
		if got := c.ask("root", "1.115", o.Method, path, ""); got.status == 405 || got.status == 404 && got.fault == "" || got.status >= 500 {
			t.Errorf("%s %s: %d %q", o.Method, path, got.status, got.fault)
		}
	}
	if len(methods) < 15 {
		t.Errorf("only %d paths", len(methods))
	}
	for path, known := range methods {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if slices.Contains(known, method) || strings.HasSuffix(path, "/detail") {
				continue // to other methods "detail" is an id like any other
			}
			got := c.ask("root", "1.115", method, path, "")
			if got.status != 405 || got.header.Get("X-OpenStack-Ironic-API-Maximum-Version") != "1.115" {
				t.Errorf("%s %s: %d", method, path, got.status)
			}
		}
	}
	for _, path := range []string{"/v1/nosuch", "/baremetal/v1/nosuch", "/v1/nodes/x/y/z"} {
		got := c.ask("root", "1.115", "GET", path, "")
		if text, _ := json.Marshal(got.body); got.status != 404 || string(text) != `{"error_message":"{\"code\":404,\"title\":\"Not Found\",\"description\":\"\"}"}` {
			t.Errorf("%s: %d %s", path, got.status, text)
		}
	}
}

func TestVersionDocuments(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	root := c.ask("", "", "GET", "/baremetal/", "")
	version, _ := root.body["default_version"].(map[string]any)
	if root.status != 200 || version["version"] != "1.115" || version["min_version"] != "1.1" || root.header.Get("X-OpenStack-Ironic-API-Version") != "1.1" {
		t.Errorf("%d %v %v", root.status, root.body, root.header)
	}
	v1 := c.ask("", "latest", "GET", "/baremetal/v1/", "")
	if v1.status != 200 || v1.header.Get("X-OpenStack-Ironic-API-Version") != "1.115" || v1.body["nodes"].([]any)[0].(map[string]any)["href"] != "http://localhost/baremetal/v1/nodes/" {
		t.Errorf("%d %v", v1.status, v1.body)
	}
	got := c.ask("root", "1.116", "GET", "/baremetal/v1/nodes", "")
	if got.status != 406 || got.header.Get("X-OpenStack-Ironic-API-Maximum-Version") != "1.115" || got.header.Get("X-OpenStack-Ironic-API-Version") != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
}
