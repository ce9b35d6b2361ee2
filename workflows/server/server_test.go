package server_test

import (
	"maps"
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

func building() *workflowtest.World {
	return workflowtest.NewWorld(operations.ServerBuild, workflowtest.Server{VMState: "building", TaskState: "scheduling"}, "host-1", "host-2")
}

func badImage() *workflowtest.World {
	w := building()
	w.BadImage = true
	return w
}

func broken(w *workflowtest.World, hosts ...string) *workflowtest.World {
	for _, name := range hosts {
		w.Hosts[name].Broken = true
	}
	return w
}

// withPorts is a world whose server asks for two ports.
func withPorts(world func() *workflowtest.World, change ...func(*workflowtest.Neutron)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := world()
		w.Neutron.Asked = 2
		for _, c := range change {
			c(&w.Neutron)
		}
		return w
	}
}

func cancelled(w *workflowtest.World) *workflowtest.World {
	w.Op.CancelRequested = true
	return w
}

func deleting() *workflowtest.World {
	return workflowtest.NewWorld(operations.ServerDelete, workflowtest.Server{VMState: "active", TaskState: "deleting", PowerState: 1}, "host-1", "host-2")
}

// histories are written by TestOnTemporal.
const histories = "testdata/histories"

func TestReplay(t *testing.T) { workflowtest.Replay(t, server.Workflows, histories) }

// withVolumes is a world whose server asks for a volume.
func withVolumes(world func() *workflowtest.World, change ...func(*workflowtest.Cinder)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := world()
		w.Cinder.Asked = 1
		for _, c := range change {
			c(&w.Cinder)
		}
		return w
	}
}

// Builds whose server has volumes, and in one case ports too.
func TestBuildWithVolumes(t *testing.T) {
	const aborted = "Build of instance " + workflowtest.ServerID + " aborted: "
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Build,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: withVolumes(building), Result: operations.ResultDone},
			{Name: "done with ports", World: withPorts(withVolumes(building)), Result: operations.ResultDone},
			{Name: "made late", Result: operations.ResultDone,
				World: withVolumes(building, func(c *workflowtest.Cinder) { c.Slow = 2 })},
			{Name: "never made", Result: operations.ResultFailed,
				World:   withVolumes(building, func(c *workflowtest.Cinder) { c.Slow = 1000 }),
				Message: aborted + "Volume v did not finish being created even after we waited 60 seconds or 7 attempts. And its status is creating."},
			{Name: "no such volume", Result: operations.ResultFailed,
				World:   withVolumes(building, func(c *workflowtest.Cinder) { c.Missing = true }),
				Message: aborted + "Volume v could not be found."},
			{Name: "done on the second host", Result: operations.ResultDone,
				World: withVolumes(func() *workflowtest.World { return broken(building(), "host-1") })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isActive + ", with volumes", isActive + ", with ports, with volumes"},
			operations.ResultFailed:    {isError},
			operations.ResultCancelled: {isError},
		},
	})
}

// A build that leaves hosts counts against those that failed it, the last one too; one
// that fails by itself, or has been cancelled, against none.
func TestABuildBlamesTheHostsThatFailIt(t *testing.T) {
	t.Parallel()
	cancelled := func() *workflowtest.World {
		w := building()
		w.Op.CancelRequested = true
		return w
	}
	for name, c := range map[string]struct {
		world func() *workflowtest.World
		want  map[string]int
	}{
		"built":                  {building, map[string]int{}},
		"built on the second":    {func() *workflowtest.World { return broken(building(), "host-1") }, map[string]int{"host-1": 1}},
		"failed by all":          {func() *workflowtest.World { return broken(building(), "host-1", "host-2") }, map[string]int{"host-1": 1, "host-2": 1}},
		"of an image that fails": {badImage, map[string]int{}},
		"cancelled":              {cancelled, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := map[string]int{}
			for name, h := range workflowtest.Told(t, server.Build, c.world).Hosts {
				if h.FailedBuilds > 0 {
					failed[name] = h.FailedBuilds
				}
			}
			if !maps.Equal(failed, c.want) {
				t.Errorf("failed builds %v, want %v", failed, c.want)
			}
		})
	}
}

