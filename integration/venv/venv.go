// Package venv makes the Python virtual environments that tests run real
// clients and real services from. A list of packages, "clients.txt", makes the
// environment .venv/clients of the repository; venv.sh does it, and may be run
// by hand.
package venv

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/internal/repotest"
)

// Program is the path of a program of an environment: Program(t, "clients",
// "openstack"). The first call may take minutes, while pip installs.
func Program(t testing.TB, environment, program string) string {
	t.Helper()
	root, err := repotest.Root()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), filepath.Join(root, "integration", "venv", "venv.sh"), environment)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	folder, err := command.Output()
	if err != nil {
		t.Fatalf("make the virtual environment %s: %v: %s", environment, err, &stderr)
	}
	return filepath.Join(strings.TrimSpace(string(folder)), "bin", program)
}
