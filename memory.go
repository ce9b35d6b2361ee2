package main

// Memory: a control plane's processes stand beside guests, which need it more.

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// collectEarly halves what the heap may grow by between two collections, for a
// few per cent of CPU. GOGC in the environment has precedence.
func collectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// forgetStart lets go of the pages of the program that only its start has needed:
// half of its text and nearly all of its tables are read by initializers, and
// would count as in use from then on. What is needed again comes back from the
// page cache at its next use (MADV_DONTNEED of madvise(2), for files mapped
// without the right to write).
func forgetStart() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("the program's own mappings: %w", err)
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("the program's own mappings: %w", err)
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		from, to, ok := constant(lines.Text(), program)
		if !ok {
			continue
		}
		if _, _, failed := syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED); failed != 0 {
			return fmt.Errorf("let go of the program's pages: %w", failed)
		}
	}
	return nil
}

// constant reads a line of /proc/self/maps: where the program's file is mapped
// without the right to write.
func constant(line, program string) (from, to uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 6 || fields[5] != program || strings.Contains(fields[1], "w") {
		return 0, 0, false
	}
	first, last, _ := strings.Cut(fields[0], "-")
	begin, err := strconv.ParseUint(first, 16, 64)
	end, bad := strconv.ParseUint(last, 16, 64)
	return uintptr(begin), uintptr(end), err == nil && bad == nil && begin < end
}
