package node

// Service does to a node that has an instance what a user asks for, as Clean does to one
// that has none: by its BMC, or by its ramdisk, which runs instead of the instance
// meanwhile.
//
//	active, service failed ──service──► servicing ──► active
//	                                     │  ▲  ▲
//	                                wait ▼  │  │ unhold
//	                             service wait ┘  └ service hold ◄── hold
//	any of them ──► service failed: failed, lost before the point of no return
//	any of them ──► active: aborted, cancelled
//
// Point of no return: the step start. A cancel that comes later is noted, and the
// instance is started.
//
//	step     before it                    after it
//	service  the node is in servicing;    each step is done, once, in its order; which
//	         cancelled, its instance      one is in the row before it begins
//	         runs, and it is active
//	start    the node runs its ramdisk    the node starts from its disk, now and later;
//	                                      not taken if no ramdisk was booted
//	finish   the same                     active
//
//	effect   undo
//	ramdisk  the node starts from its disk, now and later; nothing is in its drive, and
//	         nothing is served. If another operation waits for it, it is turned off
//
// What a step has done to a machine is not taken back. A node that a step has failed on is
// in maintenance. Steps are brought to their ends, and runs go on, as in Clean; but a step
// of the ramdisk is left at once if another operation waits for the node.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// inService is what a node's steps are done for.
var inService = &work{
	phase: steps.AgentService, step: operations.StepService, works: provision.Servicing, waits: provision.ServiceWait, holds: provision.ServiceHold,
	fault: provision.ServiceFailure, doing: "servicing", of: "service", silent: ramdiskSilent, broken: stepBroken,
	givenUp: faults.New(faults.Conflict, "NodeServicingFailure", "The service had failed, and the ramdisk was being taken away, when the operation was interrupted"),
}

// Service is the workflow of operations.NodeService.
func Service(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undos)
	if s == nil {
		return err
	}
	r := newRunner(s, inService)
	begun := s.Forward()
	if !begun {
		err = r.all(true)
	}
	outcome := r.outcome(at(provision.Active), aborted())
	if err == nil && (begun || holds(s, operations.EffectRamdisk)) {
		outcome.Node, err = resume(s)
	}
	if err != nil && !isCancel(err) {
		outcome.NodeOnCancel = nil // it has failed before its end was asked for
	}
	return s.Close(outcome, err)
}

// aborted: the node is where its work leads to if somebody has asked for its end.
func aborted() *steps.NodeOutcome { return &steps.NodeOutcome{Failed: true, Aborted: true} }

// resume has the node run its instance again.
func resume(s *saga.Saga) (*steps.NodeOutcome, error) {
	err := fromDisk(s, provision.Servicing)
	if err == nil {
		err = s.Step(operations.StepStart, withoutRamdisk(s, provision.Servicing))
	}
	if err != nil {
		return nil, newRunner(s, inService).leftFault(err)
	}
	return on(provision.Active), nil
}

// putBack is the undo of a ramdisk that runs instead of an instance.
func putBack(ctx workflow.Context, s *saga.Saga) error {
	now, err := steps.Records.Node(ctx, steps.NodeIn{Fence: s.Fence})
	if err != nil {
		return err
	}
	if now.Awaited {
		return shutDown(ctx, s, "undo")
	}
	const act = "undo instance"
	if err := rewire(ctx, s, act, steps.NetworkTenant); err != nil {
		return err
	}
	in := steps.BootClearIn{Fence: s.Fence, Disk: true}
	leave := func(ctx workflow.Context) error { return steps.Boot.Clear(ctx, s.Begun.Node.Group, in) }
	if err := conducted(ctx, leave); err != nil {
		return err
	}
	found, err := changePowerIn(ctx, s, act, steps.NodePowerInput{Target: string(provision.PowerReboot), Timeout: changeTime})
	if err != nil {
		return err
	}
	in.PowerState = found.PowerState // for the row
	return conducted(ctx, leave)
}
