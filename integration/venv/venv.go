// Package venv makes the Python virtual environments that tests run real
// clients and real services from. A list of packages, "clients.txt", makes the
// environment .venv/clients of the repository; venv.sh does it, and may be run
// by hand.
package venv

import (
	"bytes"
	"fmt"
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
	folder, err := Make(environment)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "bin", program)
}

// Make makes an environment, or finds it made, and gives its folder.
func Make(environment string) (string, error) {
	root, err := repotest.Root()
	if err != nil {
		return "", err
	}
	command := exec.Command(filepath.Join(root, "integration", "venv", "venv.sh"), environment)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	folder, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("make the virtual environment %s: %w: %s", environment, err, &stderr)
	}
	return strings.TrimSpace(string(folder)), nil
}
