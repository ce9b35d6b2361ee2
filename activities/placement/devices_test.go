package placement_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"holdfast.dev/internal/pci"
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
	w.placement.Aliases = aliases
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
	got, lucky := w.contend(many, map[string]string{"pci_passthrough:alias": "gpu:1"})
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
