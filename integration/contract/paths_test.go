package contract

// Which paths and methods each service takes for its own, of all that a client may
// send.

import (
	"net/http"
	"testing"

	"holdfast.dev/integration/cloud"
)

const (
	goodOrigin = "https://pages.example"

	heatStacks  = "/orchestration/v1/admin/stacks"
	ironicNodes = "/baremetal/v1/nodes"
	// ironic404 is what bare metal says of a path that it doesn't have.
	ironic404 = `{"error_message":"{\"code\":404,\"title\":\"Not Found\",\"description\":\"\"}"}`
)

// pathsAreTaken asks for paths as they shouldn't be written, and by methods that
// they lack: Nova answers a bare 404 (errors.json, framework_rules), Heat 405 and
// OPTIONS (operations.json, _notes), Ironic 405 (operations.json, dispatch_artifacts).
func pathsAreTaken(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	for _, row := range []struct {
		token, method, path string
		status              int
		body, allow         string // empty is not compared
	}{
		{cloud.AdminToken, "GET", "/v2.1/flavors/", 200, "", ""},
		{cloud.AdminToken, "GET", "/compute/v2.1/flavors/", 200, "", ""},
		{cloud.AdminToken, "GET", "/v2.1/%66lavors", 200, "", ""},
		{cloud.AdminToken, "GET", "/v2.1/flavors//", 404, bare404, ""},
		{cloud.AdminToken, "GET", "/v2.1//flavors", 404, bare404, ""},
		{cloud.AdminToken, "GET", "/v2.1/flavors%2Fdetail", 404, bare404, ""},
		{cloud.AdminToken, "GET", "/v2.1/flavors/none%2Fdetail", 404, `{"itemNotFound":{"code":404,"message":"Flavor none/detail could not be found."}}`, ""},
		{cloud.AdminToken, "HEAD", "/v2.1/flavors", 404, "", ""},
		{cloud.AdminToken, "OPTIONS", "/v2.1/flavors", 404, bare404, ""},
		{cloud.AdminToken, "PATCH", "/v2.1/servers", 404, bare404, ""},
		{"", "PATCH", "/v2.1/servers", 401, stranger, ""},
		{"", "OPTIONS", "/v2.1/flavors", 401, stranger, ""},
		{"", "POST", "/", 404, bare404, ""},

		{cloud.AdminToken, "GET", heatStacks + "/", 200, "", ""},
		{cloud.AdminToken, "GET", heatStacks + "//", 404, bare404, ""},
		{cloud.AdminToken, "GET", "/orchestration/v1/admin/none", 404, bare404, ""},
		{cloud.AdminToken, "GET", heatStacks + "/none%2Fdetail", 404, "", ""},
		{cloud.AdminToken, "PUT", heatStacks, 405, "", ""},
		{cloud.AdminToken, "HEAD", heatStacks + "/", 405, "", ""},
		{cloud.AdminToken, "PATCH", heatStacks + "/detail", 404, "", ""},
		{cloud.AdminToken, "OPTIONS", heatStacks, 204, "", "GET,POST"},
		{cloud.AdminToken, "OPTIONS", heatStacks + "/detail/", 204, "", "GET"},
		{"", "OPTIONS", heatStacks, 401, "", ""},

		{cloud.AdminToken, "GET", ironicNodes + "/", 200, "", ""},
		{cloud.AdminToken, "GET", ironicNodes + "/detail/", 200, "", ""},
		{cloud.AdminToken, "GET", ironicNodes + "//", 404, ironic404, ""},
		{cloud.AdminToken, "GET", "/baremetal/v1/none", 404, ironic404, ""},
		{cloud.AdminToken, "PATCH", ironicNodes, 405, "", "GET, POST"},
		{cloud.AdminToken, "HEAD", ironicNodes, 405, "", "GET, POST"},
		{cloud.AdminToken, "OPTIONS", ironicNodes, 405, "", "GET, POST"},
		{"", "OPTIONS", ironicNodes, 401, "", ""},
	} {
		answer, text, err := c.Ask(t.Context(), row.token, row.method, row.path, http.Header{"Accept": {"application/json"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if allow := answer.Header.Get("Allow"); answer.StatusCode != row.status || row.body != "" && string(text) != row.body || row.allow != "" && allow != row.allow {
			t.Errorf("%s %s by %q: %d %s, Allow %q; want %d %s, %q", row.method, row.path, row.token, answer.StatusCode, text, allow, row.status, row.body, row.allow)
		}
		if row.method == http.MethodHead && len(text) > 0 {
			t.Errorf("HEAD %s has a body", row.path)
		}
	}
	// A browser asks before it has a token, and of any path.
	for origin, want := range map[string]int{goodOrigin: 200, "https://others.example": 401} {
		for _, path := range []string{"/v2.1/none", heatStacks, ironicNodes} {
			answer, _, err := c.Ask(t.Context(), "", http.MethodOptions, path, http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"PATCH"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != want {
				t.Errorf("a page of %s asks for %s: %d, want %d", origin, path, answer.StatusCode, want)
			}
		}
	}
}
