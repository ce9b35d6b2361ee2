// Package shell has one process run many commands of the real command line client, which
// takes seconds to start.
package shell

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/internal/repotest"
)

// Shell is the openstack command, in one process (shell.py).
type Shell struct {
	in      io.WriteCloser
	answers *bufio.Reader
}

// Said is what a command wrote, and its exit code.
type Said struct {
	Out, Err string
	Code     int
}

// Start starts one until the test's end, by the Python of an environment that has the
// client.
func Start(t testing.TB, python string, env []string) *Shell {
	t.Helper()
	root, err := repotest.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, filepath.Join(root, "integration", "shell", "shell.py"))
	cmd.Env = env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	s := &Shell{}
	out, err := cmd.StdoutPipe()
	if err == nil {
		s.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.answers = bufio.NewReader(out)
	t.Cleanup(func() {
		if err := errors.Join(s.in.Close(), cmd.Wait()); err != nil {
			t.Errorf("the client: %v: %s", err, &errs)
		}
	})
	return s
}

// Ask runs a command, whatever becomes of it.
func (s *Shell) Ask(t testing.TB, args ...string) (said Said) {
	t.Helper()
	question, err := json.Marshal(args)
	if err == nil {
		_, err = s.in.Write(append(question, '\n'))
	}
	var answer []byte
	if err == nil {
		answer, err = s.answers.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(answer, &said)
	}
	if err != nil {
		t.Fatalf("openstack %s: %v", strings.Join(args, " "), err)
	}
	return said
}
