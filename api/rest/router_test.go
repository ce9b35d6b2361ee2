package rest

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/policy"
)

// What is spelled out goes before a parameter, which is tried where that leads
// nowhere; an id is never empty, and what is escaped in it is a part of it.
func TestPathsLeadToRows(t *testing.T) {
	t.Parallel()
	service := &Service{Name: "sprocket", Mount: "/sprockets", Prefix: "/v1", Versions: widgets.Versions, Faults: widgets.Faults}
	for _, at := range []string{"GET /s", "GET /s/detail", "GET /s/{id}", "DELETE /s/{id}", "GET /s/{id}/parts"} {
		method, path, _ := strings.Cut(at, " ")
		service.Operations = append(service.Operations, Operation{Method: method, Path: path, Success: 200,
			Handler: func(r *Request) (*Response, error) { return JSON(at + " " + r.Param("id")), nil }})
	}
	server, err := New(Options{
		Authenticator: NewStaticTokens(map[string]policy.Credentials{"good": {UserID: "u", ProjectID: "p"}}),
		Log:           slog.New(slog.DiscardHandler), MaxBody: 1000, Timeout: time.Minute,
	}, service)
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"GET /s":              "GET /s ",
		"GET /s/":             "GET /s ",
		"GET /s/detail":       "GET /s/detail ",
		"GET /s/one":          "GET /s/{id} one",
		"DELETE /s/detail":    "DELETE /s/{id} detail",
		"GET /s/detail/parts": "GET /s/{id}/parts detail",
		"GET /s/a%2Fb%20c+d":  "GET /s/{id} a/b c+d",
		"GET /s//parts":       "",
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
