package companions_test

// Requests that the companions refuse: strangers', other projects', malformed
// ones. None is a 500, each has its service's own error body, and what it was
// about is as it was.

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast.dev/dev/companions/companiontest"
)

// faultOf is the sentence in an answer, by the shape of the service's errors; ""
// if it has another shape.
func faultOf(service string, a companiontest.Answer) string {
	switch {
	case service == "identity", service != "image" && a.Status == http.StatusUnauthorized: // which the token middleware writes
		if a.At("error", "code") == float64(a.Status) {
			return a.TextAt("error", "message")
		}
	case service == "image":
		if strings.Contains(a.Text, fmt.Sprintf("<title>%d ", a.Status)) {
			return a.Text
		}
	case service == "network":
		if a.TextAt("NeutronError", "type") != "" {
			return a.TextAt("NeutronError", "message")
		}
		return a.TextAt("message")
	case service == "block-storage":
		for name := range a.Body {
			if a.At(name, "code") == float64(a.Status) {
				return a.TextAt(name, "message")
			}
		}
	}
	return ""
}

// refused asks, and checks that the answer is a refusal as the service words it.
func (w *world) refused(user, service, method, path, body string, header http.Header, statuses ...int) {
	w.t.Helper()
	answer := w.ask(user, service, "3.71", method, path, body, header)
	ok := answer.Status >= 400 && answer.Status < 500
	for _, status := range statuses {
		if ok = answer.Status == status; ok {
			break
		}
	}
	if !ok {
		w.t.Errorf("%s %s %.80q as %q: status %d, want %v: %.200s", method, path, body, user, answer.Status, statuses, answer.Text)
	}
	if answer.Status >= 400 && faultOf(service, answer) == "" {
		w.t.Errorf("%s %s: %d in another body than the service's: %.200s", method, path, answer.Status, answer.Text)
	}
}

// owned are things of a project, with what a member may ask of them.
var owned = []struct{ service, thing, path, change, body string }{
	{"image", "image", "/images/{image}", "PATCH", `[{"op":"replace","path":"/name","value":"stolen"}]`},
	{"network", "network", "/networks/{network}", "PUT", `{"network":{"name":"stolen"}}`},
	{"network", "subnet", "/subnets/{subnet}", "PUT", `{"subnet":{"name":"stolen"}}`},
	{"network", "port", "/ports/{port}", "PUT", `{"port":{"name":"stolen"}}`},
	{"network", "security_group", "/security-groups/{security_group}", "PUT", `{"security_group":{"name":"stolen"}}`},
	{"network", "router", "/routers/{router}", "PUT", `{"router":{"name":"stolen"}}`},
	{"network", "floatingip", "/floatingips/{floatingip}", "PUT", `{"floatingip":{"description":"stolen"}}`},
	{"block-storage", "volume", "/volumes/{volume}", "PUT", `{"volume":{"name":"stolen"}}`},
	{"block-storage", "snapshot", "/snapshots/{snapshot}", "PUT", `{"snapshot":{"name":"stolen"}}`},
	{"block-storage", "attachment", "/attachments/{attachment}", "PUT", `{"attachment":{"connector":{"host":"stolen"}}}`},
	{"block-storage", "backup", "/backups/{backup}", "", ""},
}

func TestStrangersAndOthers(t *testing.T) {
	t.Parallel()
	cloud, tokens := start(t)
	tokens["nobody"], tokens["worthless"] = "", "gAAAAAnothing"
	for _, o := range owned {
		t.Run(o.thing, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cloud, tokens)
			path := w.fill(o.path) // the administrator's project's
			if o.thing == "volume" {
				w.thing("snapshot")
			}
			read := func() string { return w.ask("admin", o.service, "3.71", "GET", path, "", nil).Text }
			before := read()
			collection := path[:strings.LastIndex(path, "/")]
			for _, method := range []string{"GET", o.change, "DELETE"} {
				if method == "" {
					continue
				}
				body := map[string]string{o.change: o.body}[method]
				for _, stranger := range []string{"nobody", "worthless"} {
					w.refused(stranger, o.service, method, path, body, nil, 401)
				}
				w.refused("other", o.service, method, path, body, nil, 404)
			}
			w.refused("nobody", o.service, "GET", collection, "", nil, 401)
			w.refused("reader", o.service, "POST", collection, "{}", nil, 400, 403)
			if list := w.ask("other", o.service, "3.71", "GET", collection, "", nil); strings.Contains(list.Text, w.made[o.thing]) {
				t.Errorf("another project lists it: %s", list.Text)
			}
			if after := read(); after != before {
				t.Errorf("it was %s and is %s", before, after)
			}
		})
	}
}

