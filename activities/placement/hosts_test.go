package placement

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// Whatever happens to hosts, those in memory are, once what has changed is read, as if
// all were read for the first time.
func TestTheHostsInMemoryKeepUp(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	counting := func(map[string][]map[string]string) bool { return true }
	kept := &hosts{countsImages: counting}
	read := func(h *hosts) {
		t.Helper()
		computetest.InTx(t, db, func(tx store.Tx) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.read(t.Context(), tx, 0)
		})
	}
	// said is all that is known of hosts, without where they stand.
	said := func(h *hosts) (all []string) {
		for _, x := range h.all {
			if h.all[h.at[x.ID]].ID != x.ID {
				t.Errorf("%s is not where it is looked for", x.Name)
			}
			images := map[string]int{}
			for image, n := range x.Images {
				images[fmt.Sprint(image.Properties)] += n
			}
			text, err := json.Marshal(struct {
				scheduler.Host
				Images map[string]int
			}{x, images})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
		slices.Sort(all)
		return append(all, fmt.Sprint(h.silent))
	}

	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		ids[name] = computetest.AddHost(t, db, name, computetest.Room)
	}
	s := computetest.AddServer(t, db, "p", func(s *compute.Server) { s.ImageProperties = map[string]string{"os_distro": "debian"} })
	exec := func(sql string, args ...any) func() {
		return func() {
			t.Helper()
			if _, err := db.Pool.Exec(t.Context(), sql, args...); err != nil {
				t.Fatal(err)
			}
		}
	}
	inTx := func(f func(tx store.Tx) error) func() { return func() { computetest.InTx(t, db, f) } }
	claim := compute.Claim{Room: s.Size(), Resources: map[string]int64{"CUSTOM_GOLD": 1}}
	var writing store.Tx
	var end func()
	for _, c := range []struct {
		what   string
		change func()
		seen   string // in what is said then
	}{
		{"nothing", func() {}, `"Name":"a"`},
		{"a claim by another process", inTx(func(tx store.Tx) error {
			_, err := compute.ClaimOnHost(t.Context(), tx, s.ID, ids["a"], "o", claim)
			return err
		}), `"ResourcesUsed":{"CUSTOM_GOLD":1}`},
		{"a claim of this one, read meanwhile", func() { kept.took(ids["a"], claim) }, `"Servers":1`},
		{"its release", inTx(func(tx store.Tx) error { return compute.ReleaseClaim(t.Context(), tx, s.ID, ids["a"], true) }), `"FailedBuilds":1`},
		{"a report", exec(`UPDATE compute.hosts SET inventory = '{"resources": {"CUSTOM_GOLD": {"total": 7}}, "traits": ["CUSTOM_NEAR"], "guests": []}' WHERE name = 'b'`), `"CUSTOM_GOLD":{"total":7`},
		{"one that is disabled", exec(`UPDATE compute.hosts SET disabled = true WHERE name = 'b'`), `"Disabled":true`},
		{"one that is silent", exec(`UPDATE compute.hosts SET last_seen = now() - interval '1 hour' WHERE name = 'c'`), ids["c"] + ":c"},
		{"one that is declared down", exec(`UPDATE compute.hosts SET forced_down = true WHERE name = 'c'`), `"Up":false`},
		{"one that comes", func() { ids["d"] = computetest.AddHost(t, db, "d", computetest.Room) }, `"Name":"d"`},
		{"one that goes", inTx(func(tx store.Tx) error { return compute.DeleteHost(t.Context(), tx, ids["b"]) }), `"Name":"d"`},
		{"one that comes as another goes", func() {
			inTx(func(tx store.Tx) error { return compute.DeleteHost(t.Context(), tx, ids["d"]) })()
			ids["e"] = computetest.AddHost(t, db, "e", computetest.Room)
		}, `"Name":"e"`},
		{"a change that is under way", func() {
			tx, err := db.Pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), `UPDATE compute.hosts SET vcpus = 77 WHERE name = 'a'`); err != nil {
				t.Fatal(err)
			}
			writing, end = tx, func() {
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}, `"Name":"a"`},
		{"and has come since", func() { end() }, `"Total":77`},
	} {
		c.change()
		read(kept)
		if c.what == "one that comes as another goes" {
			// Their number says nothing: it is noticed when all are read.
			kept.wholeAt = kept.wholeAt.Add(-wholeAge)
			read(kept)
		}
		fresh := &hosts{countsImages: counting}
		read(fresh)
		got, want := said(kept), said(fresh)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: known\n%s\nthere are\n%s", c.what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !strings.Contains(strings.Join(got, "\n"), c.seen) {
			t.Errorf("%s: nothing says %s:\n%s", c.what, c.seen, strings.Join(got, "\n"))
		}
	}
	if writing == nil {
		t.Error("nothing was under way")
	}
}

// Hosts whose reports differ only in what every heartbeat changes say the same.
func TestHostsThatAreAlikeShareWhatTheySay(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	for i := range 3 {
		room := computetest.Room
		room.Inventory = json.RawMessage(fmt.Sprintf(`{"traits": ["CUSTOM_NEAR"], "guests": [{"server_id": "%d"}], "uptime": "%d days", "steps": []}`, i, i))
		computetest.AddHost(t, db, fmt.Sprint("h", i), room)
	}
	h := &hosts{countsImages: scheduler.Default().CountsImages}
	computetest.InTx(t, db, func(tx store.Tx) error { return h.read(t.Context(), tx, 0) })
	if len(h.all) != 3 || len(h.known) != 1 {
		t.Errorf("%d hosts say %d things", len(h.all), len(h.known))
	}
	for _, x := range h.all {
		if !x.Traits["CUSTOM_NEAR"] || len(x.Resources) > 0 {
			t.Errorf("%s has %v and %v", x.Name, x.Traits, map[string]provider.Inventory(x.Resources))
		}
	}
}
