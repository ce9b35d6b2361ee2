package rest

// From a socket to a handler and back.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"holdfast.dev/internal/telemetry"
)

// Options are what all services of a server share.
type Options struct {
	Authenticator Authenticator
	Log           *slog.Logger
	Registry      prometheus.Registerer
	// Health answers /healthcheck without a token; nil serves none.
	Health http.Handler
	// PublicURL is what links begin with; empty takes it from the request.
	PublicURL string
	// MaxBody is the longest body in bytes, Timeout the longest time for a handler.
	MaxBody int64
	Timeout time.Duration
}

type server struct {
	Options
	services []*Service
	metrics  *metrics
}

// New makes the handler of all services.
func New(o Options, services ...*Service) (http.Handler, error) {
	if o.Authenticator == nil {
		return nil, errors.New("an API without an authenticator would be open to everybody")
	}
	s := &server{Options: o, services: services, metrics: newMetrics(o.Registry)}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.RedirectTrailingSlash = false
	router.HandleMethodNotAllowed = false
	router.UseRawPath = true // an escaped slash in an id is part of the id
	for _, service := range services {
		if err := service.check(); err != nil {
			return nil, err
		}
		for at, rows := range service.routes() {
			router.Handle(at.method, at.path, func(c *gin.Context) { s.serve(c, service, rows) })
		}
	}
	router.NoRoute(s.noRoute)
	if o.Health != nil {
		router.GET("/healthcheck", gin.WrapH(o.Health))
	}
	return s.around(router), nil
}

// exchange is what is known of a request while it is served; the access log
// and the metrics read it afterwards.
type exchange struct {
	service   *Service
	operation *Operation
	identity  Identity
	project   string // the project id in the path
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// around is what happens to every request before routing and after the answer.
func (s *server) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		e := &exchange{service: s.serviceOf(r.URL.Path)}
		r = identify(w, r)
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), exchangeKey{}, e), s.Timeout)
		defer cancel()
		ctx, span := startSpan(ctx, r)
		r = withoutProject(r.WithContext(ctx), e)
		r.Body = http.MaxBytesReader(w, r.Body, s.MaxBody)
		answer := &recorder{ResponseWriter: w}
		defer endSpan(span, answer, e)
		defer s.finish(answer, r, e, began)
		next.ServeHTTP(answer, r)
	})
}

// finish answers a panic, then writes the access log and counts.
func (s *server) finish(w *recorder, r *http.Request, e *exchange, began time.Time) {
	if p := recover(); p != nil {
		s.Log.ErrorContext(r.Context(), "panic in a handler", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if w.status == 0 {
			s.fail(w, r, e.service, fmt.Errorf("panic: %v", p))
		}
	}
	s.accessLog(w, r, e, time.Since(began))
	s.metrics.count(w, e, time.Since(began))
}

// serve is the story of one request.
func (s *server) serve(c *gin.Context, service *Service, rows []Operation) {
	e := exchangeOf(c.Request.Context())
	response, err := s.answer(c, e, service, rows)
	if err != nil {
		s.fail(c.Writer, c.Request, service, err)
		return
	}
	if response == nil {
		response = &Response{}
	}
	for name, values := range response.Header {
		c.Writer.Header()[name] = values
	}
	status := response.Status
	if status == 0 {
		status = e.operation.Success
	}
	s.write(c.Writer, c.Request, status, response.Body)
}

func (s *server) answer(c *gin.Context, e *exchange, service *Service, rows []Operation) (*Response, error) {
	r := s.newRequest(c.Request, service)
	var err error
	if r.Identity, err = s.authenticate(c.Request, e); err != nil {
		return nil, err
	}
	r.judge()
	if service.Versions != nil {
		if r.Version, err = service.Versions.Negotiate(c.Request.Header.Values); err != nil {
			return nil, err
		}
		r.announce(c.Writer.Header())
	}
	if err := projectMatches(e); err != nil {
		return nil, err
	}
	if r.body, err = readBody(c.Request); err != nil {
		return nil, err
	}
	if e.operation, err = choose(rows, r); err != nil {
		return nil, err
	}
	r.params = parameters(c, e.operation)
	if err := r.permit(e.operation); err != nil {
		return nil, err
	}
	return e.operation.Handler(r)
}

func (s *server) newRequest(r *http.Request, service *Service) *Request {
	root := s.PublicURL
	if root == "" {
		root = "http://" + r.Host
		if r.TLS != nil {
			root = "https://" + r.Host
		}
	}
	return &Request{
		ID:      telemetry.From(r.Context()).Request,
		Query:   r.URL.Query(),
		Header:  r.Header,
		ctx:     r.Context(),
		root:    strings.TrimSuffix(root, "/"),
		service: service,
	}
}

func (s *server) authenticate(r *http.Request, e *exchange) (Identity, error) {
	token := r.Header.Get("X-Auth-Token")
	if token == "" {
		return Identity{}, errUnauthorized
	}
	identity, err := s.Authenticator.Authenticate(r.Context(), token)
	e.identity = identity
	return identity, err
}

// announce tells the client the version that its answer has.
func (r *Request) announce(h http.Header) {
	scheme := r.service.Versions
	h.Set("OpenStack-API-Version", scheme.Service+" "+r.Version.String())
	h.Add("Vary", "OpenStack-API-Version")
	if scheme.Legacy != "" {
		h.Set(scheme.Legacy, r.Version.String())
		h.Add("Vary", scheme.Legacy)
	}
}

// readBody reads what the limit allows.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, NewFault(http.StatusRequestEntityTooLarge, "Request is too large.")
	case err != nil:
		return nil, NewFault(http.StatusBadRequest, "The request's body ended before its time.")
	}
	if len(body) > 0 && !isJSON(r.Header.Get("Content-Type")) {
		return nil, NewFault(http.StatusUnsupportedMediaType, "Unsupported Content-Type")
	}
	return body, nil
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// parameters names the path's values as the operation's row does.
func parameters(c *gin.Context, o *Operation) map[string]string {
	named := map[string]string{}
	for i, part := range strings.Split(o.Path, "/") {
		if name := parameter(part); name != "" {
			named[name] = c.Param(fmt.Sprintf("p%d", i))
		}
	}
	return named
}

