package orchestration

import "testing"

func TestTimedOut(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{"Create timed out": true, "Resource CREATE failed: Unavailable: resources.r: Neutron timed out": false, "": false} {
		if timedOut(reason) != want {
			t.Errorf("%q: want %t", reason, want)
		}
	}
}
