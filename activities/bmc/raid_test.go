package bmc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// arrays is a world whose node has four drives of 100 GiB and is cleaned by a step of its
// RAID interface.
func arrays(t *testing.T, step, args string) (*world, steps.CleanStepIn) {
	t.Helper()
	w := newWorld(t, "redfish", nil)
	w.Machine.Fit(4, []int64{100 << 30, 100 << 30, 100 << 30, 100 << 30})
	w.change("raid_interface", "redfish")
	w.change("target_raid_config", `{"logical_disks": [{"size_gb": 40, "raid_level": "1", "is_root_volume": true, "volume_name": "root"}, {"size_gb": "MAX", "raid_level": "0", "physical_disks": ["3", "4"], "controller": "1"}]}`)
	return w, w.arranges("clean", step, args)
}

// arranges has the node's next step of a phase be one of its RAID interface.
func (w *world) arranges(phase, step, args string) steps.CleanStepIn {
	w.Helper()
	w.change("driver_internal_info", fmt.Sprintf(`{"%s_steps": [{"interface": "raid", "step": %q, "args": %s}]}`, phase, step, args))
	return steps.CleanStepIn{Fence: w.Fence, Of: w.Fence.OperationID, Phase: steps.AgentPhase(phase)}
}

// arranged does a step to its end, with the machine started anew whenever it is to be, and
// says how often that was. The first time the step may be killed before each round trip to
// the database.
func (w *world) arranged(in steps.CleanStepIn, killed bool) (restarts int, err error) {
	w.Helper()
	var out steps.CleanStepOut
	do := func(db *store.DB) error {
		out, err = w.activities(db).CleanStep(w.Context(), in)
		return err
	}
	if killed {
		w.Kill(do)
	}
	for {
		if err := do(w.DB); err != nil || !out.Restart && !out.Pending {
			return in.Restarts, err
		}
		if out.Pending || in.Restarts > 8 {
			w.Fatalf("%+v after %d starts", out, in.Restarts)
		}
		w.Machine.Put(sim.Off)
		w.Machine.Put(sim.On)
		in.Restarted, in.Restarts = true, in.Restarts+1
	}
}

// has fails the test unless those are the machine's volumes, and the node's row knows them.
func (w *world) has(want ...string) {
	w.Helper()
	var got []string
	for _, v := range w.Machine.Volumes() {
		got = append(got, fmt.Sprintf("%s %s of %s: %d", v.Name, v.RAIDType, strings.Join(v.Drives, " "), v.Bytes>>30))
	}
	var known struct {
		Disks []struct {
			Name       string
			Controller string
			Level      string `json:"raid_level"`
		} `json:"logical_disks"`
		Updated string `json:"last_updated"`
	}
	if err := json.Unmarshal(w.Row().RAIDConfig, &known); err != nil || len(known.Disks) != len(want) || known.Updated == "" || strings.Join(got, ", ") != strings.Join(want, ", ") {
		w.Errorf("%v, want %v; the row has %+v, %v", got, want, known, err)
	}
}

// Logical disks are made as the node's target says, once, at once or at the machine's next
// starts, and deleted.
func TestRAID(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"at once": false, "at the next start": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, in := arrays(t, "create_configuration", `{}`)
			if later {
				w.Machine.SettleLater()
			}
			if _, err := w.arranged(in, true); err != nil {
				t.Fatal(err)
			}
			w.has("root RAID1 of 1 2: 40", "Volume v3 RAID0 of 3 4: 200")
			for range 2 {
				if restarts, err := w.arranged(in, false); err != nil || restarts > 0 {
					t.Errorf("again: %d starts, %v", restarts, err)
				}
			}
			w.has("root RAID1 of 1 2: 40", "Volume v3 RAID0 of 3 4: 200")
			// Others take their place, of which the one that isn't the root isn't asked for.
			const other = `{"logical_disks": [{"size_gb": 10, "raid_level": "5", "is_root_volume": true}, {"size_gb": 10, "raid_level": "0"}]}`
			in = w.arranges("deploy", "apply_configuration", `{"delete_existing": true, "raid_config": `+other+`}`)
			if restarts, err := w.arranged(in, false); err != nil || (restarts > 0) != later {
				t.Fatalf("%d starts, %v", restarts, err)
			}
			w.has("Volume v4 RAID5 of 1 2 3: 10")
			if target := string(w.Row().TargetRAIDConfig); !strings.Contains(target, `"5"`) {
				t.Errorf("the target is %s", target)
			}
			in = w.arranges("service", "delete_configuration", `{}`)
			if restarts, err := w.arranged(in, false); err != nil || (restarts > 0) != later {
				t.Fatalf("%d starts, %v", restarts, err)
			}
			w.has()
		})
	}
}

// What can't be made fails the step with a reason.
func TestRAIDThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step, args string
		ready      func(*world)
		fault      string
	}{
		"no target":         {"create_configuration", `{}`, func(w *world) { w.change("target_raid_config", `{}`) }, "has no target RAID configuration."},
		"too large":         {"apply_configuration", `{"raid_config": {"logical_disks": [{"size_gb": 999, "raid_level": "0"}]}}`, nil, "failed to find matching physical disks for all logical disks"},
		"no disks":          {"apply_configuration", `{"raid_config": {"logical_disks": []}}`, nil, "RAID config validation error"},
		"no word":           {"create_configuration", `{"delete_existing": "perhaps"}`, nil, "delete_existing: true or false is expected"},
		"refused":           {"create_configuration", `{}`, func(w *world) { w.Machine.MisbehaveMedia(sim.Refuses) }, "the BMC answered with status 400"},
		"a task that fails": {"create_configuration", `{}`, func(w *world) { w.Machine.SettleLater(); w.Machine.BreakTasks() }, "the BMC's task has failed: it is Exception"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, in := arrays(t, c.step, c.args)
			if c.step == "apply_configuration" {
				in = w.arranges("deploy", c.step, c.args)
			}
			if c.ready != nil {
				c.ready(w)
			}
			if _, err := w.arranged(in, false); err == nil || !strings.Contains(err.Error(), c.fault) || len(w.Machine.Volumes()) > 0 {
				t.Errorf("%v, %v", err, w.Machine.Volumes())
			}
		})
	}
}

// A BMC that is busy, or whose answer is lost, makes each logical disk once.
func TestRAIDOfABMCThatMisbehaves(t *testing.T) {
	t.Parallel()
	for _, f := range []sim.Fault{sim.Unavailable, sim.Drops} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, later %t", f, later), func(t *testing.T) {
				t.Parallel()
				w, in := arrays(t, "create_configuration", `{}`)
				if later {
					w.Machine.SettleLater()
				}
				w.Machine.MisbehaveMedia(f)
				var out steps.CleanStepOut
				var err error
				for range 40 {
					if out, err = w.activities(w.DB).CleanStep(t.Context(), in); err != nil && !faults.Is(err, faults.Unavailable) || err == nil && !out.Restart && !out.Pending {
						break
					}
					if err == nil && out.Restart {
						w.Machine.Put(sim.Off)
						w.Machine.Put(sim.On)
						in.Restarted, in.Restarts = true, in.Restarts+1
					}
				}
				if err != nil || out.Restart || out.Pending {
					t.Fatalf("%+v, %v", out, err)
				}
				if made := w.Machine.Volumes(); len(made) != 2 {
					t.Errorf("%+v", made)
				}
			})
		}
	}
}
