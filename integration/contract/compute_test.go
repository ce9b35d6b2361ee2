package contract

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/microversion"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// operation is a row of contracts/compute/operations.json.
type operation struct {
	Method, Path, Action string
	Microversion         struct{ Min, Max string }
	Removed              bool `json:"removed_410"`
}

func operations(t *testing.T) []operation {
	t.Helper()
	var contract struct{ Operations []operation }
	contracttest.Read(t, "compute/operations.json", &contract)
	return contract.Operations
}

var parameter = regexp.MustCompile(`\{[a-z_]+\}`)

// url puts ids that nothing has into the path.
func (o operation) url(project string) string {
	return "/v2.1" + project + parameter.ReplaceAllString(o.Path, "00000000-0000-4000-8000-00000000dead")
}

// body is one that is well formed and names the action, if there is one.
func (o operation) body() string {
	if o.Action == "" {
		return "{}"
	}
	return fmt.Sprintf(`{%q: null}`, o.Action)
}

func (o operation) takesBody() bool { return o.Method == "POST" || o.Method == "PUT" }

// inside is a microversion that has the operation; outside are those next to
// its window.
func (o operation) inside() string { return o.Microversion.Min }

func (o operation) outside(t *testing.T) (versions []string) {
	t.Helper()
	if low, err := microversion.Parse(o.Microversion.Min); err != nil {
		t.Fatal(err)
	} else if low.Minor > 1 {
		versions = append(versions, microversion.V(2, low.Minor-1).String())
	}
	if high, err := microversion.Parse(o.Microversion.Max); err == nil {
		versions = append(versions, microversion.V(2, high.Minor+1).String())
	}
	return versions
}

// question is one way to ask an operation.
type question struct {
	token, version, project, contentType, body string
}

// Answers whose whole text is fixed.
const (
	stranger   = `{"error":{"code":401,"message":"The request you have made requires authentication.","title":"Unauthorized"}}`
	noVersion  = `{"computeFault":{"code":406,"message":"Version 2.999 is not supported by the API. Minimum is 2.1 and maximum is 2.104."}}`
	notThere   = `{"itemNotFound":{"code":404,"message":"The resource could not be found."}}`
	malformed  = `{"badRequest":{"code":400,"message":"Malformed request body"}}`
	badType    = `{"badMediaType":{"code":415,"message":"Unsupported Content-Type"}}`
	isGone     = `{"computeFault":{"code":410,"message":"This resource is no longer available. No forwarding address is given."}}`
	otherOwner = `{"badRequest":{"code":400,"message":"Malformed request URL: URL's project_id 'f00' doesn't match Context's project_id 'admin'"}}`
	bare404    = `{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`
	bare413    = `{"message": "Request is too large.<br /><br />\n\n\n", "code": "413 Request Entity Too Large", "title": "Request Entity Too Large"}`
)

// One cloud answers what is asked in ways that don't depend on what is done.
func TestAnswers(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{"api.cors_origins": []string{goodOrigin}}})
	t.Run("compute refuses", func(t *testing.T) { computeRefuses(t, c) })
	t.Run("orchestration refuses", func(t *testing.T) { orchestrationRefuses(t, c) })
	t.Run("paths", func(t *testing.T) { pathsAreTaken(t, c) })
}

// Every operation that the server has refuses as the original does, and in its
// order: too long before no token, no token before no path.
func computeRefuses(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	ask := func(o operation, q question) (int, string) {
		t.Helper()
		h := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}
		if q.contentType != "" {
			h.Set("Content-Type", q.contentType)
		}
		if q.version != "" {
			h.Set("OpenStack-API-Version", "compute "+q.version)
		}
		answer, text, err := c.Ask(t.Context(), q.token, o.Method, o.url(q.project), h, []byte(q.body))
		if err != nil {
			t.Fatalf("%+v %+v: %v", o, q, err)
		}
		if id := answer.Header.Get("X-Openstack-Request-Id"); !strings.HasPrefix(id, "req-") {
			t.Errorf("%+v: request id %q", o, id)
		}
		return answer.StatusCode, string(text)
	}
	long := `{"x": "` + strings.Repeat("x", 114688) + `"}`
	served := 0
	for _, o := range operations(t) {
		if o.Path == "/" || o.Path == "/versions/{id}" {
			continue // documents, for strangers too
		}
		want := func(q question, status int, body string) {
			t.Helper()
			if gotStatus, got := ask(o, q); gotStatus != status || got != body {
				t.Errorf("%s %s %s asked with %.120v\n got %d %.300s\nwant %d %s", o.Method, o.Path, o.Action, q, gotStatus, got, status, body)
			}
		}
		// A path that isn't there is a stranger's to know nothing of either.
		want(question{version: o.inside(), body: o.body()}, 401, stranger)
		status, text := ask(o, question{token: cloud.AdminToken, version: o.inside(), project: "/f00", body: o.body()})
		if text == bare404 || strings.Contains(text, "There is no such action") {
			continue // not served yet
		}
		served++
		if status != 400 || text != otherOwner {
			t.Errorf("%s %s %s with another project in the path: %d %s", o.Method, o.Path, o.Action, status, text)
		}
		want(question{token: cloud.AdminToken, version: "2.999", body: o.body()}, 406, noVersion)
		want(question{token: cloud.AdminToken, version: o.inside(), contentType: "application/xml", body: o.body()}, 415, badType)
		for _, version := range o.outside(t) {
			want(question{token: cloud.AdminToken, version: version, body: o.body()}, 404, notThere)
		}
		if o.Removed {
			want(question{token: cloud.AdminToken, version: o.inside(), body: o.body()}, 410, isGone)
		}
		if !o.takesBody() {
			continue
		}
		for _, body := range []string{`{"a"`, "{} {}", "NaN", "\"\xff\"", `{"a": "\ud800"}`, strings.Repeat("[", 500) + strings.Repeat("]", 500)} {
			want(question{token: cloud.AdminToken, version: o.inside(), body: body}, 400, malformed)
		}
		want(question{version: o.inside(), body: long}, 413, bare413)
	}
	t.Logf("%d operations of the contract are served", served)
	if served < 100 {
		t.Errorf("only %d operations are served", served)
	}
}
