package node

// Inspect finds out what a node is made of: by its BMC, by its ramdisk, or not at all where
// the machine isn't there.
//
//	manageable,     ──inspect──► inspecting ──► manageable
//	inspect failed                  │  ▲
//	   ▲                            ▼  │
//	   │                        inspect wait
//	   └──────────────────────────────┘ failed, aborted, cancelled, lost: inspect failed
//
// Point of no return: the step settle, which only an inspection by the ramdisk has. A
// cancel that comes later is noted, and the work is finished.
//
//	step     before it                        after it
//	inspect  nothing is known;                something was found, and is kept beside the
//	         cancelled, nor is it             node's row; cancelled, it is forgotten
//	settle   the same; the ramdisk is gone    what was found is the node's, its ports' and its
//	                                          inventory, by hooks and rules
//	finish   the same                         manageable; what a BMC has said is the node's
//
//	effect   undo
//	ramdisk  as in Deploy
//
// A look leaves nothing that would have to be undone.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Inspect is the workflow of operations.NodeInspect.
func Inspect(ctx workflow.Context, ref steps.Ref) error {
	return transition(ctx, ref, inspect, "Inspection was aborted by request.")
}

// Inspect interfaces: of machines that aren't there, and by the ramdisk.
const (
	fakeInspect  = "fake"
	agentInspect = "agent"
)

func inspect(s *saga.Saga) (*steps.NodeOutcome, error) {
	switch {
	case s.Forward():
		return settle(s)
	case s.Begun.Node.InspectInterface == agentInspect:
		if err := discover(s); err != nil {
			return nil, inspectFault(err)
		}
		return settle(s)
	}
	if err := s.Step(operations.StepInspect, shown(s, provision.Inspecting)); err != nil {
		return nil, err
	}
	if s.Begun.Node.InspectInterface != fakeInspect {
		err := onConductor(s, func(ctx workflow.Context) error {
			return steps.BMC.Inspect(ctx, s.Begun.Node.Group, steps.NodeIn{Fence: s.Fence})
		})
		if err != nil {
			return nil, err
		}
	}
	now := at(provision.Manageable)
	now.Found = true
	return now, nil
}

// discover has the node's ramdisk tell what it finds, unless it has, and takes it away.
func discover(s *saga.Saga) error {
	if !s.Begun.Node.Found {
		if err := hearRamdisk(s); err != nil {
			return err
		}
	}
	err := s.Step(operations.StepInspect, shown(s, provision.Inspecting))
	if err == nil {
		err = takeDown(s.Context(), s, "undo")
	}
	return err
}

// hearRamdisk boots the node's ramdisk, and waits until that has told what it finds. The
// node is shown as waiting before it is turned on: a ramdisk is listened to from then on.
func hearRamdisk(s *saga.Saga) error {
	act := ramdiskAct(s)
	err := insertRamdisk(s, act, operations.StepInspect, provision.Inspecting, steps.BootRamdiskIn{Inspect: true})
	if err == nil {
		err = onConductor(s, func(ctx workflow.Context) error {
			return steps.BMC.Expect(ctx, s.Begun.Node.Group, steps.NodeIn{Fence: s.Fence})
		})
	}
	if err == nil {
		err = s.Step(operations.StepInspect, shown(s, provision.InspectWait))
	}
	if err == nil {
		err = bringTo(s, act, provision.PowerReboot)
	}
	if err == nil {
		err = await(s, provision.InspectWait, "the ramdisk tells what it finds", func(n steps.NodeBrief) bool { return n.Found })
	}
	return err
}

// settle makes what was found the node's.
func settle(s *saga.Saga) (*steps.NodeOutcome, error) {
	if err := s.Step(operations.StepSettle, withoutRamdisk(s, provision.Inspecting)); err != nil {
		return nil, err
	}
	err := onConductor(s, func(ctx workflow.Context) error {
		return steps.Agent.Settle(ctx, s.Begun.Node.Group, steps.NodeIn{Fence: s.Fence})
	})
	if f := saga.Reason(err); err != nil && f.Kind != faults.Superseded {
		return nil, faults.Wrap(err, f.Kind, f.Code, "Failed to finish inspection: %s", f.Message)
	}
	return at(provision.Manageable), err
}

// errInspectTimeout is the verdict on a ramdisk that has found nothing.
var errInspectTimeout = faults.New(faults.Unavailable, errTimeout.Code, "timeout reached while inspecting the node")

// inspectFault is what the user reads of a ramdisk that could not be asked.
func inspectFault(err error) error {
	f := saga.Reason(err)
	switch {
	case f.Kind == faults.Superseded || isCancel(err):
		return err
	case f.Code == errTimeout.Code:
		return errInspectTimeout
	}
	return faults.Wrap(err, f.Kind, f.Code, "Failed to inspect hardware. Reason: unable to start inspection: %s", f.Message)
}
