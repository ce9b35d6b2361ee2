package server_test

// Volumes and interfaces that come and go: every incident at every call.

import (
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

// deviceKind is what a test knows of a kind of operation on a device.
type deviceKind struct {
	kind operations.Kind
	// leaves says that the device goes, port that it is one.
	leaves, port bool
	// unhoused says that it is done to a server without a host too.
	unhoused bool
}

var deviceKinds = []deviceKind{
	{kind: operations.ServerAttachVolume, unhoused: true},
	{kind: operations.ServerDetachVolume, leaves: true, unhoused: true},
	{kind: operations.ServerAttachInterface, port: true},
	{kind: operations.ServerDetachInterface, leaves: true, port: true},
}

const (
	withIt    = "active, power 1, on a host, with the device"
	withoutIt = "active, power 1, on a host"
)

func (k deviceKind) world() *workflowtest.World {
	return k.with(workflowtest.NewWorld(k.kind, workflowtest.Server{VMState: "active", PowerState: 1}, "host-1").Place("host-1"))
}

// with has the device come to a world, or go from it.
func (k deviceKind) with(w *workflowtest.World) *workflowtest.World {
	if k.port {
		return w.WithPort(k.leaves)
	}
	return w.WithVolume(k.leaves)
}

func (k deviceKind) as(change func(*workflowtest.World)) func() *workflowtest.World {
	return func() *workflowtest.World {
		w := k.world()
		change(w)
		return w
	}
}

// ends are the rows afterwards: one that comes is there if all went well, one
// that goes is there if it did not.
func (k deviceKind) ends() map[operations.Result][]string {
	done, undone := withIt, withoutIt
	if k.leaves {
		done, undone = undone, done
	}
	return map[operations.Result][]string{
		operations.ResultDone:   {done},
		operations.ResultFailed: {undone}, operations.ResultCancelled: {undone},
	}
}

func TestDevices(t *testing.T) {
	for _, k := range deviceKinds {
		t.Run(string(k.kind), func(t *testing.T) {
			t.Parallel()
			scenarios := []workflowtest.Scenario{{Name: "done", World: k.world, Result: operations.ResultDone}}
			refused := faults.New(faults.Invalid, "InvalidVolume", "Invalid volume: status must be available or in-use")
			if k.leaves {
				scenarios = append(scenarios,
					workflowtest.Scenario{Name: "the guest keeps it", Result: operations.ResultFailed, Message: "Device detach failed for vdb: the guest keeps it",
						World: k.as(func(w *workflowtest.World) { w.Device.Stuck = true })},
					workflowtest.Scenario{Name: "gone already", Result: operations.ResultDone,
						World: k.as(func(w *workflowtest.World) { *w.Device = workflowtest.Device{Port: k.port} })},
					workflowtest.Scenario{Name: "the service is down", Result: operations.ResultDone, Debts: 1,
						World: k.as(func(w *workflowtest.World) { w.Cinder.Down, w.Neutron.Down = true, true })})
			} else {
				scenarios = append(scenarios,
					workflowtest.Scenario{Name: "refused", Result: operations.ResultFailed, Message: refused.Message,
						World: k.as(func(w *workflowtest.World) { w.Device.Refused = refused })})
			}
			scenarios = append(scenarios, workflowtest.Scenario{Name: "cancelled before", Result: operations.ResultCancelled,
				Message: "the operation was cancelled", World: k.as(func(w *workflowtest.World) { w.Op.CancelRequested = true })})
			ends := k.ends()
			if k.leaves {
				// Owed by the service, it is shown until that has paid; and it may
				// have been gone before.
				ends[operations.ResultDone] = append(ends[operations.ResultDone], withIt)
				ends[operations.ResultFailed] = append(ends[operations.ResultFailed], withoutIt)
				ends[operations.ResultCancelled] = append(ends[operations.ResultCancelled], withoutIt)
			}
			workflowtest.Every(t, workflowtest.Story{Workflow: server.Workflows[k.kind], Scenarios: scenarios, Ends: ends})
		})
	}
}

// A server that is on no host has its volumes at Cinder only.
func TestVolumesOfAServerOnNoHost(t *testing.T) {
	for _, k := range deviceKinds {
		if !k.unhoused {
			continue
		}
		t.Run(string(k.kind), func(t *testing.T) {
			t.Parallel()
			offloaded := func() *workflowtest.World {
				return k.with(workflowtest.NewWorld(k.kind, workflowtest.Server{VMState: "shelved_offloaded"}))
			}
			const without = "shelved_offloaded, power 0, on no host"
			workflowtest.Every(t, workflowtest.Story{Workflow: server.Workflows[k.kind],
				Scenarios: []workflowtest.Scenario{{Name: "done", World: offloaded, Result: operations.ResultDone}},
				Ends: map[operations.Result][]string{
					operations.ResultDone:      {without, without + ", with the device"},
					operations.ResultFailed:    {without, without + ", with the device"},
					operations.ResultCancelled: {without, without + ", with the device"},
				}})
		})
	}
}

// Every one that is lost, before it acted and in each of its steps.
func TestRecoverDevices(t *testing.T) {
	for _, k := range deviceKinds {
		t.Run(string(k.kind), func(t *testing.T) {
			t.Parallel()
			spec, _ := operations.Lookup(k.kind)
			at := func(step string, effects ...operations.Effect) func() *workflowtest.World {
				return func() *workflowtest.World {
					w := lostShared(k.kind, step)
					k.with(w.Place("host-1"))
					// What the service is asked to take back the guest has let go of.
					w.Device.Plugged = k.leaves && len(effects) == 0
					for i, e := range effects {
						e.Seq, e.Attempt, e.State = i+1, 1, operations.Intended
						w.Ledger = append(w.Ledger, e)
					}
					return w
				}
			}
			undone := "The " + spec.Verb + " was interrupted by an operator or a fault of the control plane and has been undone."
			service := operations.Effect{Kind: operations.EffectVolume, Ref: workflowtest.DeviceID}
			if k.port {
				service = operations.Effect{Kind: operations.EffectPort, Ref: "3"}
			}
			device := operations.Effect{Kind: operations.EffectDevice, Ref: workflowtest.DeviceID, Host: "host-1"}
			var scenarios []workflowtest.Scenario
			if k.leaves {
				scenarios = []workflowtest.Scenario{
					{Name: "before it acted", World: at(""), Result: operations.ResultDone, Message: undone},
					{Name: "in the guest", World: at(operations.StepGuest), Result: operations.ResultDone},
					{Name: "at the service", World: at(spec.Steps[1], service), Result: operations.ResultDone},
				}
			} else {
				scenarios = []workflowtest.Scenario{
					{Name: "at the service", World: at(spec.Steps[0], service), Result: operations.ResultDone, Message: undone},
					{Name: "in the guest", World: at(operations.StepGuest, service, device), Result: operations.ResultDone, Message: undone},
				}
			}
			workflowtest.Every(t, workflowtest.Story{Workflow: server.Recover, Scenarios: scenarios,
				Ends: map[operations.Result][]string{
					operations.ResultDone:   {withIt, withoutIt},
					operations.ResultFailed: {withIt, withoutIt},
				}})
		})
	}
}

// devicesOnTemporal are every kind done, failed and cancelled, and lost ones.
func devicesOnTemporal() map[string]told {
	all := map[string]told{}
	for _, k := range deviceKinds {
		spec, _ := operations.Lookup(k.kind)
		done, undone := withIt, withoutIt
		if k.leaves {
			done, undone = undone, done
		}
		refused := k.as(func(w *workflowtest.World) {
			w.Device.Stuck, w.Device.Refused = true, faults.New(faults.Invalid, "Refused", "the service refuses it")
		})
		all[spec.Verb+"-done"] = told{k.world, nil, completed, operations.ResultDone, done}
		all[spec.Verb+"-failed"] = told{refused, nil, failed, operations.ResultFailed, undone}
		all[spec.Verb+"-cancelled"] = told{k.as(func(w *workflowtest.World) { w.Op.CancelRequested = true }), nil, canceled, operations.ResultCancelled, undone}
		all["recover-"+spec.Verb] = told{func() *workflowtest.World {
			w := lostShared(k.kind, operations.StepGuest)
			k.with(w.Place("host-1"))
			if !k.leaves {
				service := operations.Effect{Kind: operations.EffectVolume, Ref: workflowtest.DeviceID}
				if k.port {
					service = operations.Effect{Kind: operations.EffectPort, Ref: "3"}
				}
				service.Seq, service.Attempt, service.State = 1, 1, operations.Done
				w.Ledger = append(w.Ledger, service)
			}
			return w
		}, nil, completed, operations.ResultDone, withoutIt}
	}
	return all
}

// lostShared is the world of a recovery of an operation that shared its server.
func lostShared(kind operations.Kind, step string) *workflowtest.World {
	w := workflowtest.NewWorld(operations.ServerRecoverShared, workflowtest.Server{VMState: "active", PowerState: 1}, "host-1")
	w.Recovers = &steps.Recovered{OperationID: "server/dead", Kind: kind, Step: step}
	return w
}
