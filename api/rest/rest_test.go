package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/telemetry"
)

var widgets = &Service{
	Name:            "widget",
	Prefix:          "/v2.1",
	ProjectInPath:   true,
	RequestIDHeader: "X-Compute-Request-Id",
	Versions: &microversion.Scheme{Service: "compute", Legacy: "X-OpenStack-Nova-API-Version",
		Min: microversion.V(2, 1), Max: microversion.V(2, 104), Default: microversion.V(2, 1)},
	Faults: Faults{
		Body: func(status int, message string) any {
			return map[string]any{"fault": map[string]any{"code": status, "message": message}}
		},
		Internal:     func(id string) string { return "see " + id },
		Unauthorized: func(message string) any { return map[string]any{"error": message} },
	},
	Operations: []Operation{
		{Method: "GET", Path: "/widgets/{id}", Success: 200, Handler: func(r *Request) (*Response, error) {
			return JSON(map[string]any{"id": r.Param("id"), "by": r.Identity.UserID, "version": r.Version.String(), "self": r.Link("widgets", r.Param("id"))}), nil
		}},
		{Method: "GET", Path: "/widgets/{widget_id}/parts", Versions: microversion.From(10), Success: 200, Handler: func(r *Request) (*Response, error) {
			return JSON(map[string]any{"of": r.Param("widget_id")}), nil
		}},
		{Method: "POST", Path: "/widgets", Success: 202, Handler: func(r *Request) (*Response, error) {
			body, err := r.Object()
			return JSON(body), err
		}},
		{Method: "DELETE", Path: "/widgets/{id}", Success: 204, Handler: func(*Request) (*Response, error) { return nil, nil }},
		{Method: "POST", Path: "/widgets/{id}/action", Action: "spin", Success: 202, Handler: func(*Request) (*Response, error) { return nil, nil }},
		{Method: "POST", Path: "/widgets/{id}/action", Action: "halt", Versions: microversion.Until(5), Success: 202, Handler: func(*Request) (*Response, error) { return nil, nil }},
		{Method: "GET", Path: "/panic", Success: 200, Handler: func(*Request) (*Response, error) { panic("secret") }},
		{Method: "GET", Path: "/broken", Success: 200, Handler: func(*Request) (*Response, error) { return nil, errors.New("secret") }},
		{Method: "GET", Path: "/busy", Success: 200, Handler: func(*Request) (*Response, error) {
			return nil, faults.New(faults.Unavailable, "DatabaseBusy", "the database is busy")
		}},
		{Method: "GET", Path: "/full", Success: 200, Handler: func(*Request) (*Response, error) {
			return nil, faults.New(faults.OverLimit, "Quota", "Quota exceeded")
		}},
	},
}

