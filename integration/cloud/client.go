package cloud

// The cloud as its user sees it.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// Server is what a user is shown of a server.
type Server struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Task   string `json:"OS-EXT-STS:task_state"`
	Power  int    `json:"OS-EXT-STS:power_state"`
	Fault  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"fault"`
}

// StatusError is an answer that is not the one hoped for.
type StatusError struct {
	Code int
	Body string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Code, e.Body) }

// URL is where the API is, without a slash at its end.
func (c *Cloud) URL() string { return c.url }

// Do sends a request as the user and decodes the answer into out, if that isn't
// nil. Errors: *StatusError for an answer other than want, or the transport's.
func (c *Cloud) Do(ctx context.Context, method, path string, in any, want int, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("X-Auth-Token", UserToken)
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != want {
		return &StatusError{answer.StatusCode, string(text)}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// Image is what servers are made from.
func (c *Cloud) Image() string { return c.image }

// Create asks for a server once and gives its id.
func (c *Cloud) Create(ctx context.Context, name string) (id string, err error) {
	return c.CreateOf(ctx, Flavor, name)
}

// CreateOf asks for one of a flavor.
func (c *Cloud) CreateOf(ctx context.Context, flavor, name string) (id string, err error) {
	var out struct{ Server Server }
	in := map[string]any{"server": map[string]any{"name": name, "imageRef": c.image, "flavorRef": flavor, "config_drive": flavor == MetalFlavor}}
	err = c.Do(ctx, http.MethodPost, "/v2.1/servers", in, http.StatusAccepted, &out)
	return out.Server.ID, err
}

// CreateSurely makes one server of the flavor and the name, whatever dies meanwhile: a
// request without an answer is only repeated when no server of the name is there.
func (c *Cloud) CreateSurely(ctx context.Context, flavor, name string) (id string, err error) {
	for {
		if id, err = c.CreateOf(ctx, flavor, name); err == nil {
			return id, nil
		}
		for {
			if ctx.Err() != nil {
				return "", err
			}
			made, listErr := c.Named(ctx, name)
			if listErr == nil && len(made) > 0 {
				return made[0].ID, nil
			}
			time.Sleep(100 * time.Millisecond)
			if listErr == nil {
				break
			}
		}
	}
}

// MustCreate makes a server and gives its id.
func (c *Cloud) MustCreate(name string) string {
	c.t.Helper()
	id, err := c.Create(c.t.Context(), name)
	if err != nil {
		c.t.Fatalf("create %s: %v", name, err)
	}
	return id
}

// Show shows a server.
func (c *Cloud) Show(ctx context.Context, id string) (Server, error) {
	var out struct{ Server Server }
	err := c.Do(ctx, http.MethodGet, "/v2.1/servers/"+id, nil, http.StatusOK, &out)
	return out.Server, err
}

// Named lists the servers of a name.
func (c *Cloud) Named(ctx context.Context, name string) ([]Server, error) {
	var out struct{ Servers []Server }
	query := url.Values{"name": {"^" + regexp.QuoteMeta(name) + "$"}}
	err := c.Do(ctx, http.MethodGet, "/v2.1/servers/detail?"+query.Encode(), nil, http.StatusOK, &out)
	return out.Servers, err
}

// Delete asks for a server's deletion once.
func (c *Cloud) Delete(ctx context.Context, id string) error {
	return c.Do(ctx, http.MethodDelete, "/v2.1/servers/"+id, nil, http.StatusNoContent, nil)
}

// Is says whether a server is in the status, with nothing in the way; the
// status "" is that it is gone.
func (c *Cloud) Is(ctx context.Context, id, status string) error {
	s, err := c.Show(ctx, id)
	if refused, ok := err.(*StatusError); ok && refused.Code == http.StatusNotFound && status == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("server %s: %w", id, err)
	}
	if s.Status != status || s.Task != "" {
		return fmt.Errorf("server %s (%s) is %s, task %q, fault %+v; want %q", id, s.Name, s.Status, s.Task, s.Fault, status)
	}
	return nil
}

// Ask sends a request just as it is given, with the token of a user or of an
// administrator or with none, and gives the answer and its body.
func (c *Cloud) Ask(ctx context.Context, token, method, path string, header http.Header, body []byte) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if token != "" {
		r.Header.Set("X-Auth-Token", token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}
