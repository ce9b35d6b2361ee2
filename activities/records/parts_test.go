package records_test

import (
	"reflect"
	"testing"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// The spec of a server says where its claim has put its guest, and which devices
// that has: only of one whose flavor asks for such.
func TestTheSpecHasThePlaceOfTheClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claim := compute.Claim{
		NUMA:    &numa.Placement{Cells: []numa.Placed{{Host: 1, CPUs: numa.CPUs{0}, Pinned: map[int]int{0: 5}, MemoryMB: 64}}},
		Devices: pci.Devices{{Alias: "gpu", Address: "0000:81:00.0"}, {Alias: "nic", Address: "0000:82:00.0"}},
	}
	for name, specs := range map[string]map[string]string{
		"pinned": {"hw:cpu_policy": "dedicated"}, "with a device": {"pci_passthrough:alias": "gpu:1"}, "neither": nil,
	} {
		host := computetest.AddHost(t, w.db, name, computetest.Room)
		s := computetest.AddServer(t, w.db, "p", func(s *compute.Server) { s.Flavor.ExtraSpecs = specs })
		claim.Room = s.Size()
		computetest.InTx(t, w.db, func(tx store.Tx) error {
			ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, host, "build", claim)
			if !ok {
				t.Errorf("%s: no claim (%v)", name, err)
			}
			return err
		})
		_, fence := w.begin(w.accept(operations.ServerBuild, s.ID, servers.TaskScheduling))
		spec, err := w.records.ServerSpec(t.Context(), steps.ServerSpecIn{Fence: fence})
		if err != nil {
			t.Fatal(err)
		}
		want := steps.ServerSpec{}
		if specs != nil {
			want.NUMA, want.Devices = claim.NUMA, claim.Devices
		}
		if !reflect.DeepEqual(spec.NUMA, want.NUMA) || !reflect.DeepEqual(spec.Devices, want.Devices) {
			t.Errorf("%s: %+v, %+v", name, spec.NUMA, spec.Devices)
		}
	}
}
