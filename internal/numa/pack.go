package numa

// Which CPUs of a cell a guest is pinned to.

import "slices"

// pack chooses CPUs for those of the guest, by its policy for the threads of a
// core, and reserve more for the emulator. Nil if there are not enough.
//
// Cores with most threads free come first, and from each the same number of
// threads is taken, so that the guest's threads are threads of one core. Where
// that leaves too few and they needn't be, any will do.
func pack(cell *Cell, taken, want CPUs, policy ThreadPolicy, reserve int) (pinned map[int]int, emulator CPUs) {
	free := cell.Dedicated.Less(taken)
	threads := cell.threads()
	if len(want)+reserve > len(free) || policy == Isolate && threads > 1 || policy == Require && threads == 1 {
		return nil, nil
	}
	var cores []CPUs
	known := CPUs{}
	for _, core := range cell.Siblings {
		known = known.Or(core)
		if left := core.And(free); len(left) > 0 {
			cores = append(cores, left)
		}
	}
	for _, alone := range free.Less(known) {
		cores = append(cores, CPUs{alone})
	}
	for n := threads; n >= 1; n-- {
		if n == 1 && policy == Require {
			return nil, nil
		}
		if chosen := take(cores, n, len(want)); chosen != nil {
			return pins(want, chosen), rest(free, chosen, reserve)
		}
	}
	return pins(want, free), rest(free, free[:len(want)], reserve)
}

// take gives count CPUs, n of each core that has as many; nil if there are not
// enough of those.
func take(cores []CPUs, n, count int) CPUs {
	chosen := CPUs{}
	for _, core := range cores {
		if len(core) >= n {
			chosen = append(chosen, core[:n]...)
		}
	}
	if len(chosen) < count {
		return nil
	}
	return chosen[:count]
}

func pins(want, chosen CPUs) map[int]int {
	pinned := map[int]int{}
	for i, cpu := range want {
		pinned[cpu] = chosen[i]
	}
	return pinned
}

func rest(free, chosen CPUs, reserve int) CPUs {
	used := slices.Clone(chosen)
	slices.Sort(used)
	return slices.Clone(free.Less(used)[:reserve])
}
