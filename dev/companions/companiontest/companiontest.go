// Package companiontest gives the companions' tests callers whose tokens are
// their names, and a client that says what was answered. Only tests import it.
package companiontest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"io/fs"

	"holdfast.dev/dev/companions/service"
	"holdfast.dev/internal/testenv"
)

// Projects of the callers.
const (
	DemoProject  = "11111111111111111111111111111111"
	OtherProject = "22222222222222222222222222222222"
	AdminProject = "33333333333333333333333333333333"
)

// Callers are authenticated by name: "admin", "demo" and "other" (members of
// two projects), "reader" (of demo's project), "service" (one in demo's project).
type Callers struct{}

var callers = map[string]struct{ project, role string }{
	"admin": {AdminProject, "admin"}, "demo": {DemoProject, "member"}, "other": {OtherProject, "member"}, "reader": {DemoProject, "reader"},
	"service": {DemoProject, "service"},
}

// Authenticate implements service.Authenticator.
func (Callers) Authenticate(_ context.Context, token string) (*service.Caller, error) {
	who, ok := callers[token]
	if !ok {
		return nil, service.Unauthorized()
	}
	return &service.Caller{Token: token,
		User:    service.Scoped{Ref: service.Ref{ID: strings.Repeat("a", 32-len(token)) + token, Name: token}},
		Project: &service.Scoped{Ref: service.Ref{ID: who.project, Name: token}},
		Roles:   []service.Ref{{Name: who.role}}}, nil
}

// URL implements service.Authenticator.
func (Callers) URL() string { return "http://127.0.0.1:1/v3" }

// Pool is a fresh database with a companion's schema.
func Pool(t testing.TB, name string, migrations fs.FS) *pgxpool.Pool {
	t.Helper()
	dsn := testenv.Database(t)
	if err := service.Migrate(t.Context(), dsn, name, migrations); err != nil {
		t.Fatal(err)
	}
	pool, err := service.Open(t.Context(), dsn, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Log is a log for the test's own output.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// Client asks a companion.
type Client struct {
	t    testing.TB
	Base string
	// Header goes with every request.
	Header http.Header
}

// Serve listens for the handler until the test ends.
func Serve(t testing.TB, handler http.Handler) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Client{t: t, Base: server.URL, Header: http.Header{}}
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Text   string
}

// Do sends a request of the caller whose token is who; body "" is none.
func (c *Client) Do(who, method, path, body string) Answer {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.Base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header = c.Header.Clone()
	if who != "" {
		request.Header.Set("X-Auth-Token", who)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	answer := Answer{Status: response.StatusCode, Header: response.Header, Text: string(text)}
	_ = json.Unmarshal(text, &answer.Body) // an empty body has none
	return answer
}

// Want is Do with the status that must come.
func (c *Client) Want(status int, who, method, path, body string) Answer {
	c.t.Helper()
	answer := c.Do(who, method, path, body)
	if answer.Status != status {
		c.t.Fatalf("%s %s as %q: status %d, want %d: %s", method, path, who, answer.Status, status, answer.Text)
	}
	return answer
}

// At walks into a body: At("port", "fixed_ips", 0, "ip_address").
func (a Answer) At(path ...any) any {
	var value any = a.Body
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// TextAt is At for a string.
func (a Answer) TextAt(path ...any) string {
	text, _ := a.At(path...).(string)
	return text
}
