// Package original runs openstack-heat 27.0.1 from PyPI, API and engine, beside a
// cloud of a test: with tables of its own in the cloud's PostgreSQL, and with the
// users of the cloud's identity service, so that the same token asks both.
//
//	c := cloud.Start(t, cloud.Options{Hosts: 1, Services: true})
//	heat := original.Start(t, c)
//	... heat.URL + "/v1/" + c.Project() + "/stacks"
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

// Heat is one that runs.
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
	root, err := repotest.Root()
	if err != nil {
		t.Fatal(err)
	}
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	folder, admin := t.TempDir(), c.Administrator()
	h := &Heat{URL: fmt.Sprintf("http://127.0.0.1:%d", port), LogFile: filepath.Join(folder, "heat.log")}
	h.process = &supervise.Process{
		Name: "heat", Args: []string{filepath.Join(root, "integration", "heat", "original", "serve.sh"), folder, fmt.Sprint(port)},
		Env: []string{"HEAT_DATABASE=" + c.Database("heat"), "OS_AUTH_URL=" + admin.AuthURL, "OS_USERNAME=" + admin.User,
			"OS_PASSWORD=" + admin.Password, "OS_PROJECT_NAME=" + admin.Project, "OS_REGION_NAME=" + admin.Region},
		LogFile: h.LogFile, Ready: launch.Answers(h.URL + "/healthcheck"), ReadyTimeout: 10 * time.Minute,
	}
	t.Cleanup(func() {
		if err := h.process.Kill(); err != nil {
			t.Error(err)
		}
	})
	if err := h.process.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// Pid is its process's.
func (h *Heat) Pid() int { return h.process.State().Pid }
