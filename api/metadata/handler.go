package metadata

// The handler: who asks, and what they get.

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/maypok86/otter/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/metadata"
)

// Source is where servers' data comes from. Errors: NotFound.
type Source interface {
	Instance(ctx context.Context, serverID string) (*metadata.Instance, error)
	// PostPassword keeps what the guest posts; Conflict if there is one.
	PostPassword(ctx context.Context, serverID, password string) error
}

// The original keeps answers for 15 seconds (metadata_cache_expiration); an
// agent asks dozens of times in its first seconds.
const (
	cacheTime   = 15 * time.Second
	cacheSize   = 10_000
	maxPassword = 4 * 255 // four values of the original's system metadata
)

type handler struct {
	secret []byte
	source Source
	cache  *otter.Cache[string, *metadata.Instance]
	log    *slog.Logger
}

// Handler serves the metadata of servers to a proxy that knows the secret.
func Handler(secret string, source Source, log *slog.Logger) (http.Handler, error) {
	if secret == "" {
		return nil, faults.New(faults.Invalid, "InvalidConfiguration", "configuration: metadata.proxy_shared_secret is not set")
	}
	cache, err := otter.New(&otter.Options[string, *metadata.Instance]{
		MaximumSize:      cacheSize,
		ExpiryCalculator: otter.ExpiryWriting[string, *metadata.Instance](cacheTime),
	})
	if err != nil {
		return nil, err
	}
	return &handler{secret: []byte(secret), source: source, cache: cache, log: log}, nil
}

// ServeHTTP answers one request of a guest that the proxy passes on.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, mime, err := h.answer(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", mime+"; charset=UTF-8")
	if _, err := w.Write(content); err != nil {
		h.log.Debug("the guest hung up", "error", err)
	}
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request) (content []byte, mime string, err error) {
	if r.URL.Path == "" || r.URL.Path == "/" {
		return metadata.Root(), "text/plain", nil // to anybody, as the original does
	}
	serverID, projectID, err := h.caller(r)
	if err != nil {
		return nil, "", err
	}
	instance, err := h.cache.Get(r.Context(), serverID, otter.LoaderFunc[string, *metadata.Instance](h.source.Instance))
	if err != nil {
		return nil, "", err
	}
	if instance.ProjectID != projectID {
		return nil, "", faults.New(faults.NotFound, "NotFound", "The resource could not be found.")
	}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return instance.Lookup(r.URL.Path)
	case r.Method == http.MethodPost && metadata.IsPassword(r.URL.Path):
		return nil, "text/plain", h.postPassword(w, r, instance)
	}
	return nil, "", faults.New(faults.Invalid, "BadRequest", "The server could not comply with the request since it is either malformed or otherwise incorrect.")
}

// caller checks what the proxy says of who asks. Headers come once each.
func (h *handler) caller(r *http.Request) (serverID, projectID string, err error) {
	for _, header := range []struct {
		name  string
		value *string
	}{{"X-Instance-ID", &serverID}, {"X-Tenant-ID", &projectID}} {
		values := r.Header.Values(header.name)
		switch len(values) {
		case 0:
			return "", "", faults.New(faults.Invalid, "BadRequest", "%s header is missing from request.", header.name)
		case 1:
			*header.value = values[0]
		default:
			return "", "", faults.New(faults.Invalid, "BadRequest", "Multiple %s headers found within request.", header.name)
		}
	}
	if !h.signed(serverID, r.Header.Values("X-Instance-ID-Signature")) {
		h.log.Warn("a metadata request is not signed by the proxy", "instance", serverID, "from", r.RemoteAddr)
		return "", "", faults.New(faults.Forbidden, "Forbidden", "Invalid proxy request signature.")
	}
	return serverID, projectID, nil
}

// signed compares in constant time.
func (h *handler) signed(serverID string, signatures []string) bool {
	if len(signatures) != 1 {
		return false
	}
	given, err := hex.DecodeString(signatures[0])
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, h.secret)
	mac.Write([]byte(serverID)) // a hash never fails to be written to
	return hmac.Equal(given, mac.Sum(nil))
}

func (h *handler) postPassword(w http.ResponseWriter, r *http.Request, instance *metadata.Instance) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPassword))
	if err != nil || len(body) == 0 {
		return faults.New(faults.Invalid, "BadRequest", "The password must have 1 to %d characters.", maxPassword)
	}
	if err := h.source.PostPassword(r.Context(), instance.ID, string(body)); err != nil {
		return err
	}
	h.cache.Invalidate(instance.ID)
	return nil
}

// statuses of errors; what isn't here is a 500 that says nothing of its cause.
var statuses = map[faults.Kind]int{
	faults.Invalid:     http.StatusBadRequest,
	faults.Forbidden:   http.StatusForbidden,
	faults.NotFound:    http.StatusNotFound,
	faults.Conflict:    http.StatusConflict,
	faults.Unavailable: http.StatusServiceUnavailable,
}

func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := faults.As(err)
	status, known := statuses[f.Kind]
	if !known {
		h.log.Error("metadata", "path", r.URL.Path, "error", err)
		http.Error(w, "An unknown error has occurred. Please try your request again.", http.StatusInternalServerError)
		return
	}
	http.Error(w, f.Message, status)
}
