package resources

import (
	"testing"
	"time"
)

// That a nested stack has ended is seen though nobody knocks, and what is one of many is
// looked at less often.
func TestNextLook(t *testing.T) {
	t.Parallel()
	for resources, want := range map[int]time.Duration{1: 5 * time.Second, 500: 5 * time.Second, 2000: 20 * time.Second} {
		if got := nextLook(resources); got != want {
			t.Errorf("one of %d is looked at after %s, want %s", resources, got, want)
		}
	}
}
