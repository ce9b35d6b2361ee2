package engine

import "testing"

// The rules themselves: an event that somebody waits for is always stored.
func TestInboxRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule            unheard
		waits           bool
		stored, refused bool
	}{
		{keep, true, true, false}, {keep, false, true, false},
		{refuse, true, true, false}, {refuse, false, false, true},
		{drop, true, true, false}, {drop, false, false, false},
	} {
		if stored, refused := c.rule.meet(c.waits); stored != c.stored || refused != c.refused {
			t.Errorf("%s, with somebody waiting %t: stored %t, refused %t; want %t, %t", c.rule, c.waits, stored, refused, c.stored, c.refused)
		}
	}
}

// Every event that operations may wait for, and what the original does with it
// when nobody does: a change of the table is seen here. (Nova answers an external
// event that nobody waits for like any other, and drops it.)
func TestWhatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	want := map[EventName]unheard{
		NetworkVIFPlugged:   drop,
		NetworkVIFUnplugged: drop,
		NetworkVIFDeleted:   drop,
	}
	for name, rule := range events {
		if want[name] != rule {
			t.Errorf("%s: %s, want %s", name, rule, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is no event", name)
	}
}
