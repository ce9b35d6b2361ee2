package numa

// What a host has.

import (
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// Host is a host's cells.
type Host struct {
	Cells []Cell `json:"cells"`
}

// Cell is a NUMA cell of a host.
type Cell struct {
	ID     int `json:"id"`
	Socket int `json:"socket"`
	// Shared are the CPUs on which guests float, Dedicated those that one guest's
	// CPU each may be pinned to. No CPU is in both.
	Shared    CPUs  `json:"shared"`
	Dedicated CPUs  `json:"dedicated,omitempty"`
	MemoryMB  int64 `json:"memory_mb"`
	// Siblings are the sets of CPUs that are threads of one core.
	Siblings []CPUs `json:"siblings,omitempty"`
	// Pages are the sizes of pages that the cell's memory is cut into.
	Pages []Pages `json:"pages,omitempty"`
}

// Pages are a cell's pages of one size.
type Pages struct {
	SizeKB   int64 `json:"size_kb"`
	Total    int64 `json:"total"`
	Reserved int64 `json:"reserved,omitempty"`
}

// threads is how many threads a core of the cell has.
func (c *Cell) threads() int {
	most := 1
	for _, set := range c.Siblings {
		most = max(most, len(set))
	}
	return most
}

// smallest gives the size of the cell's smallest pages; 0 if its pages are not
// known.
func (c *Cell) smallest() int64 {
	size := int64(0)
	for _, p := range c.Pages {
		if size == 0 || p.SizeKB < size {
			size = p.SizeKB
		}
	}
	return size
}

// Settings are what an operator keeps a host's CPUs and pages for
// (cpu_shared_set, cpu_dedicated_set, reserved_huge_pages). Without either set
// of CPUs guests float on all.
type Settings struct {
	Shared, Dedicated CPUs
	Reserved          []Reserved
}

// Reserved are pages of a cell that no guest gets.
type Reserved struct {
	Cell          int
	SizeKB, Count int64
}

// ReadSettings reads the three settings. Errors: Invalid, one of them is no set of
// CPUs, a CPU is in both, or a reserve is not of the form node:0,size:2048,count:64.
func ReadSettings(shared, dedicated string, reserved []string) (Settings, error) {
	var s Settings
	var err error
	if s.Shared, err = ParseCPUs(shared); err != nil {
		return s, faults.Wrap(err, faults.Invalid, "InvalidConfiguration", "host.cpu_shared_set: %v", err)
	}
	if s.Dedicated, err = ParseCPUs(dedicated); err != nil {
		return s, faults.Wrap(err, faults.Invalid, "InvalidConfiguration", "host.cpu_dedicated_set: %v", err)
	}
	if both := s.Shared.And(s.Dedicated); len(both) > 0 {
		return s, faults.New(faults.Invalid, "InvalidConfiguration", "host.cpu_shared_set and host.cpu_dedicated_set have CPUs in common: %s", both)
	}
	for _, text := range reserved {
		r, err := readReserved(text)
		if err != nil {
			return s, err
		}
		s.Reserved = append(s.Reserved, r)
	}
	return s, nil
}

func readReserved(text string) (Reserved, error) {
	var r Reserved
	wrong := faults.New(faults.Invalid, "InvalidConfiguration", "host.reserved_huge_pages: %q is not of the form node:0,size:2048,count:64", text)
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), ":")
		size, err := pageSize(value)
		if name != "size" {
			size, err = strconv.ParseInt(value, 10, 64)
		}
		if err != nil || size < 0 || seen[name] {
			return r, wrong
		}
		seen[name] = true
		switch name {
		case "node":
			r.Cell = int(size)
		case "size":
			r.SizeKB = size
		case "count":
			r.Count = size
		default:
			return r, wrong
		}
	}
	if len(seen) != 3 {
		return r, wrong
	}
	return r, nil
}

// Apply gives the host as it is by the settings. Its cells' Shared are all of the
// CPUs that the machine has.
func (s Settings) Apply(h *Host) *Host {
	if h == nil {
		return nil
	}
	set := &Host{Cells: slices.Clone(h.Cells)}
	for i := range set.Cells {
		c := &set.Cells[i]
		all := c.Shared
		if len(s.Shared) > 0 || len(s.Dedicated) > 0 {
			c.Shared, c.Dedicated = all.And(s.Shared), all.And(s.Dedicated)
		}
		usable := c.Shared.Or(c.Dedicated)
		c.Siblings = nil
		for _, core := range h.Cells[i].Siblings {
			if left := core.And(usable); len(left) > 0 {
				c.Siblings = append(c.Siblings, left)
			}
		}
		c.Pages = slices.Clone(c.Pages)
		for j := range c.Pages {
			for _, r := range s.Reserved {
				if r.Cell == c.ID && r.SizeKB == c.Pages[j].SizeKB {
					c.Pages[j].Reserved = r.Count
				}
			}
		}
	}
	return set
}

// SharedCPUs is how many CPUs guests float on.
func (h *Host) SharedCPUs() int {
	n := 0
	for _, c := range h.Cells {
		n += len(c.Shared)
	}
	return n
}
