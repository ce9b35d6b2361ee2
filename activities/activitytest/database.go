package activitytest

// Steps that touch the database and nothing else.

import (
	"context"
	"reflect"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
)

// Act is a step that is about to be done on a database.
type Act struct {
	DB *store.DB
	// Do does it over a pool of the same database. Its answer is compared with
	// that of the next time.
	Do func(context.Context, *store.DB) (any, error)
	// Parts says that it is more than one transaction, so that one that is killed
	// may have done a part.
	Parts bool
	// Done checks what is so afterwards; nil checks nothing more.
	Done func(*testing.T)
}

// InDatabase does the act of a world that ready makes: twice, which changes
// nothing, and in another one with its connection cut before each of its round
// trips in turn, which leaves nothing of it, until it comes through.
func InDatabase(t *testing.T, ready func(*testing.T) Act) {
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		ready(t).again(t)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		act := ready(t)
		var knife computetest.Knife
		db := knife.Hold(t, act.DB)
		before := computetest.Dump(t, act.DB)
		for at := 0; ; at++ {
			knife.After(at)
			_, err := act.Do(t.Context(), db)
			if !knife.HasCut() {
				if at < 1 || err != nil {
					t.Fatalf("it was done in %d round trips: %v", at, err)
				}
				break
			}
			if !faults.Is(err, faults.Unavailable) {
				t.Errorf("cut off before round trip %d: %v, want unavailable", at, err)
			}
			if after := computetest.Dump(t, act.DB); after != before && !act.Parts {
				t.Errorf("cut off before round trip %d it leaves\n%s\nof\n%s", at, after, before)
			}
		}
		act.again(t)
	})
}

// again does it and does it again: the answer is the same and the database too.
func (a Act) again(t *testing.T) {
	t.Helper()
	out, err := a.Do(t.Context(), a.DB)
	if err != nil {
		t.Fatal(err)
	}
	before := computetest.Dump(t, a.DB)
	again, err := a.Do(t.Context(), a.DB)
	if err != nil || !a.Parts && !reflect.DeepEqual(again, out) {
		t.Errorf("done again it answers\n%+v (%v), first\n%+v", again, err, out)
	}
	if after := computetest.Dump(t, a.DB); after != before {
		t.Errorf("done again it changes\n%s\nto\n%s", before, after)
	}
	if a.Done != nil {
		a.Done(t)
	}
}
