package rest

// The body: read within its limit, parsed once, handed on as what was checked.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"unicode/utf8"

	"holdfast.dev/internal/pyjson"
)

// errMalformedBody is the original's answer to what isn't JSON.
var errMalformedBody = NewFault(http.StatusBadRequest, "Malformed request body")

// withBody are the methods whose bodies count; others' are not looked at.
var withBody = []string{http.MethodPost, http.MethodPut, http.MethodPatch}

// contentTypes are the media types taken as JSON; no type at all is another.
var contentTypes = []string{"", "text/plain", "application/json", "application/vnd.openstack.compute+json"}

// readBody takes what the limit allows; bodied says that it counts whatever the method is.
func (r *Request) readBody(from *http.Request, bodied bool) error {
	bodyless := !bodied && !slices.Contains(withBody, from.Method)
	if !r.service.AnyType && !isJSON(from.Header.Get("Content-Type")) && !(bodyless && r.service.BodylessTypes) {
		return NewFault(http.StatusUnsupportedMediaType, "Unsupported Content-Type")
	}
	if bodyless {
		return nil
	}
	var err error
	r.body, err = io.ReadAll(from.Body)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return &bareFault{http.StatusRequestEntityTooLarge}
	case err != nil:
		return NewFault(http.StatusBadRequest, "The request's body ended before its time.")
	}
	return nil
}

func isJSON(contentType string) bool {
	media := ""
	if contentType != "" {
		var err error
		if media, _, err = mime.ParseMediaType(contentType); err != nil {
			return false
		}
	}
	return slices.Contains(contentTypes, media)
}

// parseBody parses what was read; no body is Python's None. A body with a key
// twice is replaced by what it means, so that nobody reads another value of it.
func (r *Request) parseBody() error {
	if len(r.body) == 0 || r.parsed {
		return nil
	}
	value, repeated, err := pyjson.Parse(r.body)
	if err != nil {
		return errMalformedBody
	}
	if r.service.Finite && !pyjson.Finite(value) {
		return NewFault(http.StatusBadRequest, "A number in the request body is out of range")
	}
	if repeated {
		if r.body, err = json.Marshal(value); err != nil {
			return errMalformedBody
		}
	}
	r.value, r.parsed = value, true
	return nil
}

// action is the one key of an action's body. Errors as the original's: 400 for
// what has not exactly one key, 404 for what has no keys at all.
func (r *Request) action() (string, error) {
	if len(r.body) == 0 {
		return "", errMalformedBody
	}
	if err := r.parseBody(); err != nil {
		return "", err
	}
	switch v := r.value.(type) {
	case *pyjson.Object:
		if v.Len() == 1 {
			return v.Keys()[0], nil
		}
		return "", errMalformedBody
	case []any:
		if len(v) != 1 {
			return "", errMalformedBody
		}
	case string:
		if utf8.RuneCountInString(v) != 1 {
			return "", errMalformedBody
		}
	}
	return "", errNotFound
}

// Body is the parsed body: nil, bool, string, *big.Int, float64, []any or
// *pyjson.Object, as the operation's schema let it pass.
func (r *Request) Body() any { return r.value }

// Object reads the body as one JSON object, its values still raw.
func (r *Request) Object() (map[string]json.RawMessage, error) {
	if _, ok := r.value.(*pyjson.Object); !ok {
		return nil, errMalformedBody
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(r.body, &object); err != nil {
		return nil, errMalformedBody
	}
	return object, nil
}

// Decode reads the body into a Go value, after the operation's schema has
// checked it: 400 if it doesn't fit all the same.
func (r *Request) Decode(into any) error {
	if err := json.Unmarshal(r.body, into); err != nil {
		return fmt.Errorf("%w: %w", errMalformedBody, err)
	}
	return nil
}
