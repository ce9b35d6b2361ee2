package placement_test

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"

	"holdfast.dev/activities/placement"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// Many at once who want a device for themselves: each gets one that nobody else has,
// and gives it back with its claim.
func TestConcurrentClaimsOfDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	aliases, err := pci.ReadAliases([]string{`{"name": "gpu", "vendor_id": "f00d", "product_id": "0001"}`})
	if err != nil {
		t.Fatal(err)
	}
	other := placement.New(w.db, w.engine, scheduler.Default())
	w.placement.Aliases, other.Aliases = aliases, aliases
	inventory, err := json.Marshal(map[string]any{"devices": []pci.Device{
		{Address: "0000:01:00.0", Vendor: "f00d", Product: "0001", Type: pci.Standard},
		{Address: "0000:01:01.0", Vendor: "f00d", Product: "0001", Type: pci.Standard},
		{Address: "0000:01:02.0", Vendor: "f00d", Product: "0002", Type: pci.Standard},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		computetest.AddHost(t, w.db, name, compute.Report{VCPUs: 100, MemoryMB: 100000, DiskGB: 1000, Inventory: inventory})
	}
	const many = 12
	var mu sync.Mutex
	var wg sync.WaitGroup
	got, lucky := map[string]int{}, steps.Fence{}
	for i := range many {
		_, f := w.building(asking(map[string]string{"pci_passthrough:alias": "gpu:1"}))
		wg.Go(func() {
			for {
				out, err := []*placement.Activities{w.placement, other}[i%2].Claim(t.Context(), steps.ClaimIn{Fence: f, Attempt: 1})
				if faults.Is(err, faults.Unavailable) {
					continue // as the step's retry does
				}
				mu.Lock()
				defer mu.Unlock()
				if got[out.HostName]++; err == nil {
					lucky = f
				} else if faults.As(err).Code != "NoValidHost" {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	if want := map[string]int{"a": 2, "b": 2, "": many - 4}; !reflect.DeepEqual(got, want) {
		t.Fatalf("claims %v, want %v", got, want)
	}
	w.undo(lucky, 1)
	_, f := w.building(asking(map[string]string{"pci_passthrough:alias": "gpu:1"}))
	w.mustClaim(f, 1)
	var passed int
	if err := w.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM compute.passed_devices`).Scan(&passed); err != nil || passed != 4 {
		t.Errorf("%d devices are passed through, %v", passed, err)
	}
	computetest.CheckSums(t, w.db)
}
