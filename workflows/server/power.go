package server

// Power carries out the operations on a server's power: start, stop, reboot
// soft and hard, pause, unpause, suspend, resume, unrescue, and restore of
// one that was soft-deleted. They are one story; a row of a table says what each does and
// what is true when it fails.
//
//	as it was ──guest──► the state that was asked for
//	    ▲                     │ failed: as it was, or ERROR, by the row
//	    └── cancelled before  │ host down: as it was, power unknown
//
// Point of no return: the step guest. A cancel that comes later (a delete or a
// hard reboot that pre-empts, too) cuts the step short: the host leaves off
// waiting for the guest, and the work is finished by force.
//
//	step    before it                   after it
//	guest   nothing has been done;      the guest is in the state that was asked
//	        cancelled, it is as it was  for, cancelled or not
//	finish  the same                    the row says it
//
//	failed  the fault says why. The guest is observed: the row has its power
//	        state, or none (0) if the host could not be asked. What becomes of
//	        the vm_state is the original's rule (nova/compute/manager.py):
//	        suspend, resume and unrescue end in ERROR, a reboot too unless the guest runs,
//	        the others leave it as it was. A host that is down, or whose driver
//	        can't do such a thing at all, is no fault of the server: its vm_state
//	        stays.

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// power is what an operation on a server's power does.
type power struct {
	action steps.PowerAction
	// forced does the same without waiting for the guest.
	forced steps.PowerAction
	// recovered is what is done instead if the operation was lost: a reboot
	// may have happened or not; either way the guest has to run.
	recovered steps.PowerAction
	// leadsTo is the vm_state afterwards.
	leadsTo string
	// failed is what is true if it could not be done and the guest was found so.
	failed func(steps.PowerOut) *steps.ServerOutcome
}

// powers has a row per kind (contracts: action-preconditions.json, final_vm_state).
var powers = map[operations.Kind]power{
	operations.ServerStart:      {steps.PowerStart, steps.PowerStart, steps.PowerStart, vmActive, asItWas},
	operations.ServerStop:       {steps.PowerStop, steps.PowerForceStop, steps.PowerForceStop, vmStopped, asItWas},
	operations.ServerReboot:     {steps.PowerReboot, steps.PowerHardReboot, steps.PowerStart, vmActive, brokenUnlessRunning},
	operations.ServerHardReboot: {steps.PowerHardReboot, steps.PowerHardReboot, steps.PowerStart, vmActive, brokenUnlessRunning},
	operations.ServerPause:      {steps.PowerPause, steps.PowerPause, steps.PowerPause, vmPaused, asItWas},
	operations.ServerUnpause:    {steps.PowerUnpause, steps.PowerUnpause, steps.PowerUnpause, vmActive, asItWas},
	operations.ServerSuspend:    {steps.PowerSuspend, steps.PowerSuspend, steps.PowerSuspend, vmSuspended, brokenWith},
	operations.ServerResume:     {steps.PowerResume, steps.PowerResume, steps.PowerResume, vmActive, brokenWith},
	operations.ServerUnrescue:   {steps.PowerUnrescue, steps.PowerUnrescue, steps.PowerUnrescue, vmActive, brokenWith},
	operations.ServerRestore:    {steps.PowerStart, steps.PowerStart, steps.PowerStart, vmActive, asItWas},
}

// Power is the workflow of every kind in powers.
func Power(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undo)
	if s == nil {
		return err
	}
	p := powers[s.Begun.Kind]
	now, err := p.tell(s, p.cutShort)
	return s.Close(saga.Outcome{Server: now, OnFailure: now}, err)
}

// again is what a recovery does for an operation that was lost in its step guest.
func (p power) again(s *saga.Saga) (*steps.ServerOutcome, error) {
	return p.tell(s, func(s *saga.Saga, host string) (steps.PowerOut, error) {
		return drive(s, s.Context(), host, p.recovered)
	})
}

// tell does the step guest, and says what is true of the server afterwards
// whether it went well or not.
func (p power) tell(s *saga.Saga, act func(*saga.Saga, string) (steps.PowerOut, error)) (*steps.ServerOutcome, error) {
	host, err := homeOf(s)
	if err != nil {
		return unchanged(), err
	}
	if err := s.Step(operations.StepGuest, saga.Move{Host: host}); err != nil {
		return unchanged(), err
	}
	found, err := act(s, host)
	switch {
	case err == nil:
		return &steps.ServerOutcome{VMState: &p.leadsTo, PowerState: &found.PowerState}, nil
	case steps.IsSuperseded(err):
		return nil, err
	case errors.Is(err, saga.ErrHostDown), steps.IsHostSilent(err):
		return unknown(), err
	case steps.IsNotSupported(err):
		return unchanged(), err
	}
	found, unseen := steps.Libvirt.Power(s.Grace(forcePatience), host, steps.PowerIn{Token: s.Token(), Action: steps.PowerObserve})
	if unseen != nil {
		found = steps.PowerOut{}
	}
	return p.failed(found), err
}

// homeOf is the host that the server's guest is on.
func homeOf(s *saga.Saga) (string, error) {
	if s.Begun.Server.Host == "" {
		return "", faults.New(faults.Conflict, "InstanceNotReady", "Instance %s is not ready", s.Begun.ResourceID)
	}
	return s.Begun.Server.Host, nil
}

// forcePatience bounds what is done by force, and each look at the guest.
const forcePatience = 30 * time.Second

// cutShort drives the guest, and does so by force once a cancel has come.
func (p power) cutShort(s *saga.Saga, host string) (steps.PowerOut, error) {
	found, err := drive(s, s.Interruptible(), host, p.action)
	if !temporal.IsCanceledError(err) {
		return found, err
	}
	return steps.Libvirt.Power(s.Grace(forcePatience), host, steps.PowerIn{Token: s.Token(), Action: p.forced})
}

// drive brings the guest to the state that the action leads to.
func drive(s *saga.Saga, ctx workflow.Context, host string, action steps.PowerAction) (found steps.PowerOut, err error) {
	err = saga.OnHost(ctx, host, func(ctx workflow.Context) (err error) {
		found, err = steps.Libvirt.Power(ctx, host, steps.PowerIn{Token: s.Token(), Action: action})
		return err
	})
	return found, err
}

// asItWas: what was to change the guest could not; its power is as found.
func asItWas(found steps.PowerOut) *steps.ServerOutcome {
	return &steps.ServerOutcome{PowerState: &found.PowerState}
}

// brokenWith: nobody knows what the guest is good for now.
func brokenWith(found steps.PowerOut) *steps.ServerOutcome {
	return &steps.ServerOutcome{VMState: new(vmError), PowerState: &found.PowerState}
}

// brokenUnlessRunning: a reboot that failed has done no harm if the guest runs.
func brokenUnlessRunning(found steps.PowerOut) *steps.ServerOutcome {
	if found.PowerState == powerRunning {
		return &steps.ServerOutcome{VMState: new(vmActive), PowerState: &found.PowerState}
	}
	return brokenWith(found)
}
