package resources

import (
	"testing"
	"time"
)

// That a nested stack has ended is seen soon, for what it took, and one that takes long
// is looked at now and then.
func TestNextLook(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{
		0: 500 * time.Millisecond, 4 * time.Second: 500 * time.Millisecond, 8 * time.Second: time.Second, time.Hour: 10 * time.Second,
	} {
		if got := nextLook(age); got != want {
			t.Errorf("one of %s is looked at after %s, want %s", age, got, want)
		}
	}
}
