package bmc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// still has nobody be at work on the world's node, whose row says a power.
func (w *world) still(power provision.Power) {
	w.Helper()
	computetest.InTx(w.T, w.DB, func(tx store.Tx) error {
		if err := baremetal.Publish(w.Context(), tx, w.Node.UUID, steps.NodeOutcome{}, nil); err != nil {
			return err
		}
		_, err := w.Engine.Finish(w.Context(), tx, steps.FinishIn{Fence: w.Fence, Result: operations.ResultDone})
		return err
	})
	w.change("provision_state", "manageable")
	if power != "" {
		w.change("power_state", string(power))
	}
	err := baremetal.BeatConductor(w.Context(), w.DB.Pool, baremetal.Conductor{Hostname: "conductor-1", Drivers: []string{"redfish", "fake"}})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) change(column string, value any) {
	w.Helper()
	if _, err := w.DB.Pool.Exec(w.Context(), `UPDATE baremetal.nodes SET `+column+` = $2 WHERE uuid = $1`, w.Node.UUID, value); err != nil {
		w.Fatal(err)
	}
}

// sync does a round, and again under the same name, as a step that is repeated does.
func (w *world) sync(round string, recovers, force bool) steps.SyncNodesOut {
	w.Helper()
	a := w.activities(w.DB)
	a.Sync = SyncOptions{MaxRetries: 2, Force: force, Timeout: time.Minute}
	in := steps.SyncNodesIn{NodePagesIn: steps.NodePagesIn{Recovers: recovers}, Round: round}
	out, err := a.SyncPower(w.Context(), in)
	if err == nil {
		_, err = a.SyncPower(w.Context(), in)
	}
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// shows is the node's power and what is wrong with it.
func (w *world) shows() string {
	n, power, fault := w.Row(), "?", ""
	if n.PowerState != nil {
		power = *n.PowerState
	}
	if n.Fault != nil {
		fault = *n.Fault
	}
	return fmt.Sprint(power, " ", n.Maintenance, " ", fault)
}

// The row is made to say what the machine is, or the machine is brought to what the row
// says, by an operation.
func TestSyncPower(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row     provision.Power
		machine sim.Power
		force   bool
		change  map[string]any
		shows   string
		brings  bool
	}{
		"in step":                {provision.PowerOn, sim.On, true, nil, "power on false ", false},
		"never known":            {"", sim.On, true, nil, "power on false ", false},
		"out of step, forced":    {provision.PowerOn, sim.Off, true, nil, "power on false ", true},
		"out of step":            {provision.PowerOn, sim.Off, false, nil, "power off false ", false},
		"never turned off":       {provision.PowerOff, sim.On, true, map[string]any{"disable_power_off": true}, "power on false ", false},
		"in maintenance":         {provision.PowerOn, sim.Off, true, map[string]any{"maintenance": true}, "power on true ", false},
		"waiting":                {provision.PowerOn, sim.Off, true, map[string]any{"provision_state": "clean wait"}, "power on false ", false},
		"enrolled":               {provision.PowerOn, sim.Off, true, map[string]any{"provision_state": "enroll"}, "power on false ", false},
		"somebody is at work":    {provision.PowerOn, sim.Off, true, map[string]any{"reservation": "c"}, "power on false ", false},
		"on its way":             {provision.PowerOn, sim.Off, true, map[string]any{"target_power_state": "power off"}, "power on false ", false},
		"without a BMC":          {provision.PowerOff, sim.Off, true, map[string]any{"power_interface": "agent"}, "power on false ", false},
		"by what isn't here":     {provision.PowerOn, sim.Off, true, map[string]any{"power_interface": "wax"}, "power on false ", false},
		"never known, nor where": {"", sim.On, true, map[string]any{"driver_info": "{}"}, "? false ", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", nil)
			w.Machine.Put(c.machine)
			w.still(c.row)
			w.change("last_error", "of old")
			for column, value := range c.change {
				w.change(column, value)
			}
			w.sync("1", false, c.force)
			holder, err := w.Engine.Holder(t.Context(), w.DB.Pool, operations.Node, w.Node.UUID)
			if shows := w.shows(); err != nil || shows != c.shows || (holder != "") != c.brings {
				t.Errorf("%s, held by %q, %v", shows, holder, err)
			}
			if n := w.Row(); c.brings != (n.TargetPowerState != nil) && c.change == nil {
				t.Errorf("%v", n.TargetPowerState)
			}
			if n := w.Service.Sessions(); n != 0 || len(w.Machine.Turns()) > 0 {
				t.Errorf("%d sessions are left, turned %v", n, w.Machine.Turns())
			}
			if report, err := w.Engine.Audit(t.Context(), baremetal.Probes...); err == nil && c.change == nil && len(report.Findings) > 0 {
				t.Errorf("%+v", report.Findings)
			}
		})
	}
}

