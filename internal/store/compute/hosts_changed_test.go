package compute_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

// Hosts are changed since a mark if they were written after it, or before it by who had
// not ended; others are left out once those who wrote at the mark have ended.
func TestChangedHosts(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		ids[name] = computetest.AddHost(t, db, name, computetest.Room)
	}
	mark := func() compute.Mark {
		t.Helper()
		m, err := compute.MarkHosts(t.Context(), db.Pool)
		if err != nil || m.Hosts != 3 {
			t.Fatalf("%+v, %v", m, err)
		}
		return m
	}
	changed := func(since compute.Mark, touched ...string) []string {
		t.Helper()
		names := map[string]bool{}
		err := compute.ChangedHosts(t.Context(), db.Pool, since, touched, func(h *compute.Host) error {
			names[h.Name] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(names))
	}
	if got := changed(compute.Mark{}); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("at first %v", got)
	}
	// What other tests write in other databases of the server ends in its own time.
	quiet := mark()
	for until := time.Now().Add(testenv.Patience); len(changed(quiet)) > 0; quiet = mark() {
		if time.Now().After(until) {
			t.Fatal("all hosts stay changed")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := changed(quiet, ids["b"]); !slices.Equal(got, []string{"b"}) {
		t.Errorf("with one that is asked for %v", got)
	}
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `UPDATE compute.hosts SET vcpus = 7 WHERE name = 'a'`); err != nil {
		t.Fatal(err)
	}
	during := mark()
	if got := changed(quiet); len(got) > 0 {
		t.Errorf("before the commit %v", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := changed(during); !slices.Equal(got, []string{"a"}) {
			t.Errorf("written before the mark and ended after it: %v", got)
		}
	}
}
