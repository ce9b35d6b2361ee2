// Test of the command: its servers serve, its exit code is the other
// command's, nothing is left.

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "file")
	t.Setenv("OUT", out)
	code, err := run([]string{"sh", "-c", `printf %s "$HOLDFAST_TEST_SERVICES" >"$OUT"; test -s "$HOLDFAST_TEST_SERVICES" && exit 7`})
	if code != 7 || err != nil {
		t.Fatalf("status %d, %v, want 7", code, err)
	}
	file, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(string(file))); !os.IsNotExist(err) {
		t.Errorf("the services' folder is left: %v", err)
	}
	if out, err := exec.Command("pgrep", "-f", filepath.Dir(string(file))).Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
}