// Builds whose server has ports.
func TestBuildWithPorts(t *testing.T) {
	const aborted = "Build of instance " + workflowtest.ServerID + " aborted: "
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Build,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: withPorts(building), Result: operations.ResultDone},
			{Name: "plugged late", Result: operations.ResultDone,
				World: withPorts(building, func(n *workflowtest.Neutron) { n.Slow = true })},
			{Name: "never plugged", Result: operations.ResultFailed,
				World:   withPorts(building, func(n *workflowtest.Neutron) { n.Silent = true }),
				Message: aborted + "Failed to allocate the network(s), not rescheduling."},
			{Name: "can't be plugged", Result: operations.ResultFailed,
				World:   withPorts(building, func(n *workflowtest.Neutron) { n.Fails = true }),
				Message: aborted + "Failed to allocate the network(s), not rescheduling."},
			{Name: "no more ports", Result: operations.ResultFailed,
				World:   withPorts(building, func(n *workflowtest.Neutron) { n.Full = true }),
				Message: aborted + "Failed to allocate the network(s) with error Maximum number of ports exceeded, not rescheduling."},
			{Name: "a host that can't be bound to", Result: operations.ResultDone,
				World: withPorts(building, func(n *workflowtest.Neutron) { n.Unbindable = "host-1" })},
			{Name: "Neutron down", Result: operations.ResultFailed, Debts: 1,
				World:   withPorts(building, func(n *workflowtest.Neutron) { n.Down = true }),
				Message: aborted + "Failed to allocate the network(s), not rescheduling."},
			{Name: "done on the second host", Result: operations.ResultDone,
				World: withPorts(func() *workflowtest.World { return broken(building(), "host-1") })},
			{Name: "bad image", World: withPorts(badImage), Result: operations.ResultFailed,
				Message: "Image is unacceptable: not what it claims to be"},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isActive + ", with ports"},
			operations.ResultFailed:    {isError},
			operations.ResultCancelled: {isError},
		},
	})
}

const (
	isActive  = "active, power 1, on a host"
	isError   = "error, power 0, on no host"
	isDeleted = "deleted, power 0, on a host"
	isNothing = "deleted, power 0, on no host"
)

func TestBuild(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Build,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", World: building, Result: operations.ResultDone},
			{Name: "done on the second host", Result: operations.ResultDone,
				World: func() *workflowtest.World { return broken(building(), "host-1") }},
			{Name: "no host can", Result: operations.ResultFailed,
				World:   func() *workflowtest.World { return broken(building(), "host-1", "host-2") },
				Message: "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance " + workflowtest.ServerID + "."},
			{Name: "no host", Result: operations.ResultFailed, Message: "No valid host was found.",
				World: func() *workflowtest.World { return building().Down("host-1").Down("host-2") }},
			{Name: "bad image", World: badImage, Result: operations.ResultFailed,
				Message: "Image is unacceptable: not what it claims to be"},
			{Name: "cancelled", Result: operations.ResultCancelled, Message: "the operation was cancelled",
				World: func() *workflowtest.World { return cancelled(building()) }},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:      {isActive},
			operations.ResultFailed:    {isError},
			operations.ResultCancelled: {isError},
		},
	})
}

func TestDelete(t *testing.T) {
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Delete,
		Scenarios: []workflowtest.Scenario{
			{Name: "done", Result: operations.ResultDone,
				World: func() *workflowtest.World { return deleting().Place("host-1") }},
			{Name: "never placed", Result: operations.ResultDone, World: deleting},
			{Name: "with ports", Result: operations.ResultDone,
				World: func() *workflowtest.World { return withPorts(deleting)().Place("host-1") }},
			{Name: "with ports and volumes", Result: operations.ResultDone,
				World: func() *workflowtest.World { return withPorts(withVolumes(deleting))().Place("host-1") }},
			{Name: "with ports and volumes, services down", Result: operations.ResultDone, Debts: 2,
				World: func() *workflowtest.World {
					w := withPorts(withVolumes(deleting))().Place("host-1")
					w.Neutron.Down, w.Cinder.Down = true, true
					return w
				}},
			{Name: "with ports, host down", Result: operations.ResultDone, Debts: 2,
				World: func() *workflowtest.World { return withPorts(deleting)().Place("host-1").Down("host-1") }},
			{Name: "host down", Result: operations.ResultDone, Debts: 2,
				World: func() *workflowtest.World { return deleting().Place("host-1").Down("host-1") }},
		},
		Ends: map[operations.Result][]string{operations.ResultDone: {
			isDeleted, isDeleted + ", with ports", isDeleted + ", with volumes", isDeleted + ", with ports, with volumes", isNothing}},
	})
}

