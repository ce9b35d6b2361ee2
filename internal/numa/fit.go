package numa

// Whether a guest fits on a host, and where.

import (
	"cmp"
	"slices"

	"holdfast.dev/internal/matching"
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
	cells := order(host, taken, r, wanted)
	placed, fits := make([][]*Placed, len(r.Cells)), make([][]int, len(r.Cells))
	for i := range r.Cells {
		placed[i] = make([]*Placed, len(cells))
		for j, cell := range cells {
			if placed[i][j] = place(cell, taken.of(cell.ID), r, i, limits); placed[i][j] != nil {
				fits[i] = append(fits[i], j)
			}
		}
	}
	seats, ok := matching.Seats(fits)
	if !ok {
		return nil
	}
	p := &Placement{Cells: make([]Placed, len(r.Cells)), EmulatorThreads: r.EmulatorThreads}
	for i, j := range seats {
		p.Cells[i] = *placed[i][j]
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
