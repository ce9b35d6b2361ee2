package resources

import (
	"fmt"
	"testing"
	"time"
)

// The batches are those that openstack-heat 27.0.1 gives for the same.
func TestBatches(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		to, from, most, least int
		spare, plain          string
	}{
		{3, 3, 1, 0, "[{3 1} {3 1} {3 1}]", "[{3 1} {3 1} {3 1}]"},
		{3, 3, 2, 3, "[{5 2} {5 2} {4 1} {3 0}]", "[{5 2} {4 1} {3 0}]"},
		{3, 3, 1, 2, "[{3 1} {3 1} {3 1}]", "[{3 1} {3 1} {3 1}]"},
		{5, 3, 2, 0, "[{5 2} {5 2} {5 1}]", "[{5 2} {5 2} {5 1}]"},
		{2, 4, 1, 0, "[{2 1} {2 1}]", "[{2 1} {2 1}]"},
		{5, 0, 2, 0, "[{2 2} {4 2} {5 1}]", "[{2 2} {4 2} {5 1}]"},
		{3, 3, 2, 2, "[{4 2} {4 2} {3 0}]", "[{4 2} {3 1}]"},
		{4, 4, 2, 4, "[{6 2} {6 2} {6 2} {4 0}]", "[{6 2} {6 2} {4 0}]"},
		{1, 3, 1, 2, "[{2 1} {1 0}]", "[{2 1} {1 0}]"},
		{0, 3, 1, 0, "[{0 0}]", "[{0 0}]"},
		{0, 0, 1, 0, "[{-1 -1}]", "[{-1 -1}]"},
		{6, 6, 4, 4, "[{8 4} {8 4} {6 0}]", "[{8 4} {6 2}]"},
	} {
		r := rolling{From: one.from, To: one.to, Least: one.least, Most: one.most, Spare: true}
		if got := fmt.Sprint(r.batches()); got != one.spare {
			t.Errorf("%+v: %s, want %s", r, got, one.spare)
		}
		r.Spare = false
		if got := fmt.Sprint(r.batches()); got != one.plain {
			t.Errorf("%+v: %s, want %s", r, got, one.plain)
		}
	}
}

// Pauses that no duration holds together are too long, too; and as many batches as
// there may be are summed up at once.
func TestPausesOutlastATimeout(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		members int
		pause   time.Duration
		want    bool
	}{
		{1, seconds(1e9), false},
		{2, seconds(1e9), true},
		{11, seconds(1e9), true},
		{mostMembers, seconds(1e9), true},
		{mostMembers, seconds(0), false},
		{4, 20 * time.Minute, true},
		{3, 20 * time.Minute, false},
		{mostMembers, time.Millisecond, false},
	} {
		r := rolling{To: one.members, Most: 1, Pause: one.pause, Spare: true}
		if got := r.outlasts(time.Hour); got != one.want {
			t.Errorf("%d pauses of %s outlast an hour: %t", r.pauses(), one.pause, got)
		}
	}
}
