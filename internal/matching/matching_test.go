package matching

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSeats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted [][]int
		want   string
	}{
		{nil, "[] true"},
		{[][]int{{}}, "[] false"},
		{[][]int{{2, 1}, {1, 2}}, "[2 1] true"},
		{[][]int{{0, 1}, {0}}, "[1 0] true"},
		{[][]int{{0, 1}, {1, 2}, {0}}, "[1 2 0] true"},
		{[][]int{{0, 1}, {0, 1}, {1, 0}}, "[] false"},
	} {
		seats, ok := Seats(c.wanted)
		if got := fmt.Sprint(seats, ok); got != c.want {
			t.Errorf("%v: %s, want %s", c.wanted, got, c.want)
		}
	}
}

// Guests are seated if there is any way to do it, and then each on a seat of its
// own that will do; if not, as many as there is a way for.
func TestSeatsAreFoundIfThereAreAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seat := rapid.IntRange(0, 4)
		wanted := rapid.SliceOfN(rapid.SliceOfNDistinct(seat, 0, 4, rapid.ID[int]), 0, 5).Draw(t, "wanted")
		seats, ok := Seats(wanted)
		want := most(wanted, map[int]bool{})
		if got := Most(wanted); got != want || ok != (want == len(wanted)) {
			t.Fatalf("%v, %v, %d of them; want %d", seats, ok, got, want)
		}
		taken := map[int]bool{}
		for i, seat := range seats {
			if taken[seat] || !slices.Contains(wanted[i], seat) {
				t.Fatalf("guest %d has seat %d in %v", i, seat, seats)
			}
			taken[seat] = true
		}
	})
}

// most tries every way.
func most(wanted [][]int, taken map[int]bool) int {
	if len(wanted) == 0 {
		return 0
	}
	best := most(wanted[1:], taken)
	for _, seat := range wanted[0] {
		if !taken[seat] {
			taken[seat] = true
			best = max(best, 1+most(wanted[1:], taken))
			delete(taken, seat)
		}
	}
	return best
}
