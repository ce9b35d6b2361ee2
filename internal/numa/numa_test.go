package numa

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSetsOfCPUs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, err string }{
		{"0-3,^2,8", "0-1,3,8", ""},
		{" 4 , 6-7 ,", "4,6-7", ""},
		{"^1", "", ""},
		{"", "", ""},
		{"3-1", "", "Invalid range expression '3-1'"},
		{"a", "", "Invalid inclusion expression 'a'"},
		{"^a", "", "Invalid exclusion expression '^a'"},
		{"0-99999999", "", "Invalid range expression '0-99999999'"},
	} {
		got, err := ParseCPUs(c.text)
		if text := fmt.Sprint(err); got.String() != c.want || err != nil && text != c.err || (err == nil) != (c.err == "") {
			t.Errorf("%q: %s, %v; want %s, %s", c.text, got, err, c.want, c.err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := ReadSettings("0-1", "2-7", []string{"node:1,size:2048,count:3", "node:0,size:1GB,count:1"})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Apply(&Host{Cells: []Cell{
		{ID: 0, Shared: CPUs{0, 1, 2, 3}, Siblings: []CPUs{{0, 1}, {2, 3}}, Pages: []Pages{{SizeKB: 4, Total: 9}, {SizeKB: 1 << 20, Total: 2}}},
		{ID: 1, Shared: CPUs{4, 5, 8, 9}, Siblings: []CPUs{{4, 8}, {5, 9}}, Pages: []Pages{{SizeKB: 2048, Total: 9}}},
	}})
	const want = `&{[{0 0 0-1 2-3 0 [0-1 2-3] [{4 9 0} {1048576 2 1}]} {1 0  4-5 0 [4 5] [{2048 9 3}]}]}`
	if got := fmt.Sprint(h); got != want || h.SharedCPUs() != 2 {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, wrong := range [][3]string{{"0-1", "1", ""}, {"x", "", ""}, {"", "9-8", ""}, {"", "", "node:0"}, {"", "", "node:0,size:1,count:-1"},
		{"", "", "node:0,size:1,number:1"}, {"", "", "node:0,node:1,count:1"}} {
		if _, err := ReadSettings(wrong[0], wrong[1], []string{wrong[2]}[:min(1, len(wrong[2]))]); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}

// machine is a host of so many cells, each of eight CPUs, of which two are shared,
// that are threads threads of a core, 4 GiB in pages of 4 KiB and 4 in 2 MiB.
func machine(cells, threads int) *Host {
	h := &Host{}
	for i := range cells {
		c := Cell{ID: i, MemoryMB: 8192, Pages: []Pages{{SizeKB: 4, Total: 1 << 20}, {SizeKB: 2048, Total: 2048, Reserved: 48}}}
		for cpu := 8 * i; cpu < 8*i+8; cpu++ {
			if cpu%8 < 2 {
				c.Shared = append(c.Shared, cpu)
			} else {
				c.Dedicated = append(c.Dedicated, cpu)
			}
			if cpu%threads == 0 {
				c.Siblings = append(c.Siblings, nil)
			}
			c.Siblings[len(c.Siblings)-1] = append(c.Siblings[len(c.Siblings)-1], cpu)
		}
		h.Cells = append(h.Cells, c)
	}
	return h
}

var twice = Limits{CPU: 2, RAM: 1.5}

func TestFits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		specs   map[string]string
		vcpus   int
		memory  int64
		threads int
		want    string
	}{
		"threads of one core": {map[string]string{"hw:cpu_policy": "dedicated"}, 2, 512, 2, "[{0 0-1 map[0:2 1:3]   512 0 false}]"},
		"only with threads":   {map[string]string{"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "require"}, 2, 512, 1, ""},
		"only without":        {map[string]string{"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"}, 2, 512, 2, ""},
		"isolated":            {map[string]string{"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"}, 2, 512, 1, "[{0 0-1 map[0:2 1:3]   512 0 false}]"},
		"with an emulator's":  {map[string]string{"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"}, 2, 512, 2, "[{0 0-1 map[0:2 1:3]  4 512 0 false}]"},
		"all but an emulator": {map[string]string{"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"}, 6, 512, 2, ""},
		"with the others'":    {map[string]string{"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "share"}, 2, 512, 2, "[{0 0-1 map[0:2 1:3] 0-1  512 0 false}]"},
		"mixed":               {map[string]string{"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"}, 3, 512, 2, "[{0 0-2 map[1:2 2:3] 0-1  512 0 false}]"},
		"two cells":           {map[string]string{"hw:numa_nodes": "2"}, 4, 512, 2, "[{0 0-1 map[] 0-1  256 0 false} {1 2-3 map[] 8-9  256 0 false}]"},
		"three cells":         {map[string]string{"hw:numa_nodes": "3"}, 3, 600, 2, ""},
		"large pages":         {map[string]string{"hw:mem_page_size": "large"}, 1, 1024, 2, "[{0 0 map[] 0-1  1024 2048 true}]"},
		"more than there are": {map[string]string{"hw:mem_page_size": "large"}, 1, 4096, 2, ""},
		"small pages":         {map[string]string{"hw:mem_page_size": "small"}, 1, 4096, 2, "[{0 0 map[] 0-1  4096 4 false}]"},
		"any":                 {map[string]string{"hw:mem_page_size": "any"}, 1, 4096, 2, "[{0 0 map[] 0-1  4096 4 false}]"},
		"of another size":     {map[string]string{"hw:mem_page_size": "1GB"}, 1, 1024, 2, ""},
		"of its own size":     {map[string]string{"hw:mem_page_size": "2MB"}, 1, 1024, 2, "[{0 0 map[] 0-1  1024 2048 true}]"},
		"not quite pages":     {map[string]string{"hw:mem_page_size": "2MB"}, 1, 1023, 2, ""},
		"described": {map[string]string{"hw:numa_nodes": "2", "hw:numa_cpus.0": "1", "hw:numa_cpus.1": "0,2", "hw:numa_mem.0": "100", "hw:numa_mem.1": "500"}, 3, 600, 2,
			"[{0 1 map[] 0-1  100 0 false} {1 0,2 map[] 8-9  500 0 false}]"},
		"pinned beyond a cell": {map[string]string{"hw:cpu_policy": "dedicated"}, 7, 512, 2, ""},
	} {
		r, err := Read(c.specs, nil, c.vcpus, c.memory)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if p := Fit(machine(2, c.threads), nil, r, twice, nil); p != nil {
			got = fmt.Sprint(p.Cells)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A cell that only one of the host's can take gets it, though another of the guest
// has been seated there.
func TestCellsAreMatched(t *testing.T) {
	t.Parallel()
	h := machine(2, 1)
	h.Cells[1].Dedicated = h.Cells[1].Dedicated[:2]
	r, err := Read(map[string]string{"hw:cpu_policy": "dedicated", "hw:numa_nodes": "2", "hw:numa_cpus.0": "0", "hw:numa_cpus.1": "1-5",
		"hw:numa_mem.0": "256", "hw:numa_mem.1": "256"}, nil, 6, 512)
	if err != nil {
		t.Fatal(err)
	}
	if p := Fit(h, nil, r, twice, nil); p == nil || p.Cells[0].Host != 1 || p.Cells[1].Host != 0 {
		t.Errorf("%+v", p)
	}
}

// guest draws what a flavor may ask for.
func guest(t *rapid.T) *Request {
	may := map[string][]string{
		"hw:cpu_policy": {"", "shared", "dedicated", "mixed"}, "hw:cpu_thread_policy": {"", "prefer", "require", "isolate"},
		"hw:numa_nodes": {"", "1", "2"}, "hw:mem_page_size": {"", "small", "large", "any", "2048"}, "hw:emulator_threads_policy": {"", "isolate", "share"},
		"hw:cpu_dedicated_mask": {"", "0", "^0"},
	}
	specs := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(may)) { // in one order, so that what fails can be drawn again
		if value := rapid.SampledFrom(may[name]).Draw(t, name); value != "" {
			specs[name] = value
		}
	}
	r, err := Read(specs, nil, rapid.IntRange(1, 6).Draw(t, "vcpus"), 2*rapid.Int64Range(1, 2048).Draw(t, "memory"))
	if err != nil {
		return nil
	}
	return r
}

// Guests placed one after the other, some of which go again: no CPU is pinned
// twice, no cell gives more pages or promises more than it has, and each guest
// gets what it asked for.
func TestNothingIsGivenTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := machine(rapid.IntRange(1, 3).Draw(t, "cells"), rapid.SampledFrom([]int{1, 2}).Draw(t, "threads"))
		var there []*Placement
		for range rapid.IntRange(1, 20).Draw(t, "guests") {
			r := guest(t)
			if r == nil {
				continue
			}
			if p := Fit(h, sum(there), r, twice, nil); p != nil {
				meets(t, p, r)
				there = append(there, p)
			}
			if len(there) > 0 && rapid.Bool().Draw(t, "goes") {
				there = slices.Delete(there, 0, 1)
			}
			holds(t, h, there)
		}
	})
}

func sum(all []*Placement) *Usage {
	u := &Usage{}
	for _, p := range all {
		u.Add(p)
	}
	return u
}

func holds(t *rapid.T, h *Host, there []*Placement) {
	owners := map[int]int{}
	for _, p := range there {
		for _, cpu := range p.Taken() {
			owners[cpu]++
		}
	}
	for _, c := range h.Cells {
		u := sum(there).of(c.ID)
		for _, cpu := range c.Dedicated {
			if owners[cpu] > 1 {
				t.Fatalf("CPU %d has %d owners", cpu, owners[cpu])
			}
			delete(owners, cpu)
		}
		for _, p := range c.Pages {
			if u.pages[p.SizeKB] > p.Total-p.Reserved {
				t.Fatalf("cell %d gives %d pages of %d KiB, of %d", c.ID, u.pages[p.SizeKB], p.SizeKB, p.Total-p.Reserved)
			}
		}
		if float64(u.shared) > float64(len(c.Shared))*twice.CPU {
			t.Fatalf("%d CPUs float on %d", u.shared, len(c.Shared))
		}
	}
	if len(owners) > 0 {
		t.Fatalf("pinned to what is not dedicated: %v", owners)
	}
}

func meets(t *rapid.T, p *Placement, r *Request) {
	cells := map[int]bool{}
	for i, c := range p.Cells {
		cells[c.Host] = true
		if pinned := slices.Sorted(maps.Keys(c.Pinned)); !slices.Equal(pinned, r.Cells[i].Dedicated) {
			t.Fatalf("pinned %v, asked %v", pinned, r.Cells[i].Dedicated)
		}
		if c.MemoryMB != r.Cells[i].MemoryMB || (r.Cells[i].PageKB != 0) != (c.PageKB != 0) {
			t.Fatalf("%+v for %+v", c, r.Cells[i])
		}
		if r.ThreadPolicy == Require && len(c.Pinned) == 2 {
			if first, second := c.Pinned[c.CPUs[0]], c.Pinned[c.CPUs[1]]; r.Policy == Dedicated && first/2 != second/2 {
				t.Fatalf("threads %d and %d are of two cores", first, second)
			}
		}
	}
	if len(cells) != len(r.Cells) || (r.EmulatorThreads == EmulatorIsolated) != (len(p.Cells[0].Emulator) == 1) {
		t.Fatalf("%+v for %+v", p, r)
	}
}
