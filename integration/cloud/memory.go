package cloud

// What a process takes.

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Memory is a process's resident memory, in bytes (VmRSS of proc(5)), and what of it
// is its own (RssAnon): the rest are pages of the program's file, which its processes
// share and the kernel takes back.
func (c *Cloud) Memory(name Name) (all, own int64) {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid(name)))
	if err != nil {
		c.t.Fatal(err)
	}
	read := func(field string) (kib int64) {
		_, rest, _ := strings.Cut(string(status), field+":")
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			c.t.Fatalf("memory of %s: %v", name, err)
		}
		return kib << 10
	}
	return read("VmRSS"), read("RssAnon")
}

// clockTick is the unit of times in /proc (USER_HZ, which is fixed on Linux).
const clockTick = 10 * time.Millisecond

// Processor is the processor time that a process and its children have had: of
// PostgreSQL, all its sessions'.
func (c *Cloud) Processor(name Name) (sum time.Duration) {
	c.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		c.t.Fatal(err)
	}
	pid := c.pid(name)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		own, rest, _ := strings.Cut(string(text), " ")
		// The command's name stands in parentheses, and may hold anything.
		fields := strings.Fields(rest[strings.LastIndex(rest, ")")+1:])
		if parent := fields[1]; own != strconv.Itoa(pid) && parent != strconv.Itoa(pid) {
			continue
		}
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				c.t.Fatalf("%s: %v", file, err)
			}
			sum += time.Duration(ticks) * clockTick
		}
	}
	return sum
}

func (c *Cloud) pid(name Name) int {
	postgres, temporal := c.pair.Pids()
	switch name {
	case Postgres:
		return postgres
	case Temporal:
		return temporal
	}
	return c.processes[name].State().Pid
}