// fail answers an error in the service's words.
func (s *server) fail(w http.ResponseWriter, r *http.Request, service *Service, err error) {
	if service == nil {
		writeBareNotFound(w)
		return
	}
	ctx := r.Context()
	status, body := service.answerFor(ctx, s.Log, telemetry.From(ctx).Request, err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	s.write(w, r, status, body)
}

func (s *server) write(w http.ResponseWriter, r *http.Request, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	text, err := json.Marshal(body)
	if err != nil {
		s.Log.ErrorContext(r.Context(), "the answer can't be written as JSON", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(text); err != nil {
		s.Log.DebugContext(r.Context(), "the client has gone", "error", err)
	}
}

// noRoute answers paths that no service has: to strangers 401, to others a 404
// that is no service's fault (contracts: errors.json, framework_rules).
func (s *server) noRoute(c *gin.Context) {
	e := exchangeOf(c.Request.Context())
	if e.service == nil {
		writeBareNotFound(c.Writer)
		return
	}
	if _, err := s.authenticate(c.Request, e); err != nil {
		s.fail(c.Writer, c.Request, e.service, err)
		return
	}
	writeBareNotFound(c.Writer)
}

func writeBareNotFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	// A client that has gone needs no answer.
	_, _ = io.WriteString(w, `{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`)
}

func (s *server) serviceOf(path string) *Service {
	for _, service := range s.services {
		if path == service.Prefix || strings.HasPrefix(path, service.Prefix+"/") {
			return service
		}
	}
	return nil
}

// projectID is what Nova takes for a project id in a path.
var projectID = regexp.MustCompile(`^[0-9a-f-]+$`)

// withoutProject takes the project id out of the path, if one may be there.
func withoutProject(r *http.Request, e *exchange) *http.Request {
	if e.service == nil || !e.service.ProjectInPath {
		return r
	}
	rest := strings.TrimPrefix(r.URL.Path, e.service.Prefix+"/")
	project, below, found := strings.Cut(rest, "/")
	if !found || !projectID.MatchString(project) {
		return r
	}
	e.project = project
	url := *r.URL
	url.Path, url.RawPath = e.service.Prefix+"/"+below, ""
	r.URL = &url
	return r
}

func projectMatches(e *exchange) error {
	if e.project == "" || e.project == e.identity.ProjectID {
		return nil
	}
	return NewFault(http.StatusBadRequest, "Malformed request URL: URL's project_id '%s' doesn't match Context's project_id '%s'",
		e.project, e.identity.ProjectID)
}
