package numa

// Whether a guest fits on a host, and where.

import (
	"cmp"
	"slices"
)

// Limits are how often a cell's CPUs and memory may be promised to guests that
// share them (cpu_allocation_ratio, ram_allocation_ratio).
type Limits struct{ CPU, RAM float64 }

// Fit gives the guest's place on the host beside those that are there; nil if
// there is none. Each cell of the guest gets one of the host's for itself: those
// first that are wanted more, by cell, and then those with most left.
func Fit(host *Host, taken *Usage, r *Request, limits Limits, wanted map[int]int) *Placement {
	if host == nil || len(r.Cells) > len(host.Cells) {
		return nil
	}
	m := match{
		order:  order(host, taken, r, wanted),
		placed: make([][]*Placed, len(r.Cells)), guest: map[int]int{},
	}
	for i := range r.Cells {
		m.placed[i] = make([]*Placed, len(m.order))
		for j, cell := range m.order {
			m.placed[i][j] = place(cell, taken.of(cell.ID), r, i, limits)
		}
	}
	for i := range r.Cells {
		if !m.seat(i, map[int]bool{}) {
			return nil
		}
	}
	p := &Placement{Cells: make([]Placed, len(r.Cells)), EmulatorThreads: r.EmulatorThreads}
	for j, i := range m.guest {
		p.Cells[i] = *m.placed[i][j]
	}
	return p
}

// order puts the cells with most left first: dedicated CPUs for a guest that is
// pinned, shared ones for another, then memory.
func order(host *Host, taken *Usage, r *Request, wanted map[int]int) []*Cell {
	cells := make([]*Cell, len(host.Cells))
	for i := range cells {
		cells[i] = &host.Cells[i]
	}
	slices.SortStableFunc(cells, func(a, b *Cell) int {
		ofA, ofB := taken.of(a.ID), taken.of(b.ID)
		byCPUs := cmp.Compare(ofA.shared, ofB.shared)
		if r.Policy == Dedicated || r.Policy == Mixed {
			byCPUs = cmp.Compare(len(b.Dedicated)-len(ofB.pinned), len(a.Dedicated)-len(ofA.pinned))
		}
		return cmp.Or(cmp.Compare(wanted[b.ID], wanted[a.ID]), byCPUs, cmp.Compare(b.MemoryMB-ofB.memoryMB, a.MemoryMB-ofA.memoryMB))
	})
	return cells
}

// match seats the guest's cells: a bipartite matching by augmenting paths.
type match struct {
	order []*Cell
	// placed says how a cell of the guest lies on one of the host's; nil, it doesn't.
	placed [][]*Placed
	// guest is the guest's cell by the place of the host's in order.
	guest map[int]int
}

// seat finds a cell for the guest's i-th: the first that is free, or else one whose
// guest can be moved to another.
func (m *match) seat(i int, tried map[int]bool) bool {
	for _, mayMove := range []bool{false, true} {
		for j := range m.order {
			other, occupied := m.guest[j]
			if m.placed[i][j] == nil || tried[j] || occupied && !mayMove {
				continue
			}
			tried[j] = true
			if !occupied || m.seat(other, tried) {
				m.guest[j] = i
				return true
			}
		}
	}
	return false
}

// place puts the guest's i-th cell on a cell of the host; nil if it doesn't fit.
func place(cell *Cell, taken *usage, r *Request, i int, limits Limits) *Placed {
	want := &r.Cells[i]
	p := &Placed{Host: cell.ID, CPUs: want.Shared.Or(want.Dedicated), MemoryMB: want.MemoryMB}
	pinned := r.Policy == Dedicated || r.Policy == Mixed
	if !p.takesMemory(cell, taken, want, !pinned) {
		return nil
	}
	if pinned {
		reserve := 0
		if r.EmulatorThreads == EmulatorIsolated && i == 0 {
			reserve = 1
		}
		if p.Pinned, p.Emulator = pack(cell, taken.pinned, want.Dedicated, r.ThreadPolicy, reserve); p.Pinned == nil && len(want.Dedicated)+reserve > 0 {
			return nil
		}
	}
	if r.EmulatorThreads == EmulatorShared {
		p.Floating = slices.Clone(cell.Shared)
	}
	if r.Policy == Dedicated {
		return p
	}
	if len(want.Shared) > len(cell.Shared) ||
		float64(taken.shared+len(want.Shared)) > float64(len(cell.Shared))*limits.CPU ||
		float64(taken.memoryMB+want.MemoryMB) > float64(cell.MemoryMB)*limits.RAM {
		return nil
	}
	if len(want.Shared) > 0 {
		p.Floating = slices.Clone(cell.Shared)
	}
	return p
}

// takesMemory says whether the cell has the memory in pages of the wanted size, and
// sets which that is. A guest that asks for no size and is not pinned may have
// more than is left, but no more than there is.
func (p *Placed) takesMemory(cell *Cell, taken *usage, want *Wanted, overcommits bool) bool {
	needKB, smallest := p.MemoryMB<<10, cell.smallest()
	switch {
	case want.PageKB == 0 && smallest == 0 && overcommits:
		return p.MemoryMB <= cell.MemoryMB
	case want.PageKB == 0 && smallest == 0:
		return p.MemoryMB <= cell.MemoryMB-taken.memoryMB
	case want.PageKB == 0:
		pages := cell.pages(smallest)
		return needKB%smallest == 0 && (overcommits && needKB <= pages.Total*smallest || needKB <= pages.freeKB(cell, taken))
	}
	sizes := slices.SortedFunc(slices.Values(cell.Pages), func(a, b Pages) int { return cmp.Compare(b.SizeKB, a.SizeKB) })
	for _, pages := range sizes {
		if pages.isMeant(want.PageKB, smallest) && needKB%pages.SizeKB == 0 && needKB <= pages.freeKB(cell, taken) {
			p.PageKB, p.Huge = pages.SizeKB, pages.SizeKB != smallest
			return true
		}
	}
	return false
}

func (c *Cell) pages(sizeKB int64) Pages {
	i := slices.IndexFunc(c.Pages, func(p Pages) bool { return p.SizeKB == sizeKB })
	if i < 0 {
		return Pages{SizeKB: sizeKB}
	}
	return c.Pages[i]
}

// isMeant says whether pages of this size are what a request asks for.
func (p Pages) isMeant(asked, smallest int64) bool {
	switch asked {
	case PageAny:
		return true
	case PageSmall:
		return p.SizeKB == smallest
	case PageLarge:
		return p.SizeKB != smallest
	}
	return p.SizeKB == asked
}

// freeKB is how much memory there is in pages that nobody has.
func (p Pages) freeKB(cell *Cell, taken *usage) int64 {
	free := (p.Total - p.Reserved - taken.pages[p.SizeKB]) * p.SizeKB
	if p.SizeKB == cell.smallest() {
		free -= taken.unsizedKB
	}
	return free
}
