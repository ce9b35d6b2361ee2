package contract

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/contracttest"
)

// heatRoute is a row of contracts/orchestration/operations.json.
type heatRoute struct{ Method, Path string }

// later are paths of the contract that aren't served yet.
const later = "/software_deployments"

// choices are parts of paths of which one of several words is meant.
var choices = strings.NewReplacer(
	`{stack_name:arn\x3A.*}`, "arn:openstack:heat::admin:stacks%2Fnone%2F1",
	"{path:resources|events|template|actions|environment|files}", "template",
	"{path:resources|events|template|actions}", "actions",
)

// at is the route's path in a project, with ids that nothing has.
func (o heatRoute) at(project string) string {
	path := choices.Replace(strings.Replace(o.Path, "{tenant_id}", project, 1))
	return "/orchestration" + parameter.ReplaceAllString(path, "00000000-0000-4000-8000-00000000dead")
}

// The words of Heat's refusals that are the same for all operations.
const (
	heatStranger  = `{"error":{"code":401,"message":"The request you have made requires authentication.","title":"Unauthorized"}}`
	heatForbidden = `{"code":403,"title":"Forbidden","explanation":"Access was denied to this resource.","error":{"type":"HTTPForbidden","traceback":null,"message":"Access was denied to this resource."}}`
	heatMethod    = `{"code":405,"title":"Method Not Allowed","explanation":"The server could not comply with the request since it is either malformed or otherwise incorrect.",` +
		`"error":{"type":"HTTPMethodNotAllowed","traceback":null,"message":"The server could not comply with the request since it is either malformed or otherwise incorrect."}}`
)

// orchestrationRefuses asks every operation of the contract as a stranger, as somebody of
// another project, as one who may, and by the methods that its path lacks.
func orchestrationRefuses(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	var contract struct {
		Operations []heatRoute
		Options    map[string][]string `json:"options_allow"`
	}
	contracttest.Read(t, "orchestration/operations.json", &contract)
	ask := func(token, method, at, body string) (int, string, http.Header) {
		t.Helper()
		answer, text, err := c.Ask(t.Context(), token, method, at, http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text), answer.Header
	}
	served := 0
	for _, o := range contract.Operations {
		if strings.Contains(o.Path, later) {
			continue
		}
		served++
		if status, text, _ := ask("", o.Method, o.at("admin"), "{}"); status != 401 || text != heatStranger {
			t.Errorf("%s %s of a stranger: %d %s", o.Method, o.Path, status, text)
		}
		if status, text, _ := ask(cloud.UserToken, o.Method, o.at("admin"), "{}"); status != 403 || text != heatForbidden {
			t.Errorf("%s %s in another project: %d %s", o.Method, o.Path, status, text)
		}
		status, text, header := ask(cloud.AdminToken, o.Method, o.at("admin"), "{}")
		if text == bare404 || status == 405 || status >= 500 || status == 401 {
			t.Errorf("%s %s: %d %s", o.Method, o.Path, status, text)
		}
		if id := header.Get("X-Openstack-Request-Id"); !strings.HasPrefix(id, "req-") {
			t.Errorf("%s %s: request id %q", o.Method, o.Path, id)
		}
	}
	if served < 50 {
		t.Errorf("only %d operations are served", served)
	}
	for path, allowed := range contract.Options {
		o := heatRoute{Path: path}
		if strings.Contains(path, later) {
			continue
		}
		if status, text, header := ask(cloud.AdminToken, http.MethodOptions, o.at("admin"), ""); !strings.Contains(path, ":") &&
			(status != 204 || text != "" || !sameMethods(header.Get("Allow"), allowed)) {
			t.Errorf("OPTIONS %s: %d %s, Allow %q, want %q", path, status, text, header.Get("Allow"), allowed)
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			// Other methods of these are those of a stack of that name.
			if slices.Contains(allowed, method) || strings.HasSuffix(path, "/detail") || strings.HasSuffix(path, "/preview") || strings.Contains(path, ":") ||
				method == "POST" && strings.HasSuffix(path, "/{stack_id}") {
				continue
			}
			status, text, header := ask(cloud.AdminToken, method, o.at("admin"), "{}")
			if status != 405 || text != heatMethod || header.Get("Allow") != "" {
				t.Errorf("%s %s: %d %s, Allow %q", method, path, status, text, header.Get("Allow"))
			}
		}
	}
	for _, row := range []struct {
		method, path string
		status       int
		body         string // empty is not compared
	}{
		{"POST", "/orchestration/v1/admin/services", 404, bare404},
		{"OPTIONS", "/orchestration/v1/admin/services", 404, bare404},
		{"GET", "/orchestration/v1/admin/services", 200, ""},
		{"GET", "/orchestration/", 300, ""},
		{"GET", "/orchestration/versions", 300, ""},
	} {
		if status, text, _ := ask(cloud.AdminToken, row.method, row.path, ""); status != row.status || row.body != "" && text != row.body {
			t.Errorf("%s %s: %d %s", row.method, row.path, status, text)
		}
	}
}

// sameMethods says whether a header names some methods, in any order.
func sameMethods(header string, want []string) bool {
	got := strings.Split(header, ",")
	slices.Sort(got)
	return slices.Equal(got, slices.Sorted(slices.Values(want)))
}
