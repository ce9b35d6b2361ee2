package ports_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"holdfast.dev/dev/ports"
)

const helperKey = "PORTS_TEST_HELPER"

// No port is given twice, not to another process either that begins at the same.
func TestFree(t *testing.T) {
	given := map[int]bool{}
	for range 100 {
		port, err := ports.Free()
		if err != nil || given[port] {
			t.Fatalf("port %d: %v, given before: %t", port, err, given[port])
		}
		given[port] = true
	}
	if os.Getenv(helperKey) != "" {
		for port := range given {
			_, _ = os.Stdout.WriteString(strconv.Itoa(port) + "\n")
		}
		return
	}
	// Together they ask for more than a block, and some of them meet.
	for range 3 {
		cmd := exec.Command("/proc/self/exe", "-test.run", "^TestFree$")
		cmd.Env = append(os.Environ(), helperKey+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if port, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && given[port] {
				t.Errorf("port %d is given to two processes", port)
			}
		}
	}
}
