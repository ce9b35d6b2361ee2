package hosts

// Guests that a database, restored from a backup, doesn't know to be there.

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// onCPU5 and gpu are parts of a host that a guest has.
var (
	onCPU5 = &numa.Placement{Cells: []numa.Placed{{CPUs: numa.CPUs{0}, Pinned: map[int]int{0: 5}, MemoryMB: 512}}}
	gpu    = pci.Devices{{Alias: "gpu", Address: "0000:81:00.0"}}
)

func pinned(s *compute.Server) { s.Flavor.ExtraSpecs = map[string]string{"hw:cpu_policy": "dedicated"} }

// hostOf gives a host that has guests of the servers, which don't know it.
func hostOf(t *testing.T, db *store.DB, servers ...*compute.Server) string {
	t.Helper()
	var guests []hostlink.Guest
	for _, s := range servers {
		guests = append(guests, hostlink.Guest{ServerID: s.ID, PowerState: 1})
	}
	inventory, err := json.Marshal(inventory{Guests: guests})
	if err != nil {
		t.Fatal(err)
	}
	room := computetest.Room
	room.Inventory = inventory
	host := computetest.AddHost(t, db, "h", room)
	if _, err := db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET last_seen = now() + interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	return host
}

// said is what a host says that its guests were built from.
type said map[string]steps.ServerSpec

func (s said) Describe(_ context.Context, _, _, serverID string) (json.RawMessage, error) {
	spec, known := s[serverID]
	if !known {
		return nil, faults.New(faults.NotFound, "GuestNotFound", "the host has no guest of server %s", serverID)
	}
	return json.Marshal(spec)
}

// A server gets its host back with the parts that its guest has of that; one that
// can have none gets it back though the host doesn't know what its guest was built
// from, as one of an earlier release.
func TestGuestsAreGivenBack(t *testing.T) {
	t.Parallel()
	_, db := open(t)
	golden := func(s *compute.Server) { s.Flavor.ExtraSpecs["resources:CUSTOM_GOLD"] = "2" }
	plain, placed, unsaid := computetest.AddServer(t, db, "p"), computetest.AddServer(t, db, "p", pinned, golden), computetest.AddServer(t, db, "p", pinned)
	host := hostOf(t, db, plain, placed, unsaid)
	done, err := Adopt(t.Context(), db, said{placed.ID: {ServerID: placed.ID, ProjectID: "p", NUMA: onCPU5, Devices: gpu}})
	if err != nil {
		t.Fatal(err)
	}
	did := map[string]string{}
	for _, a := range done {
		did[a.ServerID] = a.Did
	}
	if want := map[string]string{plain.ID: "returned", placed.ID: "returned", unsaid.ID: "left"}; !reflect.DeepEqual(did, want) {
		t.Errorf("%+v", done)
	}
	lies, has, err := compute.PlaceOf(t.Context(), db.Pool, placed.ID, "")
	if err != nil || !reflect.DeepEqual(lies, onCPU5) || !reflect.DeepEqual(has, gpu) {
		t.Errorf("it lies on %+v, has %+v, %v", lies, has, err)
	}
	taken, err := compute.TakenParts(t.Context(), db.Pool, host)
	if want := map[string]int64{"CUSTOM_GOLD": 2}; err != nil || taken[host] == nil || !reflect.DeepEqual(taken[host].Resources, want) {
		t.Errorf("taken %+v, %v", taken[host], err)
	}
	h, err := compute.GetHost(t.Context(), db.Pool, host)
	if err != nil || h.Servers != 2 || h.VCPUsUsed != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	computetest.CheckSums(t, db)
}

// Whoever chooses parts of a host for a guest isn't disturbed by one that is given
// back meanwhile: that waits.
func TestPartsAreGivenBackUnderTheHostsLock(t *testing.T) {
	t.Parallel()
	_, db := open(t)
	back, other := computetest.AddServer(t, db, "p", pinned), computetest.AddServer(t, db, "p", pinned)
	host := hostOf(t, db, back)
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // committed it does nothing
	if _, _, err := compute.LockParts(t.Context(), tx, host); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		done, err := Adopt(t.Context(), db, said{back.ID: {ServerID: back.ID, ProjectID: "p", NUMA: onCPU5}})
		if err == nil && (len(done) != 1 || done[0].Did != "returned") {
			err = fmt.Errorf("%+v", done)
		}
		ended <- err
	}()
	for waits := false; !waits; {
		if err := db.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("it doesn't wait: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if ok, err := compute.ClaimOnHost(t.Context(), tx, other.ID, host, "op", compute.Claim{Room: other.Size(), NUMA: onCPU5}); err != nil || !ok {
		t.Errorf("the claim: %v, %v", ok, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	computetest.CheckSums(t, db)
}
