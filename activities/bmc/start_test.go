package bmc

import (
	"fmt"
	"testing"

	"holdfast.dev/dev/bmc/ipmitest"
	"holdfast.dev/internal/store"
)

// What a machine is told to start from it is told once, by either protocol, and it is taken
// back; by a management interface that tells nothing, it isn't.
func TestStartFrom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ipmi       bool
		o          ipmitest.Options
		management string
		boots      []string // once by the network, by the disk, as usual
	}{
		"by Redfish": {boots: []string{"{Pxe Once UEFI}", "{Hdd Continuous UEFI}", "{None Disabled UEFI}"}},
		"by IPMI":    {ipmi: true, boots: []string{"{Pxe Once UEFI}", "{Hdd Continuous UEFI}", "{None Disabled UEFI}"}},
		"by IPMI that takes nothing back": {ipmi: true, o: ipmitest.Options{Keeps: true},
			boots: []string{"{Pxe Once UEFI}", "{Hdd Continuous UEFI}", "{Hdd Continuous UEFI}"}},
		"by nobody":           {management: "noop", boots: []string{"{None Disabled UEFI}", "{None Disabled UEFI}", "{None Disabled UEFI}"}},
		"by nobody over IPMI": {ipmi: true, management: "noop", boots: []string{"{None Disabled UEFI}", "{None Disabled UEFI}", "{None Disabled UEFI}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", nil)
			if c.ipmi {
				w, _ = byIPMI(t, c.o, nil)
			}
			if c.management != "" {
				if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET management_interface = $1`, c.management); err != nil {
					t.Fatal(err)
				}
			}
			for i, from := range []BootFrom{OnceFromNetwork, FromDisk, AsUsual} {
				do := func(db *store.DB) error { return w.activities(db).StartFrom(t.Context(), w.Fence, from) }
				w.Kill(do)
				if err := do(w.DB); err != nil {
					t.Error(err)
				}
				if is := fmt.Sprint(w.Machine.Boot()); is != c.boots[i] {
					t.Errorf("%q: it starts from %s, not %s", from, is, c.boots[i])
				}
			}
		})
	}
}
