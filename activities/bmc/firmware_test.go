package bmc

import (
	"fmt"
	"strings"
	"testing"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// flashed has the world's node be serviced by the step that changes firmware.
func flashed(t *testing.T, settings string) (*world, steps.CleanStepIn) {
	t.Helper()
	w := newWorld(t, "redfish", nil)
	w.change("firmware_interface", "redfish")
	if _, err := w.activities(w.DB).Verify(t.Context(), steps.NodeIn{Fence: w.Fence}); err != nil {
		t.Fatal(err)
	}
	w.change("driver_internal_info", fmt.Sprintf(`{"service_steps": [{"interface": "firmware", "step": "update", "args": {"settings": %s}}]}`, settings))
	return w, steps.CleanStepIn{Fence: w.Fence, Of: w.Fence.OperationID, Phase: steps.AgentService}
}

// flash does the step as its workflow does, and says how often the machine was started anew.
func (w *world) flash(in steps.CleanStepIn) (restarts int, err error) {
	w.Helper()
	for range 20 {
		var out steps.CleanStepOut
		if out, err = w.activities(w.DB).CleanStep(w.Context(), in); err != nil && !faults.Is(err, faults.Unavailable) || err == nil && !out.Restart && !out.Pending {
			return in.Restarts, err
		}
		if out.Restart {
			w.Machine.Put(sim.Off)
			w.Machine.Put(sim.On)
			in.Restarted, in.Restarts = true, in.Restarts+1
		}
	}
	w.Fatalf("it isn't over, %v", err)
	return 0, nil
}

// Components run what they are to, one after the other, wherever the step is killed, and are
// told so once if it isn't; the node's row says what they run, and ran first.
func TestFirmware(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			t.Parallel()
			w, in := flashed(t, `[{"component": "bmc", "url": "http://192.0.2.9/bmc-2.1"}, {"component": "bios", "url": "http://192.0.2.9/bios-1.1"}]`)
			if killed {
				w.Kill(func(db *store.DB) error {
					_, err := w.activities(db).CleanStep(t.Context(), in)
					return err
				})
			}
			restarts, err := w.flash(in)
			if err != nil || restarts == 0 || w.Machine.Firmware("bmc") != "2.1" || w.Machine.Firmware("bios") != "1.1" {
				t.Errorf("%d starts, %v: %q, %q", restarts, err, w.Machine.Firmware("bmc"), w.Machine.Firmware("bios"))
			}
			if told := fmt.Sprint(w.Machine.Flashes()); !killed && (told != "[bmc-2.1 bios-1.1]" || restarts != 1) {
				t.Errorf("it was told of %s, and started anew %d times", told, restarts)
			}
			all, err := baremetal.FirmwareComponents(t.Context(), w.DB.Pool, w.Node.UUID)
			if err != nil || len(all) != 2 {
				t.Fatalf("%+v, %v", all, err)
			}
			for i, want := range []string{"bios 1.0 1.1 1.1", "bmc 2.0 2.1 2.1"} {
				if c := all[i]; c.LastVersionFlashed == nil || fmt.Sprint(c.Component, " ", c.InitialVersion, " ", *c.CurrentVersion, " ", *c.LastVersionFlashed) != want {
					t.Errorf("%+v, not %s", c, want)
				}
			}
		})
	}
}

// A BMC that can't be reached once it has other firmware is waited for, and one that can't
// be before isn't.
func TestFirmwareOfABMCThatIsAway(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{false, true} {
		w, in := flashed(t, `[{"component": "bmc", "url": "http://192.0.2.9/bmc-2.1"}]`)
		if told {
			if out, err := w.activities(w.DB).CleanStep(t.Context(), in); err != nil || !out.Pending {
				t.Fatalf("%+v, %v", out, err)
			}
		}
		w.Machine.MisbehaveReads(sim.Unavailable)
		out, err := w.activities(w.DB).CleanStep(t.Context(), in)
		if told != (err == nil && out.Pending) || !told && !faults.Is(err, faults.Unavailable) {
			t.Errorf("told %t: %+v, %v", told, out, err)
		}
	}
}

// One that is busy, or whose answer is lost, ends with what was asked for; one that has
// nothing new to show is believed after a while.
func TestFirmwareOfABMCThatMisbehaves(t *testing.T) {
	t.Parallel()
	for _, f := range []sim.Fault{sim.Unavailable, sim.Drops} {
		w, in := flashed(t, `[{"component": "bios", "url": "http://192.0.2.9/bios-1.1"}]`)
		w.Machine.MisbehaveMedia(f)
		if restarts, err := w.flash(in); err != nil || restarts == 0 || w.Machine.Firmware("bios") != "1.1" {
			t.Errorf("%s: %d starts, %v, %q", f, restarts, err, w.Machine.Firmware("bios"))
		}
	}
	w, in := flashed(t, `[{"component": "bmc", "url": "http://192.0.2.9/bmc-2.0"}]`)
	a := w.activities(w.DB)
	for range 2 {
		if out, err := a.CleanStep(t.Context(), in); err != nil || !out.Pending {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.acts SET sent_at = sent_at - interval '6 minutes'`); err != nil {
		t.Fatal(err)
	}
	if out, err := a.CleanStep(t.Context(), in); err != nil || out.Pending || out.Restart {
		t.Errorf("%+v, %v", out, err)
	}
}

// One that is to be waited for isn't looked at before.
func TestFirmwareThatWaits(t *testing.T) {
	t.Parallel()
	w, in := flashed(t, `[{"component": "bios", "url": "http://192.0.2.9/bios-1.1", "wait": 600}]`)
	for range 3 {
		if out, err := w.activities(w.DB).CleanStep(t.Context(), in); err != nil || !out.Pending || out.Restart {
			t.Errorf("%+v, %v", out, err)
		}
	}
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.acts SET sent_at = sent_at - interval '11 minutes'`); err != nil {
		t.Fatal(err)
	}
	if restarts, err := w.flash(in); err != nil || restarts != 1 || w.Machine.Firmware("bios") != "1.1" {
		t.Errorf("%d starts, %v", restarts, err)
	}
}

// What can't be is refused, and what fails at the machine's start says so.
func TestFirmwareThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string
		ready    func(*world)
		fault    string
	}{
		"nothing":            {`[]`, nil, "Invalid firmware update. Errors: settings are a list of 1 to 64 components"},
		"no such component":  {`[{"component": "nic:7", "url": "http://192.0.2.9/nic-1"}]`, nil, "the BMC answered with status 400"},
		"a task that failed": {`[{"component": "bios", "url": "http://192.0.2.9/bios-1.1"}]`, func(w *world) { w.Machine.BreakTasks() }, "the BMC's task has failed: it is Exception"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, in := flashed(t, c.settings)
			if c.ready != nil {
				c.ready(w)
			}
			if _, err := w.flash(in); err == nil || !strings.Contains(err.Error(), c.fault) || w.Machine.Firmware("bios") != "1.0" {
				t.Errorf("%v, %q", err, w.Machine.Firmware("bios"))
			}
		})
	}
}
