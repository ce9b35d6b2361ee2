package main

// docker-compose.yml, held against the binary that it runs.

import (
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/config"
	"holdfast.dev/internal/telemetry"
)

type composeService struct {
	Image       string            `yaml:"image"`
	Build       string            `yaml:"build"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	DependsOn   any               `yaml:"depends_on"`
	Healthcheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

type compose struct {
	Services map[string]composeService `yaml:"services"`
	Volumes  map[string]any            `yaml:"volumes"`
}

func readCompose(t *testing.T) compose {
	t.Helper()
	text, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c compose
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// ours are the services that run the binary, by name.
func (c compose) ours() map[string]composeService {
	found := map[string]composeService{}
	for name, s := range c.Services {
		if s.Image == "holdfast" {
			found[name] = s
		}
	}
	return found
}

func TestComposeHasTheHouse(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for _, name := range []string{"postgres", "temporal", "temporal-ui", "keystone", "migrate", "api", "control", "conductor", "host"} {
		if _, ok := c.Services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
	for name, s := range c.Services {
		if s.Build != "" {
			if _, err := os.Stat(filepath.Join(s.Build, "Dockerfile")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, needed := range dependencies(s.DependsOn) {
			if _, ok := c.Services[needed]; !ok {
				t.Errorf("%s depends on %s, which isn't there", name, needed)
			}
		}
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[volume]; !ok {
				t.Errorf("%s mounts the volume %s, which isn't declared", name, volume)
			}
		}
	}
}

func dependencies(of any) (names []string) {
	switch of := of.(type) {
	case map[string]any:
		for name := range of {
			names = append(names, name)
		}
	case []any:
		for _, name := range of {
			names = append(names, fmt.Sprint(name))
		}
	}
	return names
}

// Every command is one of the binary, with flags that it has.
func TestComposeCommandsAreTheBinarys(t *testing.T) {
	t.Parallel()
	for name, s := range readCompose(t).ours() {
		cmd, rest, err := newRoot().Find(s.Command)
		if err != nil || !cmd.Runnable() {
			t.Errorf("%s: %v is no command: %v", name, s.Command, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v: %v", name, s.Command, err)
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v: %v", name, s.Command, err)
		}
	}
}

// Every variable is a key of the configuration, ports are those that are
// listened on, and health is asked for where it is answered.
func TestComposeEnvironmentIsTheConfigurations(t *testing.T) {
	t.Parallel()
	for name, s := range readCompose(t).ours() {
		var environ []string
		for key, value := range s.Environment {
			environ = append(environ, key+"="+value)
		}
		cfg, err := config.Load("", environ)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		health := map[string]string{"api": cfg.Telemetry.APIListen, "control": cfg.Telemetry.ControlListen,
			"conductor": cfg.Telemetry.ConductorListen, "host": cfg.Telemetry.HostListen}[name]
		listens := []string{health}
		if name == "api" {
			listens = append(listens, cfg.API.Listen)
		}
		for _, p := range s.Ports {
			inside := p[strings.LastIndex(p, ":")+1:]
			if !slices.ContainsFunc(listens, func(address string) bool { return address == net.JoinHostPort("0.0.0.0", inside) }) {
				t.Errorf("%s publishes port %s, and listens on %v", name, inside, listens)
			}
		}
		if name == "migrate" {
			continue
		}
		asked, err := url.Parse(s.Healthcheck.Test[len(s.Healthcheck.Test)-1])
		if err != nil || net.JoinHostPort("0.0.0.0", asked.Port()) != health {
			t.Errorf("%s: health is asked for at %v, and answered at %s", name, asked, health)
			continue
		}
		answer := httptest.NewRecorder()
		telemetry.Handler(telemetry.NewRegistry(), telemetry.NewHealth(slog.New(slog.DiscardHandler))).
			ServeHTTP(answer, httptest.NewRequest("GET", asked.Path, nil))
		if answer.Code != 200 {
			t.Errorf("%s: %s is answered %d", name, asked.Path, answer.Code)
		}
	}
}

// Who talks to whom by name and port finds somebody there.
func TestComposeAddressesMeet(t *testing.T) {
	t.Parallel()
	ours := readCompose(t).ours()
	api, host := ours["api"].Environment, ours["host"].Environment
	_, link, _ := net.SplitHostPort(api["HOLDFAST_HOSTLINK_LISTEN"])
	if want := "http://api:" + link; host["HOLDFAST_HOSTLINK_URL"] != want {
		t.Errorf("the host looks for the link at %s, it is at %s", host["HOLDFAST_HOSTLINK_URL"], want)
	}
	if a, b := api["HOLDFAST_HOSTLINK_KEY_FILE"], host["HOLDFAST_HOSTLINK_KEY_FILE"]; a != b || a == "" {
		t.Errorf("the link's key is %s and %s", a, b)
	}
	if reads := host["HOLDFAST_HOST_LINK_LISTEN"]; strings.HasPrefix(reads, "0.0.0.0") || strings.HasPrefix(reads, "127.") {
		t.Errorf("the API can't reach a host that listens on %s", reads)
	}
}

// The image is built with the Go that the module asks for, and runs the binary.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\ngo ")
	version, _, _ := strings.Cut(rest, "\n")
	if minor := strings.Join(strings.Split(version, ".")[:2], "."); !strings.Contains(string(text), "FROM golang:"+minor+"-") {
		t.Errorf("the Dockerfile doesn't build with Go %s", minor)
	}
	if !strings.Contains(string(text), `ENTRYPOINT ["holdfast"]`) {
		t.Error("the image doesn't run the binary")
	}
}
