package walk

// The real client.

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/shell"
)

// client is the openstack command of one user at one microversion.
type client struct {
	t       *testing.T
	cloud   *cloud
	user    string
	version string
	shell   *shell.Shell // nil for a process for each command
}

// as gives the client of a user. The short way is one Python process for all
// its commands.
func (c *cloud) as(t *testing.T, user, version string) *client {
	t.Helper()
	if full {
		return &client{t: t, cloud: c, user: user, version: version}
	}
	return c.shell(t, user, version)
}

// shell gives the client of a user, one Python process for all its commands.
func (c *cloud) shell(t *testing.T, user, version string) *client {
	t.Helper()
	o := &client{t: t, cloud: c, user: user, version: version}
	o.shell = shell.Start(t, filepath.Join(os.Getenv(clientKey), "bin", "python"), o.environment())
	return o
}

func (o *client) environment() []string {
	return append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+o.cloud.Clouds, "OS_CLOUD="+o.user,
		"OS_COMPUTE_API_VERSION="+o.version, "COLUMNS=200", "HOME="+o.cloud.dir)
}

// command is a process of the client, for one command.
func (o *client) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(os.Getenv(clientKey), "bin", "openstack"), args...)
	cmd.Env = o.environment()
	return cmd
}

// file writes one that the client is to read.
func (o *client) file(name, text string) string {
	o.t.Helper()
	path := filepath.Join(o.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

// ask runs a command, whatever becomes of it.
func (o *client) ask(args ...string) shell.Said {
	o.t.Helper()
	if o.shell == nil {
		cmd := o.command(args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			o.t.Fatal(err)
		}
		return shell.Said{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
	}
	return o.shell.Ask(o.t, args...)
}

// run runs a command, which succeeds.
func (o *client) run(args ...string) string {
	o.t.Helper()
	s := o.ask(args...)
	if s.Code != 0 {
		o.t.Fatalf("openstack %s: exit code %d: %s", strings.Join(args, " "), s.Code, s.Err)
	}
	return s.Out
}

// refused runs a command, which fails and says why.
func (o *client) refused(why string, args ...string) {
	o.t.Helper()
	if s := o.ask(args...); s.Code == 0 || !strings.Contains(s.Err, why) {
		o.t.Errorf("openstack %s: exit code %d: %s%s; want a refusal with %q", strings.Join(args, " "), s.Code, s.Out, s.Err, why)
	}
}

func read[T any](o *client, args ...string) (into T) {
	o.t.Helper()
	text := o.run(append(slices.Clone(args), "-f", "json")...)
	if err := json.Unmarshal([]byte(text), &into); err != nil {
		o.t.Fatalf("openstack %s: %v: %s", strings.Join(args, " "), err, text)
	}
	return into
}

// show gives the fields of something.
func (o *client) show(args ...string) map[string]any {
	o.t.Helper()
	return read[map[string]any](o, args...)
}

// list gives the rows of a list.
func (o *client) list(args ...string) []map[string]any {
	o.t.Helper()
	return read[[]map[string]any](o, args...)
}

const (
	// patience is for a machine without KVM that does much else.
	patience = 5 * time.Minute
	// pause is between two looks: the client takes the guests' processor.
	pause = 2 * time.Second
)

// until waits until something is so.
func (o *client) until(what string, so func() bool) {
	o.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			o.t.Fatalf("it never came about that %s", what)
		}
	}
}

// becomes waits until a server has a status, and no task.
func (o *client) becomes(server, status string) {
	o.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		now := o.show("server", "show", server)
		if now["status"] == status && now["OS-EXT-STS:task_state"] == nil {
			return
		}
		if now["status"] == "ERROR" || time.Now().After(deadline) {
			o.t.Fatalf("server %s is %v, %v; want %s", server, now["status"], now["fault"], status)
		}
		time.Sleep(pause)
	}
}

// console waits until the guest has said the words, and gives all it said.
func (o *client) console(server, words string) string {
	o.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		log := strings.ReplaceAll(o.run("console", "log", "show", server), "\r", "")
		if strings.Contains(log, words) {
			return log
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("the guest of %s never said %q:\n%s", server, words, log)
		}
		time.Sleep(pause)
	}
}

// number is what a text says.
func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
