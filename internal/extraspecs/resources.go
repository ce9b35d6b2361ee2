package extraspecs

// Resources: what a flavor asks of resource classes besides, or instead of, what it
// says itself of CPUs, memory and disk.

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// Resources sums what extra specs ask of each class in all groups, resources:VCPU and
// resources1:VCPU. faults.Invalid for what is no amount, or with the others of its
// class more than any is.
func Resources(specs map[string]string) (map[string]int64, error) {
	asked := map[string]int64{}
	for key, value := range specs {
		space, class, _ := strings.Cut(key, ":")
		if !strings.HasPrefix(space, "resources") || class == "" {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64-asked[class] {
			return nil, faults.New(faults.Invalid, "InvalidExtraSpec", "extra spec %s: %q is no amount of a resource", key, value)
		}
		asked[class] += n
	}
	return asked, nil
}

// Others leaves of what is asked the classes besides CPUs, memory and disk, of which a
// host has only what it says. Nothing of a class is not asked for.
func Others(asked map[string]int64) map[string]int64 {
	others := maps.Clone(asked)
	maps.DeleteFunc(others, func(class string, n int64) bool {
		return n == 0 || slices.Contains([]string{"VCPU", "PCPU", "MEMORY_MB", "DISK_GB"}, class)
	})
	return others
}
