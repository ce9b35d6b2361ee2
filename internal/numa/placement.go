package numa

// Where a guest lies, and what all guests of a host take.

import "slices"

// Placement is where the cells of a guest lie on its host's.
type Placement struct {
	Cells           []Placed        `json:"cells"`
	EmulatorThreads EmulatorThreads `json:"emulator_threads,omitempty"`
}

// Placed is a cell of a guest on one of its host's.
type Placed struct {
	// Host is the host's cell.
	Host int `json:"host"`
	// CPUs are the guest's; Pinned says of some of them to which CPU of the host.
	CPUs   CPUs        `json:"cpus"`
	Pinned map[int]int `json:"pinned,omitempty"`
	// Floating are the CPUs of the host on which the others run, and the emulator's
	// threads that are to share them.
	Floating CPUs `json:"floating,omitempty"`
	// Emulator is the CPU of the host that the emulator's threads have for
	// themselves; empty for none.
	Emulator CPUs  `json:"emulator,omitempty"`
	MemoryMB int64 `json:"memory_mb"`
	// PageKB is the size of its memory's pages; 0 if it asks for none.
	PageKB int64 `json:"page_kb,omitempty"`
	// Huge says that the host has smaller ones.
	Huge bool `json:"huge,omitempty"`
}

// On says whether the guest lies on a cell of the host.
func (p *Placement) On(cell int) bool {
	return slices.ContainsFunc(p.Cells, func(c Placed) bool { return c.Host == cell })
}

// Unplaced gives the cells of a guest that lies on none of a host's, numbered as its
// own; a nil request has none.
func (r *Request) Unplaced() *Placement {
	p := &Placement{}
	if r == nil {
		return p
	}
	p.EmulatorThreads = r.EmulatorThreads
	for i, c := range r.Cells {
		p.Cells = append(p.Cells, Placed{Host: i, CPUs: c.Shared.Or(c.Dedicated), MemoryMB: c.MemoryMB, PageKB: c.PageKB})
	}
	return p
}

// taken are the CPUs of the host that are this cell's alone.
func (p *Placed) taken() CPUs {
	cpus := slices.Clone(p.Emulator)
	for _, cpu := range p.Pinned {
		cpus = append(cpus, cpu)
	}
	slices.Sort(cpus)
	return cpus
}

// Taken are the CPUs of the host that are the guest's alone; a nil placement has
// none.
func (p *Placement) Taken() CPUs {
	if p == nil {
		return nil
	}
	var cpus CPUs
	for i := range p.Cells {
		cpus = cpus.Or(p.Cells[i].taken())
	}
	return cpus
}

// Pinned is how many of the guest's CPUs are pinned; a nil placement pins none.
func (p *Placement) Pinned() int {
	if p == nil {
		return 0
	}
	n := 0
	for i := range p.Cells {
		n += len(p.Cells[i].Pinned)
	}
	return n
}

// Usage is what guests take on a host's cells. The zero value is nothing.
type Usage struct{ cells map[int]*usage }

type usage struct {
	pinned   CPUs
	shared   int
	memoryMB int64
	// pages are those taken, by size; unsizedKB is memory of guests that ask for
	// no size, which comes from the smallest.
	pages     map[int64]int64
	unsizedKB int64
}

// of gives what is taken on a cell.
func (u *Usage) of(cell int) *usage {
	if u != nil && u.cells[cell] != nil {
		return u.cells[cell]
	}
	return &usage{}
}

// Add counts a guest.
func (u *Usage) Add(p *Placement) {
	if p == nil {
		return
	}
	if u.cells == nil {
		u.cells = map[int]*usage{}
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		if u.cells[c.Host] == nil {
			u.cells[c.Host] = &usage{pages: map[int64]int64{}}
		}
		of := u.cells[c.Host]
		of.pinned = of.pinned.Or(c.taken())
		of.shared += len(c.CPUs) - len(c.Pinned)
		of.memoryMB += c.MemoryMB
		if c.PageKB > 0 {
			of.pages[c.PageKB] += c.MemoryMB << 10 / c.PageKB
		} else {
			of.unsizedKB += c.MemoryMB << 10
		}
	}
}
