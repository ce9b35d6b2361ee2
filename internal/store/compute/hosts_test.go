package compute_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

func register(t testing.TB, db *store.DB, r compute.Registration) error {
	return db.InTx(t.Context(), func(tx store.Tx) error { return compute.RegisterHost(t.Context(), tx, r) })
}

func TestAHostRegistersAgainAndAgain(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	r := compute.Registration{ID: uuid.NewString(), Name: "h", Incarnation: 1, Driver: "libvirt", LinkAddress: "192.0.2.1:7000",
		Report: compute.Report{VCPUs: 8, MemoryMB: 16896, DiskGB: 100, Inventory: json.RawMessage(`{"arch": "x86_64"}`)}}
	want := func(name string, incarnation int64, vcpus, servers int) {
		t.Helper()
		h, err := compute.GetHost(t.Context(), db.Pool, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != name || h.Incarnation != incarnation || h.VCPUs != vcpus || h.Servers != servers ||
			h.AvailabilityZone != "nova" || string(h.Inventory) != `{"arch": "x86_64"}` || !h.Up(0) {
			t.Errorf("host %+v", h)
		}
	}
	if err := register(t, db, r); err != nil {
		t.Fatal(err)
	}
	want("h", 1, 8, 0)

	// Without servers it may take another name; its next start counts up.
	r.Name, r.Incarnation, r.Report.VCPUs, r.Report.Inventory = "h2", 2, 4, nil
	if err := register(t, db, r); err != nil {
		t.Fatal(err)
	}
	want("h2", 2, 4, 0)

	s := computetest.AddServer(t, db, "p")
	if ok, err := claim(t, db, s.ID, r.ID, s.Size()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for code, change := range map[string]func(*compute.Registration){
		"HostRenamed":      func(r *compute.Registration) { r.Name = "h3" },
		"StaleIncarnation": func(r *compute.Registration) { r.Incarnation = 1 },
		"HostNameTaken":    func(r *compute.Registration) { r.ID = uuid.NewString() },
	} {
		other := r
		change(&other)
		if err := register(t, db, other); !faults.Is(err, faults.Conflict) || faults.As(err).Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	if err := register(t, db, compute.Registration{ID: "me", Name: "h4"}); !faults.Is(err, faults.Invalid) {
		t.Errorf("an id that is none: %v", err)
	}
	want("h2", 2, 4, 1)
	computetest.CheckSums(t, db)
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	id := computetest.AddHost(t, db, "h", computetest.Room)
	silent := func(for_ string) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET last_seen = now() - $1::interval`, for_); err != nil {
			t.Fatal(err)
		}
	}
	up := func(downAfter time.Duration) bool {
		t.Helper()
		h, err := compute.HostByName(t.Context(), db.Pool, "h")
		if err != nil {
			t.Fatal(err)
		}
		return h.Up(downAfter)
	}
	beat := func(id string, incarnation int64) error {
		return compute.Heartbeat(t.Context(), db.Pool, id, incarnation, compute.Report{VCPUs: 6, MemoryMB: 2000, DiskGB: 50})
	}

	silent("50 s")
	if !up(0) || up(30*time.Second) {
		t.Error("50 s of silence are within 60 s and not within 30 s")
	}
	silent("70 s")
	if up(0) || !up(2*time.Minute) {
		t.Error("70 s of silence are beyond 60 s and not beyond 120 s")
	}
	if err := beat(id, 0); !faults.Is(err, faults.Superseded) {
		t.Errorf("a heartbeat of an earlier incarnation: %v", err)
	}
	// The database knows less than there was: it was restored from a backup.
	if err := beat(id, 7); !faults.Is(err, faults.NotFound) {
		t.Errorf("a heartbeat of a later incarnation: %v", err)
	}
	if up(0) {
		t.Error("a heartbeat of another incarnation counts")
	}
	if err := beat(id, 1); err != nil || !up(0) {
		t.Errorf("after a heartbeat up is %v (%v)", up(0), err)
	}
	if h, err := compute.GetHost(t.Context(), db.Pool, id); err != nil || h.VCPUs != 6 || h.MemoryMB != 2000 || h.DiskGB != 50 {
		t.Errorf("host %+v (%v)", h, err)
	}
	for _, stranger := range []string{uuid.NewString(), "me"} {
		if err := beat(stranger, 1); !faults.Is(err, faults.NotFound) {
			t.Errorf("a heartbeat of host %s: %v", stranger, err)
		}
	}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.SetHostForcedDown(t.Context(), tx, id, true) })
	if up(0) {
		t.Error("a host declared down is up")
	}
	if _, err := db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET last_seen = NULL, forced_down = false`); err != nil {
		t.Fatal(err)
	}
	if up(0) {
		t.Error("a host that was never heard of is up")
	}
}

func TestHostsInPages(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	for _, name := range []string{"c", "a", "b"} {
		computetest.AddHost(t, db, name, computetest.Room)
	}
	for _, list := range []struct {
		of          func(context.Context, store.Queryer, compute.HostFilter) ([]*compute.Host, error)
		inventories bool
	}{{compute.ListHosts, false}, {compute.ListInventories, true}} {
		names, f := "", compute.HostFilter{Limit: 2}
		for range 2 {
			page, err := list.of(t.Context(), db.Pool, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range page {
				names += h.Name
				f.Marker = h.Name
				if (len(h.Inventory) > 0) != list.inventories {
					t.Errorf("the inventory of %s in a list with inventories %t: %s", h.Name, list.inventories, h.Inventory)
				}
			}
		}
		if names != "abc" {
			t.Errorf("pages give %q", names)
		}
	}
	if _, err := compute.HostByName(t.Context(), db.Pool, "d"); !faults.Is(err, faults.NotFound) || faults.As(err).Message != "Compute host d could not be found." {
		t.Errorf("a host that isn't there: %v", err)
	}
}

// A zone is there as long as one of its hosts takes servers.
func TestZonesOfHosts(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	id := computetest.AddHost(t, db, "one", computetest.Room)
	has := func(zone string, want bool) {
		t.Helper()
		if got, err := compute.HasZone(t.Context(), db.Pool, zone); err != nil || got != want {
			t.Errorf("zone %q: %t, %v", zone, got, err)
		}
	}
	set := func(column string, value any) {
		t.Helper()
		if _, err := db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET `+column+` = $2 WHERE id = $1`, id, value); err != nil {
			t.Fatal(err)
		}
	}
	set("availability_zone", "here")
	has("here", true)
	has("there", false)
	set("disabled", true)
	has("here", false)
}

// A host's failed builds are counted once each, and forgotten when a guest is made on
// it or its worker starts again; not when it only registers again.
func TestFailedBuildsAreCounted(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	r := compute.Registration{ID: uuid.NewString(), Name: "h", Incarnation: 1, Instance: "i", Report: computetest.Room}
	if err := register(t, db, r); err != nil {
		t.Fatal(err)
	}
	want := func(n int) {
		t.Helper()
		if h, err := compute.GetHost(t.Context(), db.Pool, r.ID); err != nil || h.FailedBuilds != n {
			t.Errorf("failed builds %+v (%v), want %d", h, err, n)
		}
		computetest.CheckSums(t, db)
	}
	fail := func(failed bool) {
		t.Helper()
		s := computetest.AddServer(t, db, "p")
		if ok, err := claim(t, db, s.ID, r.ID, s.Size()); !ok || err != nil {
			t.Fatal(ok, err)
		}
		for range 2 {
			if err := holding(t, db, s.ID, func(tx store.Tx) error { return compute.ReleaseClaim(t.Context(), tx, s.ID, r.ID, failed) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	fail(true)
	fail(false)
	fail(true)
	want(2)
	if err := register(t, db, r); err != nil {
		t.Fatal(err)
	}
	want(2)
	s := computetest.AddServer(t, db, "p")
	publish(t, db, s.ID, steps.ServerOutcome{VMState: pointer("error"), Host: &r.ID}, nil)
	want(2)
	publish(t, db, s.ID, steps.ServerOutcome{VMState: pointer("active"), Host: &r.ID, Launched: true}, nil)
	want(0)
	fail(true)
	want(1)
	r.Incarnation, r.Instance = 2, "j"
	if err := register(t, db, r); err != nil {
		t.Fatal(err)
	}
	want(0)
}
