package baremetal

// The real client.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/repotest"
)

// Client is the openstack command of an administrator, in one process.
type Client struct {
	t       testing.TB
	login   []string
	in      io.WriteCloser
	answers *bufio.Reader
}

// Said is what a command wrote, and its exit code.
type Said struct {
	Out, Err string
	Code     int
}

// Start starts one for the bare metal service of a cloud.
func Start(t testing.TB, c *cloud.Cloud) *Client {
	t.Helper()
	root, err := repotest.Root()
	if err != nil {
		t.Fatal(err)
	}
	o := &Client{t: t, login: []string{"--os-auth-type", "admin_token", "--os-endpoint", c.URL() + "/baremetal", "--os-token", cloud.AdminToken}}
	cmd := exec.Command(venv.Program(t, "clients", "python"), filepath.Join(root, "integration", "walk", "shell.py"))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		o.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	o.answers = bufio.NewReader(out)
	t.Cleanup(func() {
		if err := errors.Join(o.in.Close(), cmd.Wait()); err != nil {
			t.Errorf("the client: %v: %s", err, &errs)
		}
	})
	return o
}

// For is the same client for a part of a test.
func (o *Client) For(t testing.TB) *Client {
	part := *o
	part.t = t
	return &part
}

// Ask runs a command, whatever becomes of it.
func (o *Client) Ask(args ...string) (s Said) {
	o.t.Helper()
	line, err := json.Marshal(slices.Concat(o.login, []string{"baremetal"}, args))
	if err == nil {
		_, err = o.in.Write(append(line, '\n'))
	}
	var answer []byte
	if err == nil {
		answer, err = o.answers.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(answer, &s)
	}
	if err != nil {
		o.t.Fatalf("%v: %v", args, err)
	}
	return s
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