func newServer(t *testing.T, log io.Writer, registry prometheus.Registerer) http.Handler {
	t.Helper()
	handler, err := New(Options{
		Authenticator: NewStaticTokens(map[string]policy.Credentials{"good": {UserID: "u", ProjectID: "abc-1", Roles: []string{"member"}}}),
		Log:           telemetry.NewLogger(log, "info", "json"),
		Registry:      registry,
		MaxBody:       64,
		Timeout:       time.Minute,
	}, widgets)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

var ownID = regexp.MustCompile(`req-[0-9a-f-]{36}`)

// The whole way of a request, as exact answers.
func TestAnswers(t *testing.T) {
	t.Parallel()
	handler := newServer(t, io.Discard, nil)
	for _, c := range []struct {
		name, method, path, body string
		header                   map[string]string
		status                   int
		want                     string
		wantHeader               map[string]string
	}{
		{name: "found", method: "GET", path: "/v2.1/widgets/7", status: 200, want: `{"by":"u","id":"7","self":"http://cloud/v2.1/widgets/7","version":"2.1"}`,
			wantHeader: map[string]string{"Content-Type": "application/json", "Openstack-Api-Version": "compute 2.1", "X-Openstack-Nova-Api-Version": "2.1", "Vary": "OpenStack-API-Version"}},
		{name: "project in path", method: "GET", path: "/v2.1/abc-1/widgets/7", status: 200, want: `{"by":"u","id":"7","self":"http://cloud/v2.1/widgets/7","version":"2.1"}`},
		{name: "another project in path", method: "GET", path: "/v2.1/abc-2/widgets/7", status: 400,
			want: `{"fault":{"code":400,"message":"Malformed request URL: URL's project_id 'abc-2' doesn't match Context's project_id 'abc-1'"}}`},
		{name: "no token", method: "GET", path: "/v2.1/widgets/7", header: map[string]string{"X-Auth-Token": ""}, status: 401, want: `{"error":"The request you have made requires authentication."}`},
		{name: "wrong token", method: "GET", path: "/v2.1/widgets/7", header: map[string]string{"X-Auth-Token": "goof"}, status: 401, want: `{"error":"The request you have made requires authentication."}`},
		{name: "stranger on a path that isn't", method: "GET", path: "/v2.1/gadgets", header: map[string]string{"X-Auth-Token": ""}, status: 401, want: `{"error":"The request you have made requires authentication."}`},
		{name: "no such path", method: "GET", path: "/v2.1/gadgets", status: 404, want: `{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`},
		{name: "no such method", method: "PUT", path: "/v2.1/widgets/7", status: 404, want: `{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`},
		{name: "version", method: "GET", path: "/v2.1/widgets/7/parts", header: map[string]string{"OpenStack-API-Version": "compute 2.10"}, status: 200, want: `{"of":"7"}`,
			wantHeader: map[string]string{"Openstack-Api-Version": "compute 2.10"}},
		{name: "version without the operation", method: "GET", path: "/v2.1/widgets/7/parts", status: 404, want: `{"fault":{"code":404,"message":"The resource could not be found."}}`,
			wantHeader: map[string]string{"Openstack-Api-Version": "compute 2.1"}},
		{name: "version not served", method: "GET", path: "/v2.1/widgets/7", header: map[string]string{"OpenStack-API-Version": "compute 2.999"}, status: 406,
			want:       `{"fault":{"code":406,"message":"Version 2.999 is not supported by the API. Minimum is 2.1 and maximum is 2.104."}}`,
			wantHeader: map[string]string{"Openstack-Api-Version": ""}},
		{name: "version malformed", method: "GET", path: "/v2.1/widgets/7", header: map[string]string{"OpenStack-API-Version": "compute x"}, status: 400,
			want: `{"fault":{"code":400,"message":"API Version String x is of invalid format. Must be of format MajorNum.MinorNum."}}`},
		{name: "created", method: "POST", path: "/v2.1/widgets", body: `{"widget":{}}`, status: 202, want: `{"widget":{}}`},
		{name: "no JSON", method: "POST", path: "/v2.1/widgets", body: `{"widget"`, status: 400, want: `{"fault":{"code":400,"message":"Malformed request body"}}`},
		{name: "two documents", method: "POST", path: "/v2.1/widgets", body: `{} {}`, status: 400, want: `{"fault":{"code":400,"message":"Malformed request body"}}`},
		{name: "no object", method: "POST", path: "/v2.1/widgets", body: `null`, status: 400, want: `{"fault":{"code":400,"message":"Malformed request body"}}`},
		{name: "no body", method: "POST", path: "/v2.1/widgets", status: 400, want: `{"fault":{"code":400,"message":"Malformed request body"}}`},
		{name: "too long", method: "POST", path: "/v2.1/widgets", body: `{"x":"` + strings.Repeat("x", 64) + `"}`, status: 413, want: `{"message": "Request is too large.<br /><br />\n\n\n", "code": "413 Request Entity Too Large", "title": "Request Entity Too Large"}`},
		{name: "no JSON type", method: "POST", path: "/v2.1/widgets", body: `<x/>`, header: map[string]string{"Content-Type": "application/xml"}, status: 415, want: `{"fault":{"code":415,"message":"Unsupported Content-Type"}}`},
		{name: "no content", method: "DELETE", path: "/v2.1/widgets/7", status: 204},
		{name: "action", method: "POST", path: "/v2.1/widgets/7/action", body: `{"spin":null}`, status: 202},
		{name: "action of older versions", method: "POST", path: "/v2.1/widgets/7/action", body: `{"halt":null}`, header: map[string]string{"OpenStack-API-Version": "compute 2.6"}, status: 404,
			want: `{"fault":{"code":404,"message":"The resource could not be found."}}`},
		{name: "no such action", method: "POST", path: "/v2.1/widgets/7/action", body: `{"fly":null}`, status: 400, want: `{"fault":{"code":400,"message":"There is no such action: fly"}}`},
		{name: "two actions", method: "POST", path: "/v2.1/widgets/7/action", body: `{"spin":null,"halt":null}`, status: 400, want: `{"fault":{"code":400,"message":"Malformed request body"}}`},
		{name: "panic", method: "GET", path: "/v2.1/panic", status: 500, want: `{"fault":{"code":500,"message":"see ID"}}`},
		{name: "internal", method: "GET", path: "/v2.1/broken", status: 500, want: `{"fault":{"code":500,"message":"see ID"}}`},
		{name: "unavailable", method: "GET", path: "/v2.1/busy", status: 503, want: `{"fault":{"code":503,"message":"the database is busy"}}`, wantHeader: map[string]string{"Retry-After": "1"}},
		{name: "quota", method: "GET", path: "/v2.1/full", status: 403, want: `{"fault":{"code":403,"message":"Quota exceeded"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(c.method, "http://cloud"+c.path, strings.NewReader(c.body))
			request.Header.Set("X-Auth-Token", "good")
			for name, value := range c.header {
				request.Header.Set(name, value)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			id := answer.Header().Get("X-Openstack-Request-Id")
			if !ownID.MatchString(id) || answer.Header().Get("X-Compute-Request-Id") != id {
				t.Errorf("request id %q", id)
			}
			if got := strings.ReplaceAll(answer.Body.String(), id, "ID"); answer.Code != c.status || got != c.want {
				t.Errorf("%d %s\nwant %d %s", answer.Code, got, c.status, c.want)
			}
			for name, want := range c.wantHeader {
				if got := answer.Header().Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestAccessLogAndMetrics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	registry := prometheus.NewRegistry()
	handler := newServer(t, &log, registry)
	request := httptest.NewRequest("GET", "/v2.1/abc-1/widgets/7?password=x", nil)
	request.Header.Set("X-Auth-Token", "good")
	request.Header.Set("X-Openstack-Request-Id", "req-0e44cc9c-e052-415d-afbf-469b0d384170")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)

	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", log.String(), err)
	}
	for name, want := range map[string]any{"msg": "request", "method": "GET", "path": "/v2.1/widgets/7", "status": 200.0, "user": "u", "project": "abc-1",
		"request_id": answer.Header().Get("X-Openstack-Request-Id"), "global_request_id": "req-0e44cc9c-e052-415d-afbf-469b0d384170"} {
		if line[name] != want {
			t.Errorf("%s: %v, want %v", name, line[name], want)
		}
	}
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	want := `holdfast_api_requests_total{operation="GET /widgets/{id}",service="widget",status="200"} 1` + "\n"
	if !strings.Contains(page.Body.String(), want) {
		t.Errorf("no line %s in\n%s", want, page.Body)
	}
}

func TestNoAuthenticatorNoServer(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{}, widgets); err == nil {
		t.Error("an API without an authenticator was made")
	}
}

// A table that can't be served is refused at the start, not at a request.
func TestTablesAreChecked(t *testing.T) {
	t.Parallel()
	handler := func(*Request) (*Response, error) { return nil, nil }
	get := Operation{Method: "GET", Path: "/a/{id}", Success: 200, Handler: handler}
	from, until, spin := get, get, get
	from.Versions, until.Versions, spin.Action = microversion.From(5), microversion.Until(5), "spin"
	until.Path = "/a/{name}"
	for want, table := range map[string][]Operation{
		"has no handler":              {{Method: "GET", Path: "/a", Success: 200}},
		"no status of success":        {{Method: "GET", Path: "/a", Handler: handler}},
		"stands twice":                {from, until},
		"beside an operation that is": {get, spin},
	} {
		_, err := New(Options{Authenticator: NewStaticTokens(nil)}, &Service{Name: "x", Operations: table})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	until.Versions = microversion.Until(4)
	if _, err := New(Options{Authenticator: NewStaticTokens(nil)}, &Service{Name: "x", Operations: []Operation{from, until}}); err != nil {
		t.Error(err)
	}
}

func TestPyRepr(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b": [1, 2.50, true, null], "a": "x"}`: `{'b': [1, 2.5, True, None], 'a': 'x'}`,
		`"it's"`:                                 `"it's"`,
		`"a'b\"c\n"`:                             `'a\'b"c\n'`,
		`[]`:                                     `[]`,
		`{}`:                                     `{}`,
	} {
		if got := PyRepr(json.RawMessage(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
