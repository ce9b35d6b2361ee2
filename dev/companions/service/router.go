package service

// Requests in, answers out.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Endpoint answers one kind of request. caller is nil on a public one. An
// error is written as the service's fault, so it must come before any output.
type Endpoint func(w http.ResponseWriter, r *http.Request, caller *Caller) error

// FaultWriter writes e in the body of the service it is for.
type FaultWriter func(w http.ResponseWriter, r *http.Request, e *Error)

// Router finds the Endpoint of a request by patterns of http.ServeMux
// ("GET /v3/users/{id}"). Slashes at the end of a path don't count.
type Router struct {
	name  string
	mux   *http.ServeMux
	auth  Authenticator
	fault FaultWriter
	log   *slog.Logger
}

// NewRouter makes the router of the service called name.
func NewRouter(name string, auth Authenticator, fault FaultWriter, log *slog.Logger) *Router {
	return &Router{name: name, mux: http.NewServeMux(), auth: auth, fault: fault, log: log.With("companion", name)}
}

// Public adds an endpoint that anybody may ask.
func (rt *Router) Public(pattern string, f Endpoint) {
	rt.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		rt.answer(w, r, f(w, r, nil))
	})
}

// Handle adds an endpoint for those who bring a valid token.
func (rt *Router) Handle(pattern string, f Endpoint) {
	rt.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		caller, err := rt.auth.Authenticate(r.Context(), r.Header.Get("X-Auth-Token"))
		if err == nil {
			err = f(w, r, caller)
		}
		rt.answer(w, r, err)
	})
}

// ServeHTTP implements http.Handler.
func (rt *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := "req-" + uuid.NewString()
	w.Header().Set("X-Openstack-Request-Id", id)
	r = r.WithContext(context.WithValue(r.Context(), requestID{}, id))
	if trimmed := strings.TrimRight(r.URL.Path, "/"); trimmed != "" && trimmed != r.URL.Path {
		u := *r.URL
		u.Path, u.RawPath = trimmed, strings.TrimRight(u.RawPath, "/")
		r.URL = &u
	}
	handler, pattern := rt.mux.Handler(r)
	if pattern != "" {
		rt.mux.ServeHTTP(w, r)
		return
	}
	// The mux knows whether it is the path or the method; its text isn't ours.
	refused := refusal{header: http.Header{}}
	handler.ServeHTTP(&refused, r)
	if allow := refused.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		rt.fault(w, r, Fail(http.StatusMethodNotAllowed, "The method is not allowed for this resource."))
		return
	}
	rt.fault(w, r, Fail(http.StatusNotFound, "The resource could not be found."))
}

func (rt *Router) answer(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		return
	}
	e := AsError(err)
	if e.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		rt.log.Error("request failed", "request", RequestID(r), "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Keystone uri="`+rt.auth.URL()+`"`)
	}
	rt.fault(w, r, e)
}

// refusal takes the mux's own answer.
type refusal struct{ header http.Header }

func (f *refusal) Header() http.Header         { return f.header }
func (f *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (f *refusal) WriteHeader(int)             {}

type requestID struct{}

// RequestID is the id that the answer's X-Openstack-Request-Id carries.
func RequestID(r *http.Request) string {
	id, _ := r.Context().Value(requestID{}).(string)
	return id
}

// maxBody bounds a JSON body.
const maxBody = 1 << 20

// Decode reads the JSON body of r into v, which says what is asked of it by
// its types. Anything else is a 400.
func Decode(r *http.Request, v any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return &Error{Status: http.StatusBadRequest, Message: "The request body could not be read.", Err: err}
	case len(body) > maxBody:
		return Fail(http.StatusRequestEntityTooLarge, "The request body is longer than %d bytes.", maxBody)
	}
	if !utf8.Valid(body) {
		return Fail(http.StatusBadRequest, "The request body is not valid UTF-8.")
	}
	err = json.Unmarshal(body, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return Fail(http.StatusBadRequest, "Invalid input for field '%s': a JSON %s is not allowed there.", wrong.Field, wrong.Value)
	}
	return Fail(http.StatusBadRequest, "The request body is not valid JSON: %v.", err)
}

// JSON answers with v.
func JSON(w http.ResponseWriter, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // nobody is left to tell
	return nil
}

// NoContent answers with 204.
func NoContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// BaseURL is scheme, host and port as the client wrote them, without a slash
// at the end.
func BaseURL(r *http.Request) string { return "http://" + r.Host }
