package qemu

import (
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

// A guest that runs has counters of all that it has; one that is off has none.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	d, s := host(t, t.TempDir(), blank(), nil), spec()
	defer clean(t, d, s.ServerID)
	if _, err := d.Diagnostics(t.Context(), s.ServerID); !faults.Is(err, faults.NotFound) {
		t.Errorf("of none: %v", err)
	}
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	said, err := d.Diagnostics(t.Context(), s.ServerID)
	if err != nil || said.PowerState != servers.PowerRunning || said.MemoryKB != 64<<10 || len(said.CPUs) != 1 || len(said.Disks) != 1 || said.Disks[0].Name != "vda" {
		t.Errorf("%+v, %v", said, err)
	}
	if _, err := d.Power(t.Context(), s.ServerID, steps.PowerForceStop, "", confirmed); err != nil {
		t.Fatal(err)
	}
	if said, err := d.Diagnostics(t.Context(), s.ServerID); err != nil || said.PowerState != servers.PowerShutdown || len(said.CPUs) != 0 {
		t.Errorf("off: %+v, %v", said, err)
	}
}
