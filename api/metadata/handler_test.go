package metadata

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/metadata"
)

const server, project = "5e0c9d25-7a54-4a4e-8b9a-0c2a47c2f6a1", "p1"

type source struct{ password string }

func (s *source) Instance(_ context.Context, id string) (*metadata.Instance, error) {
	switch id {
	case server:
		return &metadata.Instance{ID: server, ProjectID: project, Hostname: "vm1", UserData: []byte("canary"), Password: s.password}, nil
	case "broken":
		return nil, faults.New(faults.Internal, "X", "canary")
	}
	return nil, faults.New(faults.NotFound, "NotFound", "The resource could not be found.")
}

func (s *source) PostPassword(_ context.Context, _, password string) error {
	if s.password != "" {
		return faults.New(faults.Conflict, "PasswordExists", "There was a conflict when trying to complete your request.")
	}
	s.password = password
	return nil
}

func sign(secret, id string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestWhoGetsWhat(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	handler, err := Handler("secret", &source{}, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	good := http.Header{"X-Instance-Id": {server}, "X-Tenant-Id": {project}, "X-Instance-Id-Signature": {sign("secret", server)}}
	with := func(name string, values ...string) http.Header {
		h := good.Clone()
		h[name] = values
		return h
	}
	for _, c := range []struct {
		what, method, path, body string
		header                   http.Header
		status                   int
		answer                   string
	}{
		{"the versions, to anybody", "GET", "/", "", nil, 200, string(metadata.Root())},
		{"a server's data", "GET", "/latest/meta-data/hostname", "", good, 200, "vm1"},
		{"its user data", "GET", "/openstack/latest/user_data", "", good, 200, "canary"},
		{"a path that is not there", "GET", "/latest/nothing", "", good, 404, "The resource could not be found.\n"},
		{"no headers", "GET", "/latest", "", nil, 400, "X-Instance-ID header is missing from request.\n"},
		{"no project", "GET", "/latest", "", with("X-Tenant-Id"), 400, "X-Tenant-ID header is missing from request.\n"},
		{"two servers", "GET", "/latest", "", with("X-Instance-Id", server, "x"), 400, "Multiple X-Instance-ID headers found within request.\n"},
		{"no signature", "GET", "/latest", "", with("X-Instance-Id-Signature"), 403, "Invalid proxy request signature.\n"},
		{"not hexadecimal", "GET", "/latest", "", with("X-Instance-Id-Signature", "zz"), 403, "Invalid proxy request signature.\n"},
		{"signed with another secret", "GET", "/latest", "", with("X-Instance-Id-Signature", sign("other", server)), 403, "Invalid proxy request signature.\n"},
		{"signed for another server", "GET", "/latest", "", with("X-Instance-Id-Signature", sign("secret", "x")), 403, "Invalid proxy request signature.\n"},
		{"of another project", "GET", "/latest", "", with("X-Tenant-Id", "p2"), 404, "The resource could not be found.\n"},
		{"no such server", "GET", "/latest", "", http.Header{"X-Instance-Id": {"x"}, "X-Tenant-Id": {project}, "X-Instance-Id-Signature": {sign("secret", "x")}}, 404, "The resource could not be found.\n"},
		{"a failure", "GET", "/latest", "", http.Header{"X-Instance-Id": {"broken"}, "X-Tenant-Id": {project}, "X-Instance-Id-Signature": {sign("secret", "broken")}}, 500, "An unknown error has occurred. Please try your request again.\n"},
		{"a write elsewhere", "POST", "/latest", "x", good, 400, "The server could not comply with the request since it is either malformed or otherwise incorrect.\n"},
		{"an empty password", "POST", "/openstack/latest/password", "", good, 400, "The password must have 1 to 1020 characters.\n"},
		{"too long a password", "POST", "/openstack/latest/password", strings.Repeat("x", 1021), good, 400, "The password must have 1 to 1020 characters.\n"},
		{"a password", "POST", "/openstack/2013-04-04/password", "abc", good, 200, ""},
		{"which is then told", "GET", "/openstack/latest/password", "", good, 200, "abc"},
		{"a second one", "POST", "/openstack/latest/password", "def", good, 409, "There was a conflict when trying to complete your request.\n"},
	} {
		request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		request.Header = c.header.Clone()
		if request.Header == nil {
			request.Header = http.Header{}
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		answer, err := io.ReadAll(recorder.Body)
		if err != nil || recorder.Code != c.status || string(answer) != c.answer {
			t.Errorf("%s: %d %q, %v; want %d %q", c.what, recorder.Code, answer, err, c.status, c.answer)
		}
	}
	if log := logged.String(); strings.Contains(log, sign("secret", server)) || strings.Contains(log, "abc") {
		t.Errorf("a secret was logged:\n%s", log)
	}
}

func TestNoSecretNoService(t *testing.T) {
	t.Parallel()
	if _, err := Handler("", &source{}, slog.Default()); faults.As(err).Code != "InvalidConfiguration" {
		t.Errorf("without a secret: %v; want InvalidConfiguration", err)
	}
}
