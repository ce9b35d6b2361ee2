package placement_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// hostWith makes a host that has gold, as its operator says.
func (w *world) hostWith(name string, gold provider.Inventory, traits ...string) string {
	w.Helper()
	inventory, err := json.Marshal(map[string]any{"resources": map[string]provider.Inventory{"CUSTOM_GOLD": gold}, "traits": traits})
	if err != nil {
		w.Fatal(err)
	}
	return computetest.AddHost(w, w.db, name, compute.Report{VCPUs: 100, MemoryMB: 100000, DiskGB: 1000, Inventory: inventory})
}

// gold is how much of it is claimed on a host.
func (w *world) gold(host string) (sum int64) {
	w.Helper()
	if err := w.db.Pool.QueryRow(w.Context(), `SELECT COALESCE(sum(amount), 0)::bigint FROM compute.claimed_resources WHERE host_id = $1 AND class = 'CUSTOM_GOLD'`, host).Scan(&sum); err != nil {
		w.Fatal(err)
	}
	return sum
}

// Many at once, by two processes, who want some of what there is: as many get it as
// there is room for, and it is given back with the claim.
func TestConcurrentClaimsOfResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// (10 - 1) x 1.5 is 13: six times 2.
	host := w.hostWith("a", provider.Inventory{Total: 10, Reserved: 1, Ratio: 1.5, MinUnit: 2, MaxUnit: 6, StepSize: 2})
	const many = 14
	got, lucky := w.contend(many, map[string]string{"resources:CUSTOM_GOLD": "1", "resources1:CUSTOM_GOLD": "1"})
	if want := map[string]int{"a": 6, "": many - 6}; !reflect.DeepEqual(got, want) || w.gold(host) != 12 {
		t.Fatalf("claims %v of %d in all, want %v", got, w.gold(host), want)
	}
	w.undo(lucky, 1)
	if w.gold(host) != 10 {
		t.Errorf("%d stay claimed", w.gold(host))
	}
	_, f := w.building(asking(map[string]string{"resources:CUSTOM_GOLD": "2"}))
	w.mustClaim(f, 1)
	w.mustClaim(f, 1)
	if w.gold(host) != 12 {
		t.Errorf("%d are claimed", w.gold(host))
	}
	computetest.CheckSums(t, w.db)
}

// What can't be claimed, and what can: by the rules of the class, on the host that has
// it, with the traits that its operator gave it.
func TestWhoHasTheResources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		specs map[string]string
		host  string
	}{
		"as much as can be had at once": {map[string]string{"resources:CUSTOM_GOLD": "6"}, "rich"},
		"more than at once":             {map[string]string{"resources:CUSTOM_GOLD": "8"}, ""},
		"less than can be had":          {map[string]string{"resources:CUSTOM_GOLD": "1"}, ""},
		"no whole steps":                {map[string]string{"resources:CUSTOM_GOLD": "3"}, ""},
		"nothing of it":                 {map[string]string{"resources:CUSTOM_GOLD": "0", "trait:CUSTOM_NEAR": "forbidden"}, "plain"},
		"what nobody has":               {map[string]string{"resources:CUSTOM_TIN": "1"}, ""},
		"a trait":                       {map[string]string{"trait:CUSTOM_NEAR": "required"}, "rich"},
		"a trait that nobody has":       {map[string]string{"trait:CUSTOM_FAR": "required"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			rich := w.hostWith("rich", provider.Inventory{Total: 20, Ratio: 1, MinUnit: 2, MaxUnit: 6, StepSize: 2}, "CUSTOM_NEAR")
			computetest.AddHost(t, w.db, "plain", computetest.Room)
			_, f := w.building(asking(c.specs))
			out, err := w.claim(f, 1)
			if out.HostName != c.host || (c.host == "") != faults.Is(err, faults.NoCapacity) {
				t.Errorf("claimed on %q (%v), want %q", out.HostName, err, c.host)
			}
			want := map[string]int64{"6": 6}[c.specs["resources:CUSTOM_GOLD"]]
			if got := w.gold(rich); got != want {
				t.Errorf("%d are claimed, want %d", got, want)
			}
		})
	}
}

// What a move has left on a host stays claimed there by the migration, and comes back
// with the room.
func TestResourcesAreHandedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := w.hostWith("a", provider.Inventory{Total: 4, Ratio: 1, MinUnit: 1, MaxUnit: 4, StepSize: 1})
	s, f := w.building(asking(map[string]string{"resources:CUSTOM_GOLD": "3"}))
	w.mustClaim(f, 1)
	const migration = "8a94ea4e-6d6c-4d21-b0d8-2f2f0e9ee4c1"
	for _, hand := range [][2]string{{s.ID, migration}, {migration, s.ID}} {
		computetest.InTx(t, w.db, func(tx store.Tx) error { return compute.HandOver(t.Context(), tx, hand[0], hand[1], host) })
		var owner string
		if err := w.db.Pool.QueryRow(t.Context(), `SELECT consumer_id::text FROM compute.claimed_resources`).Scan(&owner); err != nil || owner != hand[1] {
			t.Errorf("claimed by %s (%v), want %s", owner, err, hand[1])
		}
	}
	if w.gold(host) != 3 {
		t.Errorf("%d are claimed", w.gold(host))
	}
}
