package server_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// powerKind is what a test knows of a kind of operation on a server's power.
type powerKind struct {
	kind operations.Kind
	// before is the server that it is asked for.
	before workflowtest.Server
	// done is the row afterwards.
	done string
	// broken says that one that fails ends in ERROR, unlessRunning that it
	// doesn't if its guest runs.
	broken, unlessRunning bool
}

var powerKinds = []powerKind{
	{kind: operations.ServerStart, before: workflowtest.Server{VMState: "stopped", TaskState: "powering-on", PowerState: 4},
		done: "active, power 1"},
	{kind: operations.ServerStop, before: workflowtest.Server{VMState: "active", TaskState: "powering-off", PowerState: 1},
		done: "stopped, power 4"},
	{kind: operations.ServerStop, before: workflowtest.Server{VMState: "error", TaskState: "powering-off", PowerState: 1},
		done: "stopped, power 4"},
	{kind: operations.ServerReboot, before: workflowtest.Server{VMState: "active", TaskState: "rebooting", PowerState: 1},
		done: "active, power 1", broken: true, unlessRunning: true},
	{kind: operations.ServerHardReboot, before: workflowtest.Server{VMState: "active", TaskState: "rebooting_hard", PowerState: 1},
		done: "active, power 1", broken: true, unlessRunning: true},
	{kind: operations.ServerHardReboot, before: workflowtest.Server{VMState: "suspended", TaskState: "rebooting_hard", PowerState: 4},
		done: "active, power 1", broken: true, unlessRunning: true},
	{kind: operations.ServerPause, before: workflowtest.Server{VMState: "active", TaskState: "pausing", PowerState: 1},
		done: "paused, power 3"},
	{kind: operations.ServerUnpause, before: workflowtest.Server{VMState: "paused", TaskState: "unpausing", PowerState: 3},
		done: "active, power 1"},
	{kind: operations.ServerSuspend, before: workflowtest.Server{VMState: "active", TaskState: "suspending", PowerState: 1},
		done: "suspended, power 4", broken: true},
	{kind: operations.ServerResume, before: workflowtest.Server{VMState: "suspended", TaskState: "resuming", PowerState: 4},
		done: "active, power 1", broken: true},
	{kind: operations.ServerUnrescue, before: workflowtest.Server{VMState: "rescued", TaskState: "unrescuing", PowerState: 1},
		done: "active, power 1", broken: true},
	{kind: operations.ServerRestore, before: workflowtest.Server{VMState: "soft-delete", TaskState: "restoring", PowerState: 4},
		done: "active, power 1"},
}

func (k powerKind) world() *workflowtest.World {
	return workflowtest.NewWorld(k.kind, k.before, "host-1").Place("host-1")
}

// as is the world after a change to it.
func (k powerKind) as(change func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := k.world()
		change(w)
		return w
	}
}

func (k powerKind) row(vm string, power int) string {
	return fmt.Sprintf("%s, power %d, on a host", vm, power)
}

// failed is the vm_state if the host can't, and the guest is as it was.
func (k powerKind) failed() string {
	switch {
	case k.unlessRunning && k.before.PowerState == 1:
		return "active"
	case k.broken:
		return "error"
	}
	return k.before.VMState
}

// failures are the rows that a failure may leave: whether the host acted before
// it failed, and whether it could be asked about it.
func (k powerKind) failures() []string {
	var after int
	var vm string
	if _, err := fmt.Sscanf(k.done, "%s power %d", &vm, &after); err != nil {
		panic(err)
	}
	rows := []string{
		k.row(k.before.VMState, k.before.PowerState), // before the step guest
		k.row(k.before.VMState, 0),                   // the host is down
	}
	for _, found := range []int{k.before.PowerState, after, 0} {
		switch {
		case k.unlessRunning && found == 1:
			rows = append(rows, k.row("active", found))
		case k.broken:
			rows = append(rows, k.row("error", found))
		default:
			rows = append(rows, k.row(k.before.VMState, found))
		}
	}
	return rows
}

// Every kind, with every incident at every call.
func TestPower(t *testing.T) {
	for _, k := range powerKinds {
		t.Run(fmt.Sprintf("%s of %s", k.kind, k.before.VMState), func(t *testing.T) {
			t.Parallel()
			workflowtest.Every(t, workflowtest.Story{
				Workflow: server.Power,
				Scenarios: []workflowtest.Scenario{
					{Name: "done", World: k.world, Result: operations.ResultDone},
					{Name: "cancelled before it acted", Result: operations.ResultCancelled, Message: "the operation was cancelled",
						World: k.as(func(w *workflowtest.World) { w.Op.CancelRequested = true })},
					{Name: "begun again where it acts, and cancelled", Result: operations.ResultDone,
						World: k.as(func(w *workflowtest.World) { w.Op.Step, w.Op.CancelRequested = operations.StepGuest, true })},
					{Name: "out of time", Result: operations.ResultFailed, Message: "the operation did not end in time",
						World: k.as(func(w *workflowtest.World) { w.Op.Deadline = workflowtest.Epoch.Add(-1) })},
					{Name: "the host can't", Result: operations.ResultFailed, Message: "no space left",
						World: k.as(func(w *workflowtest.World) { w.Hosts["host-1"].Broken = true })},
					{Name: "host down", Result: operations.ResultFailed, Message: "the host did not answer in time",
						World: k.as(func(w *workflowtest.World) { w.Down("host-1") })},
				},
				Ends: map[operations.Result][]string{
					operations.ResultDone:      {k.done + ", on a host"},
					operations.ResultCancelled: {k.row(k.before.VMState, k.before.PowerState)},
					operations.ResultFailed:    k.failures(),
				},
			})
		})
	}
}

// What is exactly true after a failure that no incident disturbs.
func TestPowerThatFails(t *testing.T) {
	for _, k := range powerKinds {
		t.Run(fmt.Sprintf("%s of %s", k.kind, k.before.VMState), func(t *testing.T) {
			t.Parallel()
			for name, c := range map[string]struct {
				change func(*workflowtest.World)
				row    string
			}{
				"the host can't":   {func(w *workflowtest.World) { w.Hosts["host-1"].Broken = true }, k.row(k.failed(), k.before.PowerState)},
				"the driver can't": {func(w *workflowtest.World) { w.Hosts["host-1"].Unable = true }, k.row(k.before.VMState, k.before.PowerState)},
				"host down":        {func(w *workflowtest.World) { w.Down("host-1") }, k.row(k.before.VMState, 0)},
			} {
				if w := workflowtest.Told(t, server.Power, k.as(c.change)); w.Row() != c.row {
					t.Errorf("%s: the server is %q, want %q", name, w.Row(), c.row)
				}
			}
		})
	}
}

// A server that is on no host is left alone.
func TestPowerOfNothing(t *testing.T) {
	t.Parallel()
	k := powerKinds[0]
	w := workflowtest.Told(t, server.Power, func() *workflowtest.World { return workflowtest.NewWorld(k.kind, k.before) })
	if w.Op.Result != operations.ResultFailed || w.Op.Fault.Message != "Instance "+workflowtest.ServerID+" is not ready" || w.Op.Fault.HTTPCode != 409 {
		t.Errorf("%s, %+v", w.Op.Result, w.Op.Fault)
	}
}
