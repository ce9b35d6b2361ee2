package orchestration

// Templates that requests name by URL, read from where that says.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/netguard"
	"holdfast.dev/internal/stacks"
)

const (
	// maxFetched is how many templates a request may name by URL.
	maxFetched = 32
	// maxFetching is how many are read at a time, for all requests.
	maxFetching = 64
	// maxRedirects is how often an answer may point elsewhere.
	maxRedirects = 10
)

// Templates reads templates by their URLs.
type Templates struct {
	client *http.Client
	// timeout bounds what one request waits for all of its templates.
	timeout time.Duration
	slots   chan struct{}
}

// schemes are those of URLs that users may name.
var schemes = []string{"http", "https"}

// NewTemplates reads from the networks that are named; without any, from all but the
// deployment's own: loopback, link local and private ones.
func NewTemplates(networks []netip.Prefix, timeout time.Duration) *Templates {
	guard := netguard.Policy{Use: "template", Schemes: schemes, Allow: networks, Redirects: maxRedirects, MaxBody: hot.MaxTemplate, Timeout: timeout, HeaderTimeout: timeout}
	if len(networks) == 0 {
		guard.Deny = netguard.Private
	}
	return &Templates{guard.Client(), timeout, make(chan struct{}, maxFetching)}
}

// fetcher reads what one request names.
func (a *API) fetcher(r *rest.Request) stacks.Fetcher {
	if a.Templates == nil {
		return nil
	}
	until, left := time.Now().Add(a.Templates.timeout), maxFetched
	return func(at string) (string, error) {
		if left == 0 {
			return "", unfetched("A request names no more than %d templates by URL", maxFetched)
		}
		left--
		ctx, cancel := context.WithDeadline(r.Context(), until)
		defer cancel()
		return a.Templates.fetch(ctx, at)
	}
}

// unfetched says why a template could not be read.
func unfetched(format string, args ...any) error {
	return faults.New(faults.Invalid, "URLFetchError", format, args...)
}

// fetch reads one. Its errors are the original's, but that it says what is not allowed.
func (t *Templates) fetch(ctx context.Context, at string) (string, error) {
	failed := "Failed to retrieve template from " + value.Clip(at, maxShown)
	parsed, err := url.Parse(at)
	switch {
	case err != nil:
		return "", unfetched("%s", failed)
	case !slices.Contains(schemes, parsed.Scheme):
		return "", unfetched("Invalid URL scheme %s", value.Clip(parsed.Scheme, maxShown))
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return "", unfetched("%s", failed)
	}
	text, err := t.read(ctx, at)
	switch {
	case faults.Is(err, faults.OverLimit):
		return "", unfetched("Template exceeds maximum allowed size (%d bytes)", hot.MaxTemplate)
	case faults.Is(err, faults.Forbidden):
		return "", unfetched("%s: its address, or what that leads to, is not allowed", failed)
	case err != nil:
		return "", unfetched("%s", failed)
	}
	return text, nil
}

func (t *Templates) read(ctx context.Context, at string) (text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	answer, err := t.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode >= http.StatusBadRequest {
		return "", fmt.Errorf("status %d", answer.StatusCode)
	}
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}
