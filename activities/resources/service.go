package resources

// Services, asked in the name of a stack's owner.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/openstack"
)

// Cloud gives clients of services, by their types in the catalog, that act for
// the owner of a stack: by a trust, or without one in the owner's project. Errors:
// Unavailable, of the code openstack.CodeNoEndpoint if the catalog has no such service;
// Unauthorized.
type Cloud interface {
	Client(ctx context.Context, projectID, trustID, service string) (*gophercloud.ServiceClient, error)
}

// service is one service as a call asks it.
type service struct {
	client *gophercloud.ServiceClient
}

// open gives the service of a type, at a microversion if there is one. Errors: those of
// Cloud, but Invalid if there is no such service, which no other attempt finds.
func open(ctx context.Context, cloud Cloud, c *Call, typ, microversion string) (*service, error) {
	if cloud == nil {
		return nil, faults.New(faults.Unavailable, "NoCloud", "there is no cloud to make resources in")
	}
	client, err := cloud.Client(ctx, c.ProjectID, c.TrustID, typ)
	if unlisted(err) {
		return nil, faults.Wrap(err, faults.Invalid, openstack.CodeNoEndpoint, "%s", faults.As(err).Message)
	}
	if err != nil {
		return nil, err
	}
	client.Microversion = microversion
	return &service{client}, nil
}

// unlisted says that the catalog has no such service.
func unlisted(err error) bool { return err != nil && faults.As(err).Code == openstack.CodeNoEndpoint }

// maxAnswer is how long an answer may be.
const maxAnswer = 16 << 20

// do sends a request and reads the answer; nil is one without a body. Errors:
// NotFound, Conflict, Forbidden and Invalid in the service's words; Invalid, the
// answer is too long; Unavailable, which is worth another attempt.
func (s *service) do(ctx context.Context, method, path string, body any) (any, error) {
	options := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 201, 202, 203, 204}, MoreHeaders: map[string]string{}}
	if body != nil {
		options.RawBody = bytes.NewReader([]byte(value.JSON(body, false)))
		options.MoreHeaders["Content-Type"] = "application/json"
		if method == http.MethodPatch && strings.HasPrefix(path, "images/") {
			options.MoreHeaders["Content-Type"] = "application/openstack-images-v2.1-json-patch"
		}
	}
	answer, err := s.client.Request(ctx, method, s.client.ServiceURL(path), options)
	if err != nil {
		return nil, refusal(err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "the answer of %s %s can't be read", method, path)
	}
	switch {
	case len(text) > maxAnswer:
		return nil, faults.New(faults.Invalid, "AnswerTooLong", "the answer of %s %s is longer than %d bytes", method, path, maxAnswer)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	}
	v, err := value.ParseJSON(string(text))
	switch {
	case err == nil:
		return v, nil
	case strings.Contains(answer.Header.Get("Content-Type"), "json"):
		return nil, faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "the answer of %s %s can't be read", method, path)
	}
	return nil, nil // a text for people
}

// get reads what is at a path: of the answer what is under a key, if there is one.
func (s *service) get(ctx context.Context, path, key string) (any, error) {
	v, err := s.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return under(v, key), nil
}

func under(v any, key string) any {
	if key == "" {
		return v
	}
	m, _ := v.(*value.Map)
	inner, _ := m.Get(key)
	return inner
}

// list reads a list.
func (s *service) list(ctx context.Context, path, key string) ([]*value.Map, error) {
	v, err := s.get(ctx, path, key)
	if err != nil {
		return nil, err
	}
	items, _ := v.([]any)
	var all []*value.Map
	for _, item := range items {
		m, ok := item.(*value.Map)
		if inner, _ := m.Get(strings.TrimSuffix(key, "s")); ok && m.Len() == 1 && inner != nil {
			m, ok = inner.(*value.Map) // Nova wraps its key pairs
		}
		if ok {
			all = append(all, m)
		}
	}
	return all, nil
}

// statusOf is the status of a refusal; 0 is none.
func statusOf(err error) int {
	var refused gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &refused) {
		return refused.Actual
	}
	return 0
}

// refusals are the classes of errors of the original's clients by their status.
var refusals = map[int]struct {
	kind faults.Kind
	code string
}{
	http.StatusBadRequest:            {faults.Invalid, "BadRequest"},
	http.StatusUnauthorized:          {faults.Unauthorized, "Unauthorized"},
	http.StatusForbidden:             {faults.Forbidden, "Forbidden"},
	http.StatusNotFound:              {faults.NotFound, "NotFound"},
	http.StatusConflict:              {faults.Conflict, "Conflict"},
	http.StatusRequestEntityTooLarge: {faults.OverLimit, "OverLimit"},
	http.StatusTooManyRequests:       {faults.Unavailable, "RateLimit"},
	http.StatusRequestTimeout:        {faults.Unavailable, "RequestTimeout"},
}

// refusal is what a service has said against a request.
func refusal(err error) error {
	status := statusOf(err)
	if status == 0 {
		var typed *faults.Error
		if errors.As(err, &typed) {
			return err
		}
		return faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "the service can't be reached")
	}
	var refused gophercloud.ErrUnexpectedResponseCode
	errors.As(err, &refused)
	text := said(refused.Body)
	if text == "" {
		text = http.StatusText(status)
	}
	if r, ok := refusals[status]; ok {
		return faults.Wrap(err, r.kind, r.code, "%s (HTTP %d)", text, status)
	}
	if status >= http.StatusInternalServerError {
		return faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "%s (HTTP %d)", text, status)
	}
	return faults.Wrap(err, faults.Invalid, "ClientException", "%s (HTTP %d)", text, status)
}

// maxSaid is how much of a service's words is told.
const maxSaid = 1000

// said is the message of a fault: under any name, the first "message" there is.
func said(body []byte) string {
	v, err := value.ParseJSON(string(body))
	if err != nil {
		return ""
	}
	var find func(v any, depth int) string
	find = func(v any, depth int) string {
		m, ok := v.(*value.Map)
		if !ok || depth > 2 {
			return ""
		}
		if text, _ := m.Get("message"); text != nil {
			return value.Str(text)
		}
		for i := range m.Len() {
			_, inner := m.At(i)
			if text := find(inner, depth+1); text != "" {
				return text
			}
		}
		return ""
	}
	return value.Clip(find(v, 0), maxSaid)
}
