// Package original runs openstack-heat 27.0.1 from PyPI, API and engine, beside a
// cloud of a test: with tables of its own in the cloud's PostgreSQL, and with the
// users of the cloud's identity service, so that the same token asks both.
//
//	c := cloud.Start(t, cloud.Options{Hosts: 1, Services: true})
//	heat := original.Start(t, c)
//	... heat.URL + "/v1/" + c.Project() + "/stacks"
//
// Start has both in one process, which is enough to see what it does; Deploy runs
// it as its operators do, to see how fast.
//
// The first start installs the packages, which may take minutes; later ones take
// half a minute. The tests that need it have the tag "real".
package original

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/ports"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/repotest"
)

// Heat is one that runs in one process.
type Heat struct {
	// URL is where its API is, without a slash at its end.
	URL string
	// LogFile is where it says what it does.
	LogFile string
	process *supervise.Process
}

// Start runs one until the test's end. The cloud must have its services
// (cloud.Options.Services).
func Start(t testing.TB, c *cloud.Cloud) *Heat {
	t.Helper()
	folder, port := t.TempDir(), free(t)
	h := &Heat{URL: fmt.Sprintf("http://127.0.0.1:%d", port), LogFile: filepath.Join(folder, "heat.log")}
	h.process = &supervise.Process{
		Name: "heat", Args: []string{program(t, "serve.sh"), folder, fmt.Sprint(port)}, Env: environment(c, c.Database("heat")),
		LogFile: h.LogFile, Ready: launch.Answers(h.URL + "/healthcheck"), ReadyTimeout: installing,
	}
	start(t, h.process)
	return h
}

// installing is how long a start may take that installs the packages.
const installing = 10 * time.Minute

// environment is what the scripts are told of the cloud.
func environment(c *cloud.Cloud, dsn string) []string {
	admin := c.Administrator()
	return []string{"HEAT_DATABASE=" + dsn, "OS_AUTH_URL=" + admin.AuthURL, "OS_USERNAME=" + admin.User,
		"OS_PASSWORD=" + admin.Password, "OS_PROJECT_NAME=" + admin.Project, "OS_REGION_NAME=" + admin.Region}
}

// start starts a process that runs until the test's end.
func start(t testing.TB, p *supervise.Process) {
	t.Helper()
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// program is the path of a script of this package.
func program(t testing.TB, name string) string {
	t.Helper()
	root, err := repotest.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "integration", "heat", "original", name)
}

// free is a port that nobody listens at.
func free(t testing.TB) int {
	t.Helper()
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Pid is its process's.
func (h *Heat) Pid() int { return h.process.State().Pid }
