package openstack

// What goes with each request of the service user.

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A service vouches for its requests with the token that they carry, and a
// request without one, a login, stays as it is.
func TestAsService(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%q %q", r.Header.Get("X-Auth-Token"), r.Header["X-Service-Token"])
	}))
	t.Cleanup(server.Close)
	client := http.Client{Transport: asService{http.DefaultTransport}}
	for token, want := range map[string]string{"one": `"one" ["one"]`, "": `"" []`} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("X-Auth-Token", token)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || string(got) != want {
			t.Errorf("sent %s, %v, want %s", got, err, want)
		}
		if len(request.Header["X-Service-Token"]) > 0 {
			t.Error("the caller's request was changed")
		}
	}
}
