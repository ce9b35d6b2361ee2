package node

// Rescue has a node run a ramdisk beside its disk, which its user enters by a password;
// Unrescue has it run its instance again.
//
//	active, rescue ──rescue──► rescuing ◄──► rescue wait
//	                               │
//	                               └──► rescue ──unrescue──► unrescuing ──► active
//	any of them ──► rescue failed, unrescue failed: failed, cancelled, lost before the
//	                point of no return
//
// Point of no return: of a rescue the step rescue, of an unrescue the step start. A
// cancel that comes later is noted, and the work is finished.
//
//	step     before it                        after it
//	prepare  nothing has been changed         the node runs its ramdisk, which has called back
//	rescue   the same; cancelled, the node    the ramdisk has the password and listens to
//	         is off, and rescue failed        nobody else; nothing is in the drive
//	start    nothing has been changed         the node starts from its disk, now and later
//	finish   the same                         rescue, or active; the password is forgotten
//
//	effect   undo
//	ramdisk  as in a deployment; at the end it is the node's

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// fakeRescue is the rescue interface of machines that aren't there.
const fakeRescue = "fake"

// Rescue is the workflow of operations.NodeRescue.
func Rescue(ctx workflow.Context, ref steps.Ref) error {
	return transition(ctx, ref, rescue, "By request, the rescue operation was aborted.")
}

// Unrescue is the workflow of operations.NodeUnrescue.
func Unrescue(ctx workflow.Context, ref steps.Ref) error {
	return transition(ctx, ref, unrescue, "By request, the unrescue operation was aborted.")
}

func rescue(s *saga.Saga) (*steps.NodeOutcome, error) {
	if s.Begun.Step != operations.StepRescue && s.Begun.Node.RescueInterface != fakeRescue {
		err := bootRamdisk(s, operations.StepPrepare, provision.Rescuing, provision.RescueWait, steps.BootRamdiskIn{Rescue: true})
		if err != nil {
			return nil, rescueFault(err, "Failed to rescue: %s")
		}
	}
	return enter(s)
}

// enter has the ramdisk be one that rescues, and takes its medium away.
func enter(s *saga.Saga) (*steps.NodeOutcome, error) {
	if err := s.Step(operations.StepRescue, shown(s, provision.Rescuing)); err != nil {
		return nil, err
	}
	if s.Begun.Node.RescueInterface == fakeRescue {
		return at(provision.Rescue), nil
	}
	err := stillOn(s)
	if err == nil {
		_, err = tellIn(s.Context(), s, false, operations.StepRescue, provision.Rescuing, provision.RescueWait,
			steps.AgentCommandIn{Name: "rescue", Command: steps.FinalizeRescue})
	}
	if err == nil {
		err = onConductor(s, func(ctx workflow.Context) error {
			return steps.Boot.Clear(ctx, s.Begun.Node.Group, steps.BootClearIn{Fence: s.Fence, PowerState: string(provision.PowerOn)})
		})
	}
	if err == nil {
		err = switchTo(s.Context(), s, steps.NetworkTenant)
	}
	if err != nil {
		return nil, rescueFault(err, "Failed to rescue: %s")
	}
	return on(provision.Rescue), nil
}

// stillOn says whether the ramdisk can be told anything: a run that was lost may have
// begun to take it away.
func stillOn(s *saga.Saga) error {
	return onConductor(s, func(ctx workflow.Context) error {
		seen, err := steps.BMC.Power(ctx, s.Begun.Node.Group, steps.NodePowerIn{Fence: s.Fence, Of: origin(s)})
		if err == nil && seen.PowerState == string(provision.PowerOff) {
			err = faults.New(faults.Conflict, "PowerStateFailure", "the ramdisk was turned off")
		}
		return err
	})
}

func unrescue(s *saga.Saga) (*steps.NodeOutcome, error) {
	if s.Begun.Node.RescueInterface == fakeRescue {
		if err := s.Step(operations.StepStart, shown(s, provision.Unrescuing)); err != nil {
			return nil, err
		}
		return at(provision.Active), nil
	}
	err := fromDisk(s, provision.Unrescuing)
	switch {
	case err == nil:
		return on(provision.Active), nil
	case isCancel(err) || steps.IsSuperseded(err):
		return nil, err
	}
	return failedAsSeen(s), rescueFault(err, "Failed to unrescue: %s")
}

// errRescueTimeout is the verdict on a ramdisk that has not called back.
var errRescueTimeout = faults.New(faults.Unavailable, errTimeout.Code, "Timeout reached while waiting for rescue ramdisk callback for node")

// rescueFault is what the user reads of one that failed.
func rescueFault(err error, format string) error {
	f := saga.Reason(err)
	switch {
	case f.Kind == faults.Superseded || f.Code == saga.ErrCancelled.Code:
		return err
	case f.Code == errTimeout.Code:
		return errRescueTimeout
	}
	return faults.Wrap(err, f.Kind, f.Code, format, f.Message)
}
