package bmc

import (
	"fmt"
	"testing"
)

// What a machine was told to start from is taken back with its medium; one whose BMC takes
// nothing back starts from its disk.
func TestEject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keeps bool
		then  BootFrom
		boot  string
	}{
		{false, AsUsual, "{None Disabled UEFI}"},
		{true, AsUsual, "{Hdd Continuous UEFI}"},
		{true, FromDisk, "{Hdd Continuous UEFI}"},
	} {
		w := newWorld(t, "redfish", nil)
		if c.keeps {
			w.Machine.KeepOverrides()
		}
		a := w.activities(w.DB)
		if err := a.Insert(t.Context(), w.Fence, "http://127.0.0.1/a.iso"); err != nil || w.Machine.Medium() == "" || w.Machine.Boot().Target != "Cd" {
			t.Errorf("%v: %q, %v", err, w.Machine.Medium(), w.Machine.Boot())
		}
		for range 2 {
			if err := a.Eject(t.Context(), w.Fence, c.then); err != nil || w.Machine.Medium() != "" || fmt.Sprint(w.Machine.Boot()) != c.boot {
				t.Errorf("%+v: %v: %q, %v", c, err, w.Machine.Medium(), w.Machine.Boot())
			}
		}
	}
}
