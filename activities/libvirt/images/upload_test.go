package images

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
)

func TestSend(t *testing.T) {
	t.Parallel()
	status := http.StatusNoContent
	var got string
	glance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = r.Method + " " + r.Header.Get("X-Auth-Token") + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("Content-Length") + " " + string(data)
		w.WriteHeader(status)
	}))
	t.Cleanup(glance.Close)
	path := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	u, to := NewUploads(nil), hostlink.Upload{ImageID: "i", URL: glance.URL, Token: "t"}
	if err := u.Send(t.Context(), to, path); err != nil || got != "PUT t application/octet-stream 4 data" {
		t.Errorf("%q, %v", got, err)
	}
	for code, kind := range map[int]faults.Kind{404: faults.NotFound, 410: faults.NotFound, 413: faults.OverLimit, 400: faults.Invalid,
		409: faults.Unavailable, 403: faults.Unavailable, 500: faults.Unavailable, 302: faults.Unavailable} {
		status = code
		if err := u.Send(t.Context(), to, path); !faults.Is(err, kind) {
			t.Errorf("%d: %v, want %s", code, err, kind)
		}
	}
	if err := u.Send(t.Context(), to, path+".gone"); !faults.Is(err, faults.Unavailable) {
		t.Errorf("no file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.Send(ctx, to, path); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
