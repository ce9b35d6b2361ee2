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

func (c *Client) post(ctx context.Context, what string, body any) (Answer, error) {
	var answer Answer
	data, err := json.Marshal(body)
	if err != nil {
		return answer, fmt.Errorf("host link: %w", err)
	}
	path := Prefix + "hosts/" + c.hostID + "/" + what
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(data))
	if err != nil {
		return answer, fmt.Errorf("host link: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.key.Issue(hostCaller(c.hostID), http.MethodPost, req.URL.EscapedPath()))
	resp, err := c.http.Do(req)
	if err != nil {
		return answer, faults.Wrap(err, faults.Unavailable, "HostLink", "the API's host link can't be reached")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answer, readFault(resp)
	}
	return answer, readJSON(resp.Body, maxAnswer, &answer)
}
