package bmc

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// cleans has the world's node be cleaned by a step of its BIOS.
func (w *world) cleans(step, args string) steps.CleanStepIn {
	w.Helper()
	w.change("bios_interface", "redfish")
	w.change("firmware_interface", "redfish")
	w.change("driver_internal_info", fmt.Sprintf(`{"clean_steps": [{"interface": "bios", "step": %q, "args": %s}]}`, step, args))
	return steps.CleanStepIn{Fence: w.Fence, Of: w.Fence.OperationID}
}

// Settings are sent, take effect at the next start, and are kept then, however often the
// step is run.
func TestBIOSSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	in := w.cleans("apply_configuration", `{"settings": [{"name": "BootDelay", "value": "20"}, {"name": "ProcVirtualization", "value": "Disabled"}]}`)
	a := w.activities(w.DB)
	if _, err := a.Verify(t.Context(), steps.NodeIn{Fence: w.Fence}); err != nil {
		t.Fatal(err)
	}
	w.Kill(func(db *store.DB) error {
		out, err := w.activities(db).CleanStep(t.Context(), in)
		if err == nil && (!out.Restart || out.PowerState != string(provision.PowerOff)) {
			t.Errorf("%+v", out)
		}
		return err
	})
	in.Restarted = true
	if out, err := a.CleanStep(t.Context(), in); err != nil || !out.Pending {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := w.power(provision.PowerReboot); err != nil {
		t.Fatal(err)
	}
	w.Kill(func(db *store.DB) error {
		out, err := w.activities(db).CleanStep(t.Context(), in)
		if err == nil && (out.Pending || out.Restart) {
			t.Errorf("%+v", out)
		}
		return err
	})
	if bios := w.Machine.BIOS(); bios["BootDelay"] != 20.0 || bios["ProcVirtualization"] != "Disabled" || bios["AssetTag"] != "none" {
		t.Errorf("%v", bios)
	}
	kept, err := baremetal.BIOSSettings(t.Context(), w.DB.Pool, w.Node.UUID)
	if err != nil || len(kept) != 4 {
		t.Fatalf("%v, %v", kept, err)
	}
	delay := kept[1]
	if delay.Name != "BootDelay" || *delay.Value != "20" || *delay.AttributeType != "Integer" || *delay.UpperBound != 60 || delay.UpdatedAt == nil || kept[0].UpdatedAt != nil {
		t.Errorf("%+v", delay)
	}
	firmware, err := baremetal.FirmwareComponents(t.Context(), w.DB.Pool, w.Node.UUID)
	if err != nil || len(firmware) != 2 || firmware[0].Component != "bios" || firmware[0].InitialVersion != "1.0" || *firmware[1].CurrentVersion != "2.0" {
		t.Errorf("%+v, %v", firmware, err)
	}
	// What is so already needs no start.
	in.Restarted = false
	if out, err := a.CleanStep(t.Context(), in); err != nil || out.Restart {
		t.Errorf("%+v, %v", out, err)
	}
}

// A reset to what the factory had.
func TestBIOSReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	in := w.cleans("factory_reset", "{}")
	w.Machine.SetBIOS("BootDelay", 50.0)
	w.Kill(func(db *store.DB) error {
		out, err := w.activities(db).CleanStep(t.Context(), in)
		if err == nil && !out.Restart {
			t.Errorf("%+v", out)
		}
		return err
	})
	if _, err := w.power(provision.PowerReboot); err != nil {
		t.Fatal(err)
	}
	in.Restarted = true
	out, err := w.activities(w.DB).CleanStep(t.Context(), in)
	if err != nil || out.Pending || w.Machine.BIOS()["BootDelay"] != 5.0 {
		t.Errorf("%+v, %v, %v", out, err, w.Machine.BIOS())
	}
}

// What a machine can't have is refused before anything is sent.
func TestBIOSRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"settings": []}`:                                                 "settings: a list of names and values is expected",
		`{"settings": "x"}`:                                                "settings: a list of names and values is expected",
		`{"settings": [{"name": "BootDelay"}]}`:                            "settings: each has a name and a value",
		`{"settings": [{"name": "BootDelay", "value": "soon"}]}`:           "invalid value for setting(s): BootDelay",
		`{"settings": [{"name": "BootDelay", "value": 61}]}`:               "invalid value for setting(s): BootDelay",
		`{"settings": [{"name": "ProcVirtualization", "value": "Maybe"}]}`: "invalid value for setting(s): ProcVirtualization",
		`{"settings": [{"name": "NumLock", "value": false}]}`:              "invalid value for setting(s): NumLock",
		`{"settings": [{"name": "AssetTag", "value": "far too long"}]}`:    "invalid value for setting(s): AssetTag",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", nil)
			in := w.cleans("apply_configuration", args)
			if _, err := w.activities(w.DB).Verify(t.Context(), steps.NodeIn{Fence: w.Fence}); err != nil {
				t.Fatal(err)
			}
			_, err := w.activities(w.DB).CleanStep(t.Context(), in)
			f := faults.As(err)
			if f.Kind != faults.Invalid || f.Message != want && f.Message != "Redfish BIOS apply_configuration failed for node "+w.Node.UUID+": "+want {
				t.Errorf("%v", err)
			}
		})
	}
}
