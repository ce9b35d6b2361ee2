package hostlink

// The host's side of what it says to the API.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
)

// clientTime bounds one request of a host.
const clientTime = 20 * time.Second

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 1 << 20

// NewTransport makes the connections that all clients of a process share.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.MaxIdleConnsPerHost = 8
	t.MaxConnsPerHost = 16
	t.ResponseHeaderTimeout = clientTime
	return t
}

// Client speaks for one host.
type Client struct {
	base, hostID string
	key          Key
	http         *http.Client
}

// HostID is the host that the client speaks for.
func (c *Client) HostID() string { return c.hostID }

// NewClient makes the client of one host; baseURL is where the API serves the
// host link, "http://127.0.0.1:8775".
func NewClient(baseURL, hostID string, key Key, transport http.RoundTripper) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("host link address %q is not http(s)://host:port", baseURL)
	}
	return &Client{base: strings.TrimSuffix(baseURL, "/"), hostID: hostID, key: key,
		http: &http.Client{Transport: transport, Timeout: clientTime, CheckRedirect: noRedirect}}, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Register says who the host is. Errors are those of Registry; the API out of
// reach is faults.Unavailable.
func (c *Client) Register(ctx context.Context, r Registration) (Answer, error) {
	return c.post(ctx, "register", r)
}

// Heartbeat says that the host is alive and what it has.
func (c *Client) Heartbeat(ctx context.Context, r Report) (Answer, error) {
	return c.post(ctx, "heartbeat", r)
}

// Paid reports a debt that has been paid.
func (c *Client) Paid(ctx context.Context, d Debt) error {
	_, err := c.post(ctx, "debts/"+url.PathEscape(d.OperationID)+"/"+strconv.Itoa(d.Seq)+"/paid", struct{}{})
	return err
}

// ImageSettled says that the host has an image that it was to have, or can't have it.
func (c *Client) ImageSettled(ctx context.Context, imageID string) error {
	_, err := c.post(ctx, "images/"+url.PathEscape(imageID)+"/settled", struct{}{})
	return err
}

// Leave says that the host is no more. Errors: Conflict, it has servers yet.
func (c *Client) Leave(ctx context.Context) error {
	_, err := c.post(ctx, "leave", struct{}{})
	return err
}

func (c *Client) post(ctx context.Context, what string, body any) (Answer, error) {
	var answer Answer
	data, err := json.Marshal(body)
	if err != nil {
		return answer, fmt.Errorf("host link: %w", err)
	}
	resp, err := c.do(ctx, http.MethodPost, "hosts/"+c.hostID+"/"+what, data)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	return answer, readJSON(resp.Body, maxAnswer, &answer)
}

// do makes one request under a fresh pass and gives the answer of a success.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+Prefix+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("host link: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+c.key.Issue(hostCaller(c.hostID), method, req.URL.EscapedPath()))
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "HostLink", "the API's host link can't be reached")
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, readFault(resp)
	}
	return resp, nil
}
