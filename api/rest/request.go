package rest

// What a handler is given and what it gives back.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"holdfast.dev/internal/microversion"
)

// Request is a request that is authenticated, routed and read.
type Request struct {
	// ID is the request's own, "req-<uuid>".
	ID string
	// Identity says who asks.
	Identity Identity
	// Version is the negotiated microversion; zero for services without.
	Version microversion.Version
	Query   url.Values
	Header  http.Header

	ctx     context.Context
	params  map[string]string
	body    []byte
	root    string // scheme://host
	service *Service
}

// Context ends when the client goes or the request's time is up.
func (r *Request) Context() context.Context { return r.ctx }

// Param is the value of a {name} in the operation's path.
func (r *Request) Param(name string) string { return r.params[name] }

// Has says whether the request's microversion is at least 2.minor.
func (r *Request) Has(minor int) bool {
	return !r.Version.Less(microversion.V(2, minor))
}

// Link is the URL of a path below the service's prefix.
func (r *Request) Link(parts ...string) string {
	return r.root + r.service.Prefix + "/" + strings.Join(parts, "/")
}

// Bookmark is Link without the version, as "bookmark" links have it.
func (r *Request) Bookmark(parts ...string) string {
	return r.root + "/" + strings.Join(parts, "/")
}

// errMalformedBody is the original's answer to what isn't one JSON object.
var errMalformedBody = NewFault(http.StatusBadRequest, "Malformed request body")

// Object reads the body as one JSON object, its values still raw.
func (r *Request) Object() (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	var object map[string]json.RawMessage
	if err := decoder.Decode(&object); err != nil || object == nil {
		return nil, errMalformedBody
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errMalformedBody
	}
	return object, nil
}

// action is the one key of an action's body.
func (r *Request) action() (string, error) {
	object, err := r.Object()
	if err != nil || len(object) != 1 {
		return "", errMalformedBody
	}
	for key := range object {
		return key, nil
	}
	return "", errMalformedBody
}

// Response is a handler's answer.
type Response struct {
	// Status is the operation's Success if 0.
	Status int
	// Body is sent as JSON; nil sends none.
	Body   any
	Header http.Header
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
