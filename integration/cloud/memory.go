package cloud

// What a process takes.

import (
	"fmt"
	"os"
	"strings"
)

// Memory is a process's resident memory, in bytes (VmRSS of proc(5)).
func (c *Cloud) Memory(name Name) int64 {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.processes[name].State().Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		c.t.Fatalf("memory of %s: %v", name, err)
	}
	return kib << 10
}