// lost is a world in which an operation of kind was lost at step, seen by the
// recover operation that has its ledger.
func lost(kind operations.Kind, step string, setUp func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := workflowtest.NewWorld(operations.ServerRecover, workflowtest.Server{VMState: "active", TaskState: "busy", PowerState: 1}, "host-1", "host-2")
		w.Recovers = &steps.Recovered{OperationID: "server/dead", Kind: kind, Step: step}
		setUp(w)
		return w
	}
}

// halfBuilt is what a build leaves that was lost while its guest was being made.
func halfBuilt(w *workflowtest.World) {
	w.Server.VMState, w.Server.PowerState = "building", 0
	w.Hosts["host-1"].Claims[workflowtest.ServerID] = true
	w.Hosts["host-1"].Guests[workflowtest.ServerID] = true
	w.Ledger = []operations.Effect{
		{Seq: 1, Kind: operations.EffectClaim, Ref: workflowtest.ServerID, Host: "host-1", Attempt: 1, State: operations.Done},
		{Seq: 2, Kind: operations.EffectGuest, Ref: workflowtest.ServerID, Host: "host-1", Attempt: 1, State: operations.Intended},
	}
}

func placed(w *workflowtest.World) { w.Place("host-1") }

func TestRecover(t *testing.T) {
	const undone = "The build was interrupted by an operator or a fault of the control plane and has been undone."
	workflowtest.Every(t, workflowtest.Story{
		Workflow: server.Recover,
		Scenarios: []workflowtest.Scenario{
			{Name: "build", World: lost(operations.ServerBuild, operations.StepGuest, halfBuilt),
				Result: operations.ResultDone, Message: undone},
			{Name: "build on a host that is down", Result: operations.ResultDone, Message: undone, Debts: 2,
				World: lost(operations.ServerBuild, operations.StepGuest, func(w *workflowtest.World) { halfBuilt(w); w.Down("host-1") })},
			{Name: "build that was to be cancelled", Result: operations.ResultDone, Message: "The build was cancelled and has been undone.",
				World: lost(operations.ServerBuild, operations.StepUndo, func(w *workflowtest.World) { halfBuilt(w); w.Recovers.Cancelled = true })},
			{Name: "build with ports and volumes", Result: operations.ResultDone, Message: undone,
				World: withPorts(withVolumes(lost(operations.ServerBuild, operations.StepGuest, func(w *workflowtest.World) {
					halfBuilt(w)
					w.Neutron.Bound, w.Cinder.Made, w.Cinder.Attached = "host-1", true, "host-1"
					w.Ledger = slices.Insert(w.Ledger, 1,
						operations.Effect{Seq: 2, Kind: operations.EffectPorts, Ref: workflowtest.ServerID, Attempt: 1, State: operations.Intended},
						operations.Effect{Seq: 3, Kind: operations.EffectVolumes, Ref: workflowtest.ServerID, Attempt: 1, State: operations.Intended})
					w.Ledger[3].Seq = 4
				})))},
			{Name: "delete", World: lost(operations.ServerDelete, operations.StepGuest, placed), Result: operations.ResultDone},
			{Name: "stop before it acted", World: lost(operations.ServerStop, "", placed), Result: operations.ResultDone,
				Message: "The stop was interrupted by an operator or a fault of the control plane and has been undone."},
			{Name: "stop", World: lost(operations.ServerStop, operations.StepGuest, placed), Result: operations.ResultDone},
			{Name: "reboot", World: lost(operations.ServerReboot, operations.StepGuest, placed), Result: operations.ResultDone},
			{Name: "hard reboot", World: lost(operations.ServerHardReboot, operations.StepGuest, placed), Result: operations.ResultDone},
			{Name: "stop on a host that is down", Result: operations.ResultFailed, Message: "the host did not answer in time",
				World: lost(operations.ServerStop, operations.StepGuest, func(w *workflowtest.World) { w.Place("host-1").Down("host-1") })},
		},
		Ends: map[operations.Result][]string{
			operations.ResultDone:   {isError, isDeleted, isActive, "stopped, power 4, on a host"},
			operations.ResultFailed: {isActive, "error, power 0, on a host", "active, power 0, on a host", "active, power 4, on a host"},
		},
	})
}