// bodies are none that any call takes.
func bodies() map[string]string {
	return map[string]string{
		"nothing": "", "not JSON": "{", "a text": `"x"`, "a list": `[]`, "null": `null`, "a number": `1e400`, "an empty object": `{}`, "bad UTF-8": "{\"name\":\"\xff\xfe\"}",
		"a list of null": `[null]`, "deep": strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "long": `{"x":"` + strings.Repeat("a", 2<<20) + `"}`,
	}
}

// takers are the calls that take a body, each with the key of what it takes and
// a member that is a text.
var takers = []struct{ service, method, path, key, member string }{
	{"identity", "POST", "/auth/tokens", "auth", "identity"}, {"identity", "POST", "/projects", "project", "name"}, {"identity", "POST", "/users", "user", "name"},
	{"identity", "POST", "/domains", "domain", "name"}, {"identity", "POST", "/roles", "role", "name"}, {"identity", "POST", "/services", "service", "type"},
	{"identity", "POST", "/endpoints", "endpoint", "url"}, {"identity", "POST", "/credentials", "credential", "blob"}, {"identity", "POST", "/OS-TRUST/trusts", "trust", "project_id"},
	{"identity", "POST", "/users/{admin_user}/application_credentials", "application_credential", "name"}, {"identity", "POST", "/users/{admin_user}/credentials/OS-EC2", "tenant_id", ""},
	{"identity", "POST", "/ec2tokens", "credentials", "access"},
	{"image", "POST", "/images", "", "name"}, {"image", "POST", "/images/{image}/members", "", "member"}, {"image", "POST", "/images/{image}/import", "method", "name"},
	{"image", "PATCH", "/images/{image}", "", ""},
	{"network", "POST", "/networks", "network", "name"}, {"network", "POST", "/subnets", "subnet", "cidr"}, {"network", "POST", "/ports", "port", "network_id"},
	{"network", "POST", "/routers", "router", "name"}, {"network", "POST", "/floatingips", "floatingip", "floating_network_id"},
	{"network", "POST", "/security-groups", "security_group", "name"}, {"network", "POST", "/security-group-rules", "security_group_rule", "direction"},
	{"network", "PUT", "/quotas/{demo_project}", "quota", "port"}, {"network", "PUT", "/routers/{router}/add_router_interface", "", "subnet_id"},
	{"network", "POST", "/ports/{port}/bindings", "binding", "host"}, {"network", "PUT", "/networks/{network}/tags", "", "tags"},
	{"block-storage", "POST", "/volumes", "volume", "size"}, {"block-storage", "POST", "/snapshots", "snapshot", "volume_id"}, {"block-storage", "POST", "/attachments", "attachment", "volume_uuid"},
	{"block-storage", "POST", "/types", "volume_type", "name"}, {"block-storage", "POST", "/backups", "backup", "volume_id"}, {"block-storage", "POST", "/qos-specs", "qos_specs", "name"},
	{"block-storage", "PUT", "/os-quota-sets/{demo_project}", "quota_set", "volumes"}, {"block-storage", "POST", "/volumes/{volume}/action", "os-extend", "new_size"},
	{"block-storage", "POST", "/volumes/{volume}/action", "os-volume_upload_image", "image_name"}, {"block-storage", "POST", "/volumes/{volume}/action", "os-reimage", "image_id"},
}

// takeEmpty are those for which an object without members is no mistake.
var takeEmpty = map[string]bool{
	"image POST /images":                 true,
	"network PUT /quotas/{demo_project}": true, "block-storage PUT /os-quota-sets/{demo_project}": true,
}

