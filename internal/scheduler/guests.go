package scheduler

// What kinds of guest a host runs.

import (
	"slices"
	"strconv"
	"strings"
)

// runsGuest: the host runs guests of the architecture, hypervisor and mode that
// the image names, and its hypervisor has the version that the image asks for.
func runsGuest(r *Request) func(*Host) bool {
	wanted := Guest{
		Architecture: canonical(architectures, r.Image["hw_architecture"]),
		Hypervisor:   canonical(hypervisors, r.Image["img_hv_type"]),
		Mode:         canonical(modes, r.Image["hw_vm_mode"]),
	}
	version := r.Image["img_hv_requested_version"]
	if wanted == (Guest{}) && version == "" {
		return nil
	}
	return func(h *Host) bool {
		if wanted != (Guest{}) && !slices.ContainsFunc(h.Guests, wanted.isRunAs) {
			return false
		}
		return version == "" || h.HypervisorVersion == 0 || versionHolds(version, h.HypervisorVersion)
	}
}

// isRunAs compares what is named; what is empty may be anything.
func (g Guest) isRunAs(kind Guest) bool {
	agrees := func(want, have string) bool { return want == "" || want == have }
	return agrees(g.Architecture, kind.Architecture) && agrees(g.Hypervisor, kind.Hypervisor) && agrees(g.Mode, kind.Mode)
}

// Other names of the same thing (contracts: image-properties.json).
var (
	architectures = map[string]string{"x86_32": "i686", "i386": "i686", "i486": "i686", "i586": "i686", "amd64": "x86_64"}
	hypervisors   = map[string]string{"xapi": "xen"}
	modes         = map[string]string{"pv": "xen", "hv": "hvm", "baremetal": "hvm"}
)

func canonical(aliases map[string]string, name string) string {
	name = strings.ToLower(name)
	if other, ok := aliases[name]; ok {
		return other
	}
	return name
}

// versionHolds checks conditions such as ">=6.0,<8" on a version of the form
// major*1000000 + minor*1000 + micro. What can't be read doesn't hold.
func versionHolds(conditions string, version int) bool {
	for c := range strings.SplitSeq(conditions, ",") {
		c = strings.TrimSpace(c)
		operator := c[:len(c)-len(strings.TrimLeft(c, "<>=!"))]
		wanted, ok := versionNumber(strings.TrimSpace(c[len(operator):]))
		compare := comparisons[operator]
		if !ok || compare == nil || !compare(version, wanted) {
			return false
		}
	}
	return true
}

var comparisons = map[string]func(a, b int) bool{
	"<":  func(a, b int) bool { return a < b },
	"<=": func(a, b int) bool { return a <= b },
	"==": func(a, b int) bool { return a == b },
	">":  func(a, b int) bool { return a > b },
	">=": func(a, b int) bool { return a >= b },
	"!=": func(a, b int) bool { return a != b },
}

func versionNumber(text string) (int, bool) {
	parts := strings.Split(text, ".")
	if len(parts) > 3 {
		return 0, false
	}
	number := 0
	for i := range 3 {
		n := 0
		if i < len(parts) {
			var err error
			if n, err = strconv.Atoi(parts[i]); err != nil || n < 0 || n > 999 {
				return 0, false
			}
		}
		number = number*1000 + n
	}
	return number, true
}
