package rest

// From a socket to a service: what happens to every request before its service
// is asked, and after the answer.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options are what all services of a server share.
type Options struct {
	Authenticator Authenticator
	// AuthURI is where tokens are had; it is told with every 401. Empty tells nothing.
	AuthURI  string
	Log      *slog.Logger
	Registry prometheus.Registerer
	// Health answers /healthcheck without a token; nil serves none.
	Health http.Handler
	// PublicURL is what links begin with; empty takes it from the request.
	PublicURL string
	// TrustForwarded believes the Forwarded and X-Forwarded-* headers: set it
	// only behind a proxy that sets them.
	TrustForwarded bool
	// CORS says which browsers' pages may ask.
	CORS CORS
	// MaxBody is the longest body in bytes, Timeout the longest time for a handler.
	MaxBody int64
	Timeout time.Duration
}

// Server serves services, each below its mount, on one port.
type Server struct {
	Options
	services []*mounted
	metrics  *metrics
}

// New makes the server of all services. The first is also served without its
// mount, as on its traditional port.
func New(o Options, services ...*Service) (*Server, error) {
	switch {
	case o.Authenticator == nil:
		return nil, errors.New("an API without an authenticator would be open to everybody")
	case len(services) == 0:
		return nil, errors.New("an API without services")
	}
	s := &Server{Options: o, metrics: newMetrics(o.Registry)}
	for _, service := range services {
		m, err := s.mount(service)
		if err != nil {
			return nil, err
		}
		s.services = append(s.services, m)
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serveAt(s.services[0], w, r)
}

// At is the server with the named service at the root instead of the first: the
// handler of that service's traditional port.
func (s *Server) At(name string) (http.Handler, error) {
	for _, m := range s.services {
		if m.Name == name {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveAt(m, w, r) }), nil
		}
	}
	return nil, fmt.Errorf("no service is named %q", name)
}

// exchange is what is known of a request while it is served; the access log
// and the metrics read it afterwards.
type exchange struct {
	service   *Service
	operation *Operation
	identity  Identity
	project   string   // the project id in the path
	root      string   // what the service's links begin with: scheme, host, mount
	remote    string   // who asked
	path      string   // below the mount and without the project id, unescaped
	parts     []string // of the path, between its slashes
	lost      string   // what the path was written with at its end (Service.Canonical)
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// serveAt is the story of every request, outermost first, as the originals'
// pipelines have it: origins of pages, proxies, request ids, panics and the log,
// the length of the body; then the service.
func (s *Server) serveAt(root *mounted, w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if s.CORS.answer(w, r) {
		return
	}
	if s.Health != nil && r.URL.Path == "/healthcheck" {
		s.Health.ServeHTTP(w, r)
		return
	}
	m, mount, below := s.locate(root, r.URL.EscapedPath())
	e := &exchange{root: s.root(r) + mount, remote: s.remote(r)}
	if m.Canonical != nil {
		below, e.lost = m.Canonical(r.Header, below)
	}
	r = identify(w, r, m.RequestIDHeader)
	announceRange(w.Header(), m.Versions)
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), exchangeKey{}, e), s.Timeout)
	defer cancel()
	ctx, span := startSpan(ctx, r)
	r = m.enter(r.WithContext(ctx), e, below)
	answer := &recorder{ResponseWriter: w}
	defer endSpan(span, answer, e)
	defer s.finish(answer, r, e, began)
	most := cmp.Or(m.MaxBody, s.MaxBody)
	if r.ContentLength > most {
		writeBare(answer, r, http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = http.MaxBytesReader(answer, r.Body, most)
	s.route(answer, r, m, e)
}

// finish answers a panic, then writes the access log and counts.
func (s *Server) finish(w *recorder, r *http.Request, e *exchange, began time.Time) {
	if p := recover(); p != nil {
		s.Log.ErrorContext(r.Context(), "panic in a handler", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if w.status == 0 {
			s.fail(w, r, e.service, fmt.Errorf("panic: %v", p))
		}
	}
	s.accessLog(w, r, e, time.Since(began))
	s.metrics.count(w, e, time.Since(began))
}