func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	cloud, tokens := start(t)
	for _, call := range takers {
		t.Run(call.service+" "+call.method+" "+call.path+" "+call.key, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cloud, tokens)
			path, header := w.fill(call.path), http.Header{}
			if call.method == "PATCH" {
				header.Set("Content-Type", "application/openstack-images-v2.1-json-patch")
			}
			for name, body := range bodies() {
				lenient := takeEmpty[call.service+" "+call.method+" "+call.path] && (name == "an empty object" || name == "null") || call.method == "PATCH" && (name == "a list" || name == "null")
				if lenient {
					continue
				}
				w.refused("admin", call.service, call.method, path, body, header)
			}
			if call.member == "" {
				return
			}
			for _, value := range []string{`{"a":[1]}`, `[[]]`, `1.5e308`, `"` + strings.Repeat("x", 70_000) + `"`, `"a\u0000b"`} {
				body := fmt.Sprintf(`{%q:%s}`, call.member, value)
				if call.key != "" {
					body = fmt.Sprintf(`{%q:%s}`, call.key, body)
				}
				w.refused("admin", call.service, call.method, path, body, header)
			}
		})
	}
}

// TestMalformedAddresses asks for things by ids and words that there can't be.
func TestMalformedAddresses(t *testing.T) {
	t.Parallel()
	cloud, tokens := start(t)
	w := newWorld(t, cloud, tokens)
	for _, one := range []struct {
		service, path string
		status        []int
	}{
		{"identity", "/users/%00", nil}, {"identity", "/projects/" + strings.Repeat("x", 9000), nil}, {"identity", "/nothing", []int{404}},
		{"image", "/images/%00", []int{404}}, {"image", "/images/not-an-id/file", []int{404}}, {"image", "/images?limit=-1", []int{400}}, {"image", "/images?limit=x", []int{400}},
		{"image", "/images?marker=nowhere", []int{400}}, {"image", "/images?sort=nothing:asc", []int{400}}, {"image", "/images?sort=name:up", []int{400}},
		{"image", "/images?sort_key=name&sort=name", []int{400}}, {"image", "/images?visibility=none", []int{400}}, {"image", "/images?member_status=x", []int{400}},
		{"image", "/images?created_at=gt:yesterday", []int{400}}, {"image", "/images?name=in:%22open", []int{400}}, {"image", "/images?size_min=x", []int{400}},
		{"image", "/images?os_hidden=maybe", []int{400}}, {"image", "/images?protected=maybe", []int{400}}, {"image", "/schemas/nothing", []int{404}},
		{"network", "/networks/not-an-id", []int{404}}, {"network", "/networks?nothing=1", []int{400}}, {"network", "/networks?limit=-1", []int{400}},
		{"network", "/networks?sort_key=nothing", []int{400}}, {"network", "/networks?sort_key=name&sort_dir=up", []int{400}}, {"network", "/ports?fixed_ips=x", []int{400}},
		{"network", "/networks?marker=nowhere", []int{400}}, {"network", "/nothing", []int{404}},
		{"block-storage", "/volumes/not-an-id", []int{404}}, {"block-storage", "/volumes?limit=-1", []int{400}}, {"block-storage", "/volumes?offset=x", []int{400}},
		{"block-storage", "/backups/not-an-id", []int{404}}, {"block-storage", "/qos-specs/not-an-id", []int{404}}, {"block-storage", "/nothing", []int{404}},
	} {
		w.refused("admin", one.service, "GET", one.path, "", nil, one.status...)
	}
	// Clients write flags in any case: these are no mistakes.
	for _, path := range []string{"/images?os_hidden=True", "/images?protected=False"} {
		if answer := w.ask("admin", "image", "", "GET", path, "", nil); answer.Status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, answer.Status, answer.Text)
		}
	}
	w.refused("admin", "identity", "DELETE", "/auth/projects", "", nil, 405)
	w.refused("admin", "image", "PUT", "/images", "", nil, 405)
	w.refused("admin", "network", "PATCH", "/networks", "", nil, 405)
	w.refused("admin", "block-storage", "PATCH", "/volumes", "", nil, 405)
	w.refused("admin", "image", "PUT", w.fill("/images/{queued_image}/file"), "x", http.Header{"Content-Type": {"text/plain"}}, 415)
}
