package agent

// The client of one ramdisk's API (contracts: agent-protocol.json).

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/netguard"
)

// client talks to one ramdisk.
type client struct {
	http  *http.Client
	at    string
	token string
}

// maxAnswer bounds what a ramdisk may say at once.
const maxAnswer = 4 << 20

// dial makes the client of the ramdisk at an address, which shows the certificate
// that it has told of. Without one, those that the machine trusts count.
func (a *Activities) dial(at, token, certificate string) (*client, error) {
	if at == "" {
		return nil, notHeard()
	}
	guard := netguard.Policy{Use: "agent", Schemes: []string{"https"}, MaxBody: maxAnswer, Timeout: callTime, HeaderTimeout: callTime,
		TLS: &tls.Config{MinVersion: tls.VersionTLS12}}.Within(a.Networks)
	if a.Plain {
		guard.Schemes = append(guard.Schemes, "http")
	}
	if certificate != "" {
		guard.TLS.MinVersion = tls.VersionTLS13
		guard.TLS.RootCAs = x509.NewCertPool()
		if !guard.TLS.RootCAs.AppendCertsFromPEM([]byte(certificate)) {
			return nil, faults.New(faults.Invalid, "AgentConnectionFailed", "Connection to agent failed: what it has told of is no certificate")
		}
	}
	return &client{http: guard.Client(), at: strings.TrimSuffix(at, "/") + "/v1/", token: token}, nil
}

// command is one of a ramdisk's list.
type command struct {
	ID     string          `json:"id"`
	Name   string          `json:"command_name"`
	Status string          `json:"command_status"`
	Error  json.RawMessage `json:"command_error"`
	Result json.RawMessage `json:"command_result"`
}

// What is of a command.
const (
	isRunning   = "RUNNING"
	hasDone     = "SUCCEEDED"
	hasFailed   = "FAILED"
	isOutdated  = "CLEAN_VERSION_MISMATCH"
	isOutdated2 = "VERSION_MISMATCH"
)

// boot names the ramdisk that answers: one that starts anew is another one.
func (c *client) boot(ctx context.Context) (string, error) {
	var status struct {
		StartedAt json.Number `json:"started_at"`
	}
	err := c.do(ctx, http.MethodGet, "status", nil, nil, &status)
	return status.StartedAt.String(), err
}

// commands are what the ramdisk was told, oldest first.
func (c *client) commands(ctx context.Context) ([]command, error) {
	var list struct{ Commands []command }
	err := c.do(ctx, http.MethodGet, "commands/", url.Values{"agent_token": {c.token}}, nil, &list)
	return list.Commands, err
}

// run tells the ramdisk something; wait has the answer wait for what becomes of it.
func (c *client) run(ctx context.Context, name string, params any, wait bool) (*command, error) {
	word := "false"
	if wait {
		word = "true"
	}
	done := &command{}
	err := c.do(ctx, http.MethodPost, "commands/", url.Values{"wait": {word}, "agent_token": {c.token}}, map[string]any{"name": name, "params": params}, done)
	return done, err
}

// busy is the code of the verdict on a ramdisk that is at work.
const busy = "AgentInProgress"

// do makes one request. Errors: Invalid, what is at the address isn't the ramdisk or
// refuses; Unavailable, also (code AgentInProgress) while it is at work.
func (c *client) do(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.at+path+"?"+query.Encode(), sent)
	if err != nil {
		return faults.Wrap(err, faults.Invalid, "AgentConnectionFailed", "Connection to agent failed: its address is none")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return unreached(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return unreached(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		return refused(resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return faults.Wrap(err, faults.Unavailable, "AgentAPIError", "Unable to decode response as JSON.")
	}
	return nil
}

// unreached words that there was no answer. The error of the client has the URL, and
// that the token: it goes no further than the worker's log, which is redacted.
func unreached(ctx context.Context, err error) error {
	var known *faults.Error
	var wrong *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &known):
		return faults.New(known.Kind, known.Code, "Connection to agent failed: %s", known.Message)
	case errors.As(err, &wrong):
		return faults.New(faults.Invalid, "AgentConnectionFailed", "Connection to agent failed: it shows another certificate than the one that it has told of")
	}
	return faults.New(faults.Unavailable, "AgentConnectionFailed", "Connection to agent failed: it could not be reached or did not answer in time")
}

// refused words an answer that isn't 200.
func refused(status int, text []byte) error {
	var said struct{ Faultstring string }
	if json.Unmarshal(text, &said) != nil || said.Faultstring == "" {
		said.Faultstring = "no reason was given"
	}
	why := bounded(said.Faultstring)
	switch {
	case status == http.StatusConflict || strings.Contains(strings.ToLower(why), "agent is busy"):
		return faults.New(faults.Unavailable, busy, "Agent is presently executing a command. Error %s", why)
	case status >= 500:
		return faults.New(faults.Unavailable, "AgentAPIError", "Agent API returned HTTP status code %d with error: %s", status, why)
	}
	return faults.New(faults.Invalid, "AgentAPIError", "Agent API returned HTTP status code %d with error: %s", status, why)
}

// maxMessage bounds what a ramdisk may have a user read.
const maxMessage = 500

func bounded(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return strings.ToValidUTF8(text, "?")
}
