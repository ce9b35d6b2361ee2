package baremetal

// The real client.

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/shell"
	"holdfast.dev/integration/venv"
)

// Client is the openstack command of an administrator, in one process.
type Client struct {
	t     testing.TB
	login []string
	shell *shell.Shell
}

// Start starts one for the bare metal service of a cloud.
func Start(t testing.TB, c *cloud.Cloud) *Client {
	t.Helper()
	login := []string{"--os-auth-type", "admin_token", "--os-endpoint", c.URL() + "/baremetal", "--os-token", cloud.AdminToken}
	return &Client{t, login, shell.Start(t, venv.Program(t, "clients", "python"), append(os.Environ(), "HOME="+t.TempDir()))}
}

// For is the same client for a part of a test.
func (o *Client) For(t testing.TB) *Client {
	part := *o
	part.t = t
	return &part
}

// Ask runs a command, whatever becomes of it.
func (o *Client) Ask(args ...string) shell.Said {
	o.t.Helper()
	return o.shell.Ask(o.t, slices.Concat(o.login, []string{"baremetal"}, args)...)
}

// Does runs a command that must succeed; into gets its JSON, if that isn't nil.
func (o *Client) Does(into any, args ...string) {
	o.t.Helper()
	if into != nil {
		args = append(args, "-f", "json")
	}
	s := o.Ask(args...)
	if s.Code != 0 {
		o.t.Fatalf("%v: %d: %s%s", args, s.Code, s.Out, s.Err)
	}
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero() // decoding adds to what is there
		if err := json.Unmarshal([]byte(s.Out), into); err != nil {
			o.t.Fatalf("%v: %v: %s", args, err, s.Out)
		}
	}
}

// Refused runs a command that must fail with a text.
func (o *Client) Refused(text string, args ...string) {
	o.t.Helper()
	if s := o.Ask(args...); s.Code == 0 || !strings.Contains(s.Err+s.Out, text) {
		o.t.Errorf("%v: %d, not %q: %s%s", args, s.Code, text, s.Out, s.Err)
	}
}
