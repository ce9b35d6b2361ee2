package ports

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// beginKey names the variable that says where the test's other process begins.
const beginKey = "PORTS_TEST_BEGIN"

// No port is given twice, not to another process either that begins at the same.
func TestFree(t *testing.T) {
	if at := os.Getenv(beginKey); at != "" {
		var err error
		if begin, err = strconv.Atoi(at); err != nil {
			t.Fatal(err)
		}
	}
	given := map[int]bool{}
	for range 100 {
		port, err := Free()
		if err != nil || given[port] {
			t.Fatalf("port %d: %v, given before: %t", port, err, given[port])
		}
		given[port] = true
	}
	if os.Getenv(beginKey) != "" {
		for port := range given {
			fmt.Println(port)
		}
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestFree$")
	cmd.Env = append(os.Environ(), beginKey+"="+strconv.Itoa(begin))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	others := 0
	for line := range strings.Lines(string(out)) {
		port, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			continue // go test's own
		}
		others++
		if given[port] {
			t.Errorf("port %d is given to two processes", port)
		}
	}
	if others != len(given) {
		t.Errorf("the other process was given %d ports:\n%s", others, out)
	}
}
