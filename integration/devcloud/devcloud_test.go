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

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { cloud.Main(m) }

type description struct {
	Endpoints map[string]string
	Clouds    string `json:"clouds_yaml"`
	Users     []struct{ Name, Project, Password string }
}

// session is one run of the command.
type session struct {
	t       *testing.T
	cmd     *exec.Cmd
	errors  bytes.Buffer
	clouds  string            // the file of clouds.yaml
	at      map[string]string // the endpoints, by name
	compute string
	tokens  map[string]string // by user
	image   string
	network string
}

// start runs the command until all is up; settings are added to its environment.
func start(t *testing.T, binary, dir string, settings ...string) *session {
	t.Helper()
	s := &session{t: t, tokens: map[string]string{}}
	s.cmd = exec.Command(binary, "dev", "--dir", dir, "--free-ports", "--driver", "simulated", "--hosts", "2", "--json")
	s.cmd.Env = append(os.Environ(), settings...)
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
	s.at, s.compute, s.clouds = d.Endpoints, d.Endpoints["compute"], d.Clouds
	for _, u := range d.Users {
		s.tokens[u.Name] = s.logIn(d.Endpoints["identity"], u.Name, u.Project, u.Password)
	}
	s.image = s.first(d.Endpoints["image"]+"/v2/images?name=holdfast-test", "images")
	s.network = s.first(d.Endpoints["network"]+"/v2.0/networks?name=private", "networks")
	return s
}

// logIn gets a token of a user for a project.
func (s *session) logIn(identity, name, project, password string) string {
	s.t.Helper()
	body := fmt.Sprintf(`{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": %q, "domain": {"id": "default"}, "password": %q}}},
		"scope": {"project": {"name": %q, "domain": {"id": "default"}}}}}`, name, password, project)
	answer, err := http.Post(identity+"/auth/tokens", "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		s.t.Fatalf("log in as %s: status %d", name, answer.StatusCode)
	}
	return answer.Header.Get("X-Subject-Token")
}

// first gives the id of the first, and only, entry of a list.
func (s *session) first(url, list string) string {
	s.t.Helper()
	entries, _ := s.ask(http.MethodGet, url, "", http.StatusOK)[list].([]any)
	if len(entries) != 1 {
		s.t.Fatalf("%s: %d entries, want 1", url, len(entries))
	}
	return entries[0].(map[string]any)["id"].(string)
}

// create makes a server from what the cloud was seeded with.
func (s *session) create(name string) (id string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"server": {"name": %q, "flavorRef": "42", "imageRef": %q, "networks": [{"uuid": %q}]}}`, name, s.image, s.network)
	server := s.ask(http.MethodPost, s.compute+"/servers", body, http.StatusAccepted)["server"].(map[string]any)
	return server["id"].(string)
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

// send asks as a user and gives the answer's status and text.
func (s *session) send(user, method, url, body string, header http.Header) (status int, text []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if header != nil {
		request.Header = header
	}
	request.Header.Set("X-Auth-Token", s.tokens[user])
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, text
}

func (s *session) ask(method, url, body string, want int) map[string]any {
	s.t.Helper()
	status, text := s.send("demo", method, url, body, nil)
	if status != want {
		s.t.Fatalf("%s %s: %d %s; want %d", method, url, status, text, want)
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
	deadline := time.Now().Add(cloud.Patience)
	for {
		server := s.ask(http.MethodGet, s.compute+"/servers/"+id, "", http.StatusOK)["server"].(map[string]any)
		if server["status"] == "ACTIVE" {
			return
		}
		if server["status"] != "BUILD" || time.Now().After(deadline) {
			s.t.Fatalf("the server is %v", server)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// place is the command, and a folder for its cloud.
func place(t *testing.T) (binary, dir string) {
	t.Helper()
	binary, err := cloud.Binary()
	if err != nil {
		t.Fatal(err)
	}
	return binary, filepath.Join(testenv.Folder(t), "cloud")
}

func TestDevelopmentCloud(t *testing.T) {
	t.Parallel()
	binary, dir := place(t)
	first := start(t, binary, dir)
	old := first.create("old")
	first.awaitActive(old)
	young := first.create("young")
	first.interrupt()

	second := start(t, binary, dir)
	second.awaitActive(old)   // the same data
	second.awaitActive(young) // and what was in flight
	migrated(second, old)
	cached(second, dir)
	second.ask(http.MethodDelete, second.compute+"/servers/"+old, "", http.StatusNoContent)
	signalled(second)
	second.interrupt()
}
