package numa

// Sets of CPUs.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// CPUs is a set of CPUs' numbers, in order and each once.
type CPUs []int

// MaxCPU bounds the numbers that a text may name and a guest on cells may have: more
// than any machine has.
const MaxCPU = 1 << 14

// ParseCPUs reads a set such as "0-3,^2,8". Errors: Invalid, with the original's
// text.
func ParseCPUs(text string) (CPUs, error) {
	with, without := map[int]bool{}, map[int]bool{}
	for rule := range strings.SplitSeq(text, ",") {
		rule = strings.TrimSpace(rule)
		if rule == "" {
			continue
		}
		one, excluded := strings.CutPrefix(rule, "^")
		into := with
		if excluded {
			into = without
		}
		first, last, isRange := strings.Cut(one, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(strings.TrimSpace(first))
		to, err2 := strconv.Atoi(strings.TrimSpace(last))
		if err != nil || err2 != nil || from < 0 || from > to || to > MaxCPU {
			return nil, faults.New(faults.Invalid, "Invalid", "Invalid %s expression %s", expression(isRange, excluded), "'"+rule+"'")
		}
		for cpu := from; cpu <= to; cpu++ {
			into[cpu] = true
		}
	}
	var cpus CPUs
	for cpu := range with {
		if !without[cpu] {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return cpus, nil
}

func expression(isRange, excluded bool) string {
	switch {
	case isRange:
		return "range"
	case excluded:
		return "exclusion"
	}
	return "inclusion"
}

// upTo are the CPUs from 0 to n-1.
func upTo(n int) CPUs {
	cpus := make(CPUs, n)
	for i := range cpus {
		cpus[i] = i
	}
	return cpus
}

// String writes the set as libvirt reads it: "0-3,8".
func (c CPUs) String() string {
	var parts []string
	for i := 0; i < len(c); {
		last := i
		for last+1 < len(c) && c[last+1] == c[last]+1 {
			last++
		}
		if part := strconv.Itoa(c[i]); last == i {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%d", part, c[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ",")
}

// Has says whether a CPU is in the set.
func (c CPUs) Has(cpu int) bool {
	_, found := slices.BinarySearch(c, cpu)
	return found
}

// And gives the CPUs that are in both.
func (c CPUs) And(other CPUs) CPUs {
	return slices.DeleteFunc(slices.Clone(c), func(cpu int) bool { return !other.Has(cpu) })
}

// Less gives those that are not in the other.
func (c CPUs) Less(other CPUs) CPUs {
	return slices.DeleteFunc(slices.Clone(c), other.Has)
}

// Or gives those that are in either.
func (c CPUs) Or(other CPUs) CPUs {
	all := slices.Concat(c, other)
	slices.Sort(all)
	return slices.Compact(all)
}
