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
// own that will do.
func TestSeatsAreFoundIfThereAreAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seat := rapid.IntRange(0, 4)
		wanted := rapid.SliceOfN(rapid.SliceOfNDistinct(seat, 0, 4, rapid.ID[int]), 0, 5).Draw(t, "wanted")
		seats, ok := Seats(wanted)
		if want := seatable(wanted, map[int]bool{}); ok != want {
			t.Fatalf("%v, %v; want %v", seats, ok, want)
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

// seatable tries every way.
func seatable(wanted [][]int, taken map[int]bool) bool {
	if len(wanted) == 0 {
		return true
	}
	return slices.ContainsFunc(wanted[0], func(seat int) bool {
		if taken[seat] {
			return false
		}
		taken[seat] = true
		defer delete(taken, seat)
		return seatable(wanted[1:], taken)
	})
}
