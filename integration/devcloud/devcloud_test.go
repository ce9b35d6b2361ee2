// Package devcloud runs `holdfast dev` as its user does: start, make a server,
// interrupt, start again.
package devcloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

type description struct {
	Endpoints map[string]string
	Users     []struct{ Name, Token string }
}

// session is one run of the command.
type session struct {
	t       *testing.T
	cmd     *exec.Cmd
	errors  bytes.Buffer
	compute string
	token   string
}

func start(t *testing.T, binary, dir string) *session {
	t.Helper()
	s := &session{t: t}
	s.cmd = exec.Command(binary, "dev", "--dir", dir, "--free-ports", "--hosts", "2", "--json")
	s.cmd.Stderr = &s.errors
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var d description
	if err := json.NewDecoder(out).Decode(&d); err != nil {
		t.Fatalf("holdfast dev --json: %v\n%s", err, &s.errors)
	}
	s.compute = d.Endpoints["compute"]
	for _, u := range d.Users {
		if u.Name == "demo" {
			s.token = u.Token
		}
	}
	return s
}

// interrupt is Ctrl-C; the command ends without an error.
func (s *session) interrupt() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Fatalf("after an interrupt: %v\n%s", err, &s.errors)
	}
}

func (s *session) ask(method, path, body string, want int) map[string]any {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.compute+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", s.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		s.t.Fatalf("%s %s: %d %s %v; want %d", method, path, answer.StatusCode, text, err, want)
	}
	var out map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

func (s *session) awaitActive(id string) {
	s.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		server := s.ask(http.MethodGet, "/servers/"+id, "", http.StatusOK)["server"].(map[string]any)
		if server["status"] == "ACTIVE" {
			return
		}
		if server["status"] != "BUILD" || time.Now().After(deadline) {
			s.t.Fatalf("the server is %v", server)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

const create = `{"server": {"name": "%s", "flavorRef": "42", "imageRef": "00000000-0000-4000-8000-000000000001"}}`

func TestDevelopmentCloud(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "holdfast")
	if out, err := exec.Command("go", "build", "-o", binary, "holdfast.dev").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Not t.TempDir: PostgreSQL's account has to pass through.
	base, err := os.MkdirTemp("", "holdfast-dev-")
	if err == nil {
		err = os.Chmod(base, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(base, "cloud")

	first := start(t, binary, dir)
	old := first.ask(http.MethodPost, "/servers", fmt.Sprintf(create, "old"), http.StatusAccepted)["server"].(map[string]any)["id"].(string)
	first.awaitActive(old)
	young := first.ask(http.MethodPost, "/servers", fmt.Sprintf(create, "young"), http.StatusAccepted)["server"].(map[string]any)["id"].(string)
	first.interrupt()

	second := start(t, binary, dir)
	second.awaitActive(old)   // the same data
	second.awaitActive(young) // and what was in flight
	second.ask(http.MethodDelete, "/servers/"+old, "", http.StatusNoContent)
	second.interrupt()
}
