package rest

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/policy"
)

// sprockets is a server of a service with these faults, whose rows say what they
// are and of which id.
func sprockets(t *testing.T, faults Faults) *Server {
	t.Helper()
	service := &Service{Name: "sprocket", Mount: "/sprockets", Prefix: "/v1", Versions: widgets.Versions, Faults: faults}
	for _, at := range []string{"GET /s", "GET /s/detail", "GET /s/{id}", "DELETE /s/{id}", "GET /s/{id}/parts"} {
		method, path, _ := strings.Cut(at, " ")
		service.Operations = append(service.Operations, Operation{Method: method, Path: path, Success: 200,
			Handler: func(r *Request) (*Response, error) { return JSON(at + " " + r.Param("id")), nil }})
	}
	server, err := New(Options{
		Authenticator: NewStaticTokens(map[string]policy.Credentials{"good": {UserID: "u", ProjectID: "p"}}),
		Log:           slog.New(slog.DiscardHandler), MaxBody: 1000, Timeout: time.Minute, CORS: CORS{Origins: []string{"https://good"}},
	}, service)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// What is spelled out goes before a parameter, which is tried where that leads
// nowhere; an id is never empty, and what is escaped in it is a part of it. A last
// slash means nothing, any other ends a part.
func TestPathsLeadToRows(t *testing.T) {
	t.Parallel()
	server := sprockets(t, widgets.Faults)
	for asked, want := range map[string]string{
		"GET /s":              "GET /s ",
		"GET /s/":             "GET /s ",
		"GET /s/detail":       "GET /s/detail ",
		"GET /s/one":          "GET /s/{id} one",
		"DELETE /s/detail":    "DELETE /s/{id} detail",
		"GET /s/detail/parts": "GET /s/{id}/parts detail",
		"GET /s/a%2Fb%20c+d":  "GET /s/{id} a/b c+d",
		"GET /s/%64etail":     "GET /s/detail ",
		"GET /s/one/":         "GET /s/{id} one",
		"GET /s/%2F":          "GET /s/{id} /",
		"GET /s//parts":       "",
		"GET /s//":            "",
		"GET /s/one//":        "",
		"GET //s":             "",
		"GET /s%2Fdetail":     "",
		"HEAD /s":             "",
		"OPTIONS /s":          "",
		"GET /s/one/others":   "",
		"POST /s/one":         "",
	} {
		method, path, _ := strings.Cut(asked, " ")
		answer := send(server, method, "/sprockets/v1"+path, "")
		switch {
		case want == "" && answer.Code != 404:
			t.Errorf("%s: %d, want 404", asked, answer.Code)
		case want != "" && strings.TrimSpace(answer.Body.String()) != `"`+want+`"`:
			t.Errorf("%s: %d %s, want %q", asked, answer.Code, answer.Body, want)
		}
	}
}

// A service that words it tells a path that it doesn't have from a method that the
// path lacks, and of the latter which ones there are.
func TestMethodsOfAPath(t *testing.T) {
	t.Parallel()
	worded := widgets.Faults
	worded.Routing = func(status int, _ string) any { return status }
	server := sprockets(t, worded)
	for asked, want := range map[string]struct {
		status int
		allow  string
	}{
		"GET /s":            {200, ""},
		"PUT /s":            {405, "GET"},
		"HEAD /s/":          {405, "GET"},
		"OPTIONS /s/detail": {405, "DELETE, GET"},
		"PATCH /s/one":      {405, "DELETE, GET"},
		"PUT /s//":          {404, ""},
		"PUT /others":       {404, ""},
	} {
		method, path, _ := strings.Cut(asked, " ")
		answer := send(server, method, "/sprockets/v1"+path, "")
		if allow := answer.Header().Get("Allow"); answer.Code != want.status || allow != want.allow {
			t.Errorf("%s: %d, Allow %q, want %+v", asked, answer.Code, allow, want)
		}
		if answer := send(server, method, "/sprockets/v1"+path, "", "X-Auth-Token", ""); answer.Code != 401 {
			t.Errorf("%s of a stranger: %d", asked, answer.Code)
		}
	}
	// Browsers ask before they have a token, and of any path.
	answer := send(server, "OPTIONS", "/sprockets/v1/others", "", "X-Auth-Token", "", "Origin", "https://good", "Access-Control-Request-Method", "PATCH")
	if answer.Code != 200 || answer.Header().Get("Access-Control-Allow-Methods") != "PATCH" {
		t.Errorf("a preflight: %d %v", answer.Code, answer.Header())
	}
}
