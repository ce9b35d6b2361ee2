package compute_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// Hosts of the aggregate that are up are to have what is wanted, each once, until they
// have done with it or it is too old.
func TestWantedImages(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	hosts := map[string]string{}
	var aggregate *compute.Aggregate
	for _, name := range []string{"up", "disabled", "silent", "down", "elsewhere"} {
		hosts[name] = computetest.AddHost(t, db, name, computetest.Room)
	}
	change := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	change(`UPDATE compute.hosts SET disabled = name = 'disabled', forced_down = name = 'down',
		last_seen = CASE name WHEN 'silent' THEN now() - interval '2 min' ELSE now() END`)
	computetest.InTx(t, db, func(tx store.Tx) (err error) {
		aggregate, err = compute.CreateAggregate(t.Context(), tx, "a", "")
		for _, name := range []string{"up", "disabled", "silent", "down"} {
			if err == nil {
				err = compute.AddToAggregate(t.Context(), tx, aggregate, &compute.Host{ID: hosts[name], Name: name})
			}
		}
		return err
	})
	want := func(images ...string) error {
		return db.InTx(t.Context(), func(tx store.Tx) error {
			return compute.WantImages(t.Context(), tx, aggregate.ID, images, time.Minute)
		})
	}
	wanted := func(host string, images ...string) {
		t.Helper()
		if got, err := compute.WantedImages(t.Context(), db.Pool, hosts[host]); err != nil || !slices.Equal(got, images) {
			t.Errorf("%s is to have %v, %v, want %v", host, got, err, images)
		}
	}
	for _, images := range [][]string{{"b"}, {"a", "a", "b"}} {
		if err := want(images...); err != nil {
			t.Fatal(err)
		}
	}
	for _, host := range []string{"up", "disabled"} {
		wanted(host, "a", "b")
	}
	for _, host := range []string{"silent", "down", "elsewhere"} {
		wanted(host)
	}
	for range 2 {
		if err := compute.SettleImage(t.Context(), db.Pool, hosts["up"], "a"); err != nil {
			t.Fatal(err)
		}
		wanted("up", "b")
		wanted("disabled", "a", "b")
	}

	var many []string
	for i := range compute.MaxWantedImages {
		many = append(many, fmt.Sprint("m", i))
	}
	if err := want(many...); !faults.Is(err, faults.Invalid) {
		t.Errorf("one too many: %v, want invalid", err)
	}
	wanted("up", "b")
	// What is too old is wanted no more, and takes nobody's place.
	change(`UPDATE compute.wanted_images SET wanted_at = now() - interval '61 min'`)
	wanted("up")
	if err := want(many...); err != nil {
		t.Error(err)
	}
	slices.Sort(many)
	wanted("up", many...)
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.DeleteHost(t.Context(), tx, hosts["up"]) })
	wanted("up")
}