// A BMC that says nothing has its node be in maintenance after some rounds, and out of it
// again when it answers.
func TestPowerFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", func(info map[string]any) { info["redfish_address"] = "https://127.0.0.1:1" })
	w.still(provision.PowerOn)
	for round, want := range []string{"power on false ", "power on false ", "? true power failure", "? true power failure"} {
		out := w.sync(fmt.Sprint(round), false, true)
		if shows := w.shows(); shows != want || out.Failed == 0 && round < 3 {
			t.Errorf("after round %d: %s, %+v", round, shows, out)
		}
	}
	n := w.Row()
	want := "During sync_power_state, max retries exceeded for node " + n.UUID + ", node state None does not match expected state 'power on'. " +
		"Updating DB state to 'None' Switching node to maintenance mode. Error: Redfish exception occurred. Error: the BMC could not be reached or answered nonsense"
	if n.LastError == nil || *n.LastError != want || n.MaintenanceReason == nil || *n.MaintenanceReason != want {
		t.Errorf("%v, %v", n.LastError, n.MaintenanceReason)
	}
	events, err := baremetal.NodeEvents.List(t.Context(), w.DB.Pool, baremetal.List{Limit: 10})
	if err != nil || len(events) != 1 || events[0].EventType == nil || *events[0].EventType != "monitoring" || events[0].Event != want {
		t.Errorf("%+v, %v", events, err)
	}
	if w.sync("5", true, true); w.shows() != "? true power failure" {
		t.Errorf("it doesn't answer, and is %s", w.shows())
	}
	w.change("driver_info", strings.ReplaceAll(string(n.DriverInfo), "https://127.0.0.1:1", w.Service.URL()))
	w.Machine.Put(sim.On)
	if w.sync("6", true, true); w.shows() != "power on false " {
		t.Errorf("it answers, and is %s", w.shows())
	}
}

// A machine that is out of step again and again is let be, as it is.
func TestPowerThatComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.still(provision.PowerOn)
	for round := range 3 {
		w.sync(fmt.Sprint(round), false, true)
		id, err := w.Engine.Holder(t.Context(), w.DB.Pool, operations.Node, w.Node.UUID)
		if err != nil || (id != "") != (round < 2) {
			t.Fatalf("round %d: %q, %v", round, id, err)
		}
		if id == "" {
			break
		}
		computetest.InTx(t, w.DB, func(tx store.Tx) error {
			begun, err := w.Engine.Begin(t.Context(), tx, steps.BeginIn{OperationID: id, RunID: "run"})
			if err != nil {
				return err
			}
			failed := &steps.Fault{Code: "PowerStateFailure", Message: "it can't"}
			if err := baremetal.Publish(t.Context(), tx, w.Node.UUID, steps.NodeOutcome{}, failed); err != nil {
				return err
			}
			_, err = w.Engine.Finish(t.Context(), tx, steps.FinishIn{Fence: steps.Fence{OperationID: id, RunID: "run", Generation: begun.Generation},
				Result: operations.ResultFailed, Fault: failed})
			return err
		})
	}
	if shows := w.shows(); shows != "power off true power failure" {
		t.Error(shows)
	}
}

// BMCs that don't answer delay those that do by nothing but the first time.
func TestASlowBMCDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.still(provision.PowerOff)
	computetest.InTx(t, w.DB, func(tx store.Tx) error {
		_, err := baremetal.FailPower(t.Context(), tx, w.Node.UUID, "0")
		return err
	})
	a := w.activities(w.DB)
	a.lanes = newLanes(1)
	if err := a.lanes.good.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	// Whoever has failed before needs no place among the good ones, nor the other way
	// about.
	if out, err := a.SyncPower(t.Context(), steps.SyncNodesIn{Round: "1"}); err != nil || out.Nodes != 1 || out.Failed != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	a.lanes.good.Release(1)
	if err := a.lanes.failing.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if out, err := a.SyncPower(t.Context(), steps.SyncNodesIn{Round: "2"}); err != nil || out.Nodes != 1 || out.Failed != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// The parts of a round are all of the nodes, each once.
func TestNodePages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fake", nil)
	w.still(provision.PowerOff)
	for i := range 4 {
		n := *w.Node
		n.UUID = fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", i)
		if n.OperationID, n.Reservation = nil, nil; i == 3 {
			n.ConductorGroup = "nobody's"
		}
		n.ProvisionState = provision.Manageable
		computetest.InTx(t, w.DB, func(tx store.Tx) error { return baremetal.Nodes.Create(t.Context(), tx, &n) })
	}
	pages, err := baremetal.NodePages(t.Context(), w.DB.Pool, false, 3, 10)
	if err != nil || len(pages) != 2 {
		t.Fatalf("%+v, %v", pages, err)
	}
	all := 0
	for _, p := range pages {
		some, _, err := baremetal.NodesOfPage(t.Context(), w.DB.Pool, p, false, 3)
		if err != nil {
			t.Fatal(err)
		}
		all += len(some)
	}
	if all != 4 {
		t.Errorf("%d nodes are in the parts", all)
	}
	if pages, err := baremetal.NodePages(t.Context(), w.DB.Pool, true, 3, 10); err != nil || len(pages) > 0 {
		t.Errorf("%+v, %v", pages, err)
	}
}
