package hosts

// Guests that a database, restored from a backup, doesn't know to be there.

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

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
	pinned := func(s *compute.Server) { s.Flavor.ExtraSpecs = map[string]string{"hw:cpu_policy": "dedicated"} }
	plain, placed, unsaid := computetest.AddServer(t, db, "p"), computetest.AddServer(t, db, "p", pinned), computetest.AddServer(t, db, "p", pinned)
	on := &numa.Placement{Cells: []numa.Placed{{CPUs: numa.CPUs{0}, Pinned: map[int]int{0: 5}, MemoryMB: 512}}}
	devices := pci.Devices{{Alias: "gpu", Address: "0000:81:00.0"}}
	var guests []hostlink.Guest
	for _, s := range []*compute.Server{plain, placed, unsaid} {
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
	done, err := Adopt(t.Context(), db, said{placed.ID: {ServerID: placed.ID, ProjectID: "p", NUMA: on, Devices: devices}})
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
	if err != nil || !reflect.DeepEqual(lies, on) || !reflect.DeepEqual(has, devices) {
		t.Errorf("it lies on %+v, has %+v, %v", lies, has, err)
	}
	h, err := compute.GetHost(t.Context(), db.Pool, host)
	if err != nil || h.Servers != 2 || h.VCPUsUsed != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	computetest.CheckSums(t, db)
}
