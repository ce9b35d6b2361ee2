// Package venv makes the Python virtual environments that tests run real
// clients and real services from. A list of packages, "clients.txt", makes the
// environment .venv/clients of the repository; venv.sh does it, and may be run
// by hand.
package venv

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Program is the path of a program of an environment: Program(t, "clients",
// "openstack"). The first call may take minutes, while pip installs.
func Program(t testing.TB, environment, program string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), script(t), environment)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	folder, err := command.Output()
	if err != nil {
		t.Fatalf("make the virtual environment %s: %v: %s", environment, err, &stderr)
	}
	return filepath.Join(strings.TrimSpace(string(folder)), "bin", program)
}

// script is venv.sh of the repository that the test is in.
func script(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	for ; err == nil && at != filepath.Dir(at); at = filepath.Dir(at) {
		path := filepath.Join(at, "integration", "venv", "venv.sh")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("venv.sh is in no folder above the test's: %v", err)
	return ""
}
