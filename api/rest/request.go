package rest

// What a handler is given and what it gives back.

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/telemetry"
)

// Request is a request that is authenticated, routed and read.
type Request struct {
	// ID is the request's own, "req-<uuid>".
	ID string
	// Identity says who asks.
	Identity Identity
	// Version is the negotiated microversion; zero for services without.
	Version microversion.Version
	// Query has the parameters that the operation's schema knows, or all if it
	// has none.
	Query  url.Values
	Header http.Header

	ctx     context.Context
	params  map[string]string
	written map[string]string // params as they were written
	query   []pair            // Query in the order it was sent
	body    []byte
	value   any // body, parsed
	parsed  bool
	root    string // scheme, host and mount
	service *Service
}

func newRequest(r *http.Request, e *exchange, service *Service) *Request {
	return &Request{
		ID:      telemetry.From(r.Context()).Request,
		Header:  r.Header,
		ctx:     r.Context(),
		root:    e.root,
		service: service,
	}
}

// Context ends when the client goes or the request's time is up.
func (r *Request) Context() context.Context { return r.ctx }

// Param is the value of a {name} in the operation's path.
func (r *Request) Param(name string) string { return r.params[name] }

// Written is Param with what the path had at its end when it was written.
func (r *Request) Written(name string) string { return r.written[name] }

// Has says whether the request's microversion is at least 2.minor.
func (r *Request) Has(minor int) bool {
	return !r.Version.Less(microversion.V(2, minor))
}

// At says whether the request's microversion is at least v.
func (r *Request) At(v microversion.Version) bool { return !r.Version.Less(v) }

// Parameters are the query's names in the order they were sent.
func (r *Request) Parameters() []string {
	names := make([]string, len(r.query))
	for i, q := range r.query {
		names[i] = q.name
	}
	return names
}

// Link is the URL of a path below the service's prefix.
func (r *Request) Link(parts ...string) string {
	return r.root + r.service.Prefix + "/" + strings.Join(parts, "/")
}

// Bookmark is Link without the version, as "bookmark" links have it.
func (r *Request) Bookmark(parts ...string) string {
	return r.root + "/" + strings.Join(parts, "/")
}

// Response is a handler's answer.
type Response struct {
	// Status is the operation's Success if 0.
	Status int
	// Body is sent as JSON, a Collection item by item and a Text as it is; nil sends
	// none.
	Body any
	// ContentType is application/json if empty.
	ContentType string
	Header      http.Header
}

// JSON is a Response with a body.
func JSON(body any) *Response { return &Response{Body: body} }

// WithHeader adds a header to the answer.
func (r *Response) WithHeader(name, value string) *Response {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Add(name, value)
	return r
}
