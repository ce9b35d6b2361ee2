package resources

import (
	"testing"
	"time"
)

// That a nested stack has ended is seen soon, for what it took; one that takes long is
// looked at now and then, and so is one of many.
func TestNextLook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		age       time.Duration
		resources int
		want      time.Duration
	}{
		{0, 1, 500 * time.Millisecond}, {4 * time.Second, 100, 500 * time.Millisecond}, {8 * time.Second, 200, time.Second}, {time.Hour, 1, 10 * time.Second},
		{0, 600, 3 * time.Second}, {30 * time.Second, 600, 3750 * time.Millisecond}, {0, 5000, 10 * time.Second},
	} {
		if got := nextLook(test.age, test.resources); got != test.want {
			t.Errorf("one of %d, of %s, is looked at after %s, want %s", test.resources, test.age, got, test.want)
		}
	}
}
