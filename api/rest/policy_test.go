package rest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/policy"
)

// The operation's rule is asked before its handler, and the service's own rule
// says who is an administrator.
func TestPolicies(t *testing.T) {
	t.Parallel()
	rules, err := policy.New([]byte(`
rules:
- {name: context_is_admin, check: "role:boss"}
- {name: things:get, check: "role:reader and project_id:%(project_id)s", scopes: [project]}
- {name: things:all, check: "is_admin:True"}
`), policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	things := &Service{Name: "things", Prefix: "/v1", Faults: widgets.Faults, Policy: rules, Operations: []Operation{
		{Method: "GET", Path: "/things", Policy: "things:get", Success: 200, Handler: func(r *Request) (*Response, error) {
			return JSON(map[string]any{"all": r.Allows("things:all", nil), "another's": r.Allows("things:get", map[string]any{"project_id": "q"})}), nil
		}},
		{Method: "POST", Path: "/things", Policy: "things:post", Success: 200, Handler: func(*Request) (*Response, error) { return nil, nil }},
		{Method: "GET", Path: "/public", Success: 204, Handler: func(*Request) (*Response, error) { return nil, nil }},
	}}
	options := Options{
		Authenticator: NewStaticTokens(map[string]policy.Credentials{
			"member": {ProjectID: "p", Roles: []string{"member"}}, "boss": {ProjectID: "p", Roles: []string{"boss", "reader"}},
			"admin": {ProjectID: "p", Roles: []string{"admin"}}, "nobody": {ProjectID: "p"}, "system": {SystemScope: "all", Roles: []string{"admin"}},
		}),
		Log: slog.New(slog.DiscardHandler), MaxBody: 64, Timeout: time.Minute,
	}
	handler, err := New(options, things)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(rule string) string {
		return `{"fault":{"code":403,"message":"Policy doesn't allow ` + rule + ` to be performed."}}`
	}
	for _, c := range []struct {
		token, method, path string
		status              int
		want                string
	}{
		{"member", "GET", "/v1/things", 200, `{"all":false,"another's":false}`},
		{"boss", "GET", "/v1/things", 200, `{"all":true,"another's":false}`},
		{"admin", "GET", "/v1/things", 200, `{"all":false,"another's":false}`},
		{"nobody", "GET", "/v1/things", 403, refused("things:get")},
		{"system", "GET", "/v1/things", 403, refused("things:get")},
		{"boss", "POST", "/v1/things", 403, refused("things:post")},
		{"nobody", "GET", "/v1/public", 204, ""},
	} {
		request := httptest.NewRequest(c.method, c.path, strings.NewReader(""))
		request.Header.Set("X-Auth-Token", c.token)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != c.status || answer.Body.String() != c.want {
			t.Errorf("%s %s %s: %d %s", c.token, c.method, c.path, answer.Code, answer.Body)
		}
	}
	open := *things
	open.Policy = nil
	if _, err := New(options, &open); err == nil || err.Error() != "things: "+errNoEnforcer.Error() {
		t.Errorf("a service without an enforcer: %v", err)
	}
}

// A service that passes a request on proves itself by its own token.
func TestServiceTokens(t *testing.T) {
	t.Parallel()
	echo := &Service{Name: "things", Prefix: "/v1", Faults: widgets.Faults, Operations: []Operation{
		{Method: "GET", Path: "/things", Success: 200, Handler: func(r *Request) (*Response, error) {
			return JSON([]string{r.Identity.UserID, r.Identity.ServiceUserID}), nil
		}},
	}}
	handler, err := New(Options{
		Authenticator: NewStaticTokens(map[string]policy.Credentials{
			"user": {UserID: "u"}, "service": {UserID: "s", Roles: []string{"service"}}, "admin": {UserID: "a", Roles: []string{"admin"}},
		}),
		AuthURI: "http://keystone/v3", Log: slog.New(slog.DiscardHandler), MaxBody: 64, Timeout: time.Minute,
	}, echo)
	if err != nil {
		t.Fatal(err)
	}
	refused := `{"error":"` + errUnauthorized.Message + `"}`
	for _, c := range []struct {
		token, service string
		status         int
		want           string
	}{
		{"user", "", 200, `["u",""]`},
		{"user", "service", 200, `["u","s"]`},
		{"user", "admin", 401, refused},
		{"user", "unknown", 401, refused},
		{"unknown", "service", 401, refused},
		{"", "service", 401, refused},
	} {
		request := httptest.NewRequest("GET", "/v1/things", nil)
		request.Header.Set("X-Auth-Token", c.token)
		request.Header.Set("X-Service-Token", c.service)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != c.status || answer.Body.String() != c.want {
			t.Errorf("%q through %q: %d %s", c.token, c.service, answer.Code, answer.Body)
		}
		if got := answer.Header().Get("WWW-Authenticate"); (got == `Keystone uri="http://keystone/v3"`) != (c.status == 401) {
			t.Errorf("%q through %q: WWW-Authenticate %q", c.token, c.service, got)
		}
	}
}

// What isn't there is named, also when that was found out by a deadline.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	late := fmt.Errorf("asking: %w", context.DeadlineExceeded)
	for want, err := range map[string]error{
		"The request took too long.": late,
		"Keystone is down.":          faults.Wrap(late, faults.Unavailable, "Down", "Keystone is down."),
	} {
		if status, got := widgets.wording(err); status != 503 || got != want {
			t.Errorf("%v: %d %s, want 503 %s", err, status, got, want)
		}
	}
}
