// Package matching seats guests so that each has a seat of its own. Pure.
package matching

// Seats gives each guest one of the seats that will do for it, which are listed by
// guest, the best first; false if not all can have one. A guest has the best that
// is free when its turn comes, unless another can only be seated if it moves.
func Seats(wanted [][]int) ([]int, bool) {
	m := match{wanted: wanted, guest: map[int]int{}}
	for i := range wanted {
		if !m.seat(i, map[int]bool{}) {
			return nil, false
		}
	}
	seats := make([]int, len(wanted))
	for seat, i := range m.guest {
		seats[i] = seat
	}
	return seats, true
}

// Most is how many of the guests can have a seat at once.
func Most(wanted [][]int) int {
	m := match{wanted: wanted, guest: map[int]int{}}
	for i := range wanted {
		m.seat(i, map[int]bool{})
	}
	return len(m.guest)
}

// match is a bipartite matching by augmenting paths.
type match struct {
	wanted [][]int
	// guest is the one on a seat.
	guest map[int]int
}

// seat finds a seat for the i-th guest: the first that is free, or else one whose
// guest can be moved to another.
func (m *match) seat(i int, tried map[int]bool) bool {
	for _, seat := range m.wanted[i] {
		if _, occupied := m.guest[seat]; !occupied {
			m.guest[seat] = i
			return true
		}
	}
	for _, seat := range m.wanted[i] {
		if tried[seat] {
			continue
		}
		tried[seat] = true
		if m.seat(m.guest[seat], tried) {
			m.guest[seat] = i
			return true
		}
	}
	return false
}
