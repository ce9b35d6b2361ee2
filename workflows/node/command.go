package node

// Command tells a node's BMC something that a request asks for: what the node starts
// from, and how; what is in its drives; a lamp; an interrupt; or has its ports bear a VIF.
// A node that boots in another way only once it was started anew is started anew, and is
// off again afterwards if it was.
//
//	as it was ──command──► as it was asked to be
//	    ▲                      │ failed: who asked is told, or last_error says why
//	    └── cancelled before
//
// Point of no return: the step command. A cancel that comes later is noted, and the
// command is carried out.
//
//	step     before it                   after it
//	command  nothing has been sent;      the BMC has done as it was told, cancelled or
//	         cancelled, it is as it was  not
//	finish   the same                    the row says how the node boots, if that was asked
//
// There is no undo: nobody asked for what was there before. A VIF that can't be bound is
// borne by nothing.

import (
	"cmp"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Command is the workflow of operations.NodeCommand.
func Command(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, nil)
	if s == nil {
		return err
	}
	now, err := command(s)
	return s.Close(saga.Outcome{Node: now, NodeOnFailure: now}, err)
}

// command does the step, and says what is true of the node afterwards whether it went
// well or not.
func command(s *saga.Saga) (*steps.NodeOutcome, error) {
	asked, err := saga.Input[steps.NodeCommandInput](s)
	now := &steps.NodeOutcome{Told: asked.Command.Awaited()}
	if err != nil {
		return now, err
	}
	if err := s.Step(operations.StepCommand, saga.Move{Host: s.Begun.Node.Conductor}); err != nil {
		return now, err
	}
	if bears := vifs[asked.Command]; bears != nil {
		if err = bears(s, steps.NetworkVIFIn{Fence: s.Fence, Ask: asked}); steps.IsSuperseded(err) {
			return nil, err
		}
		return now, err
	}
	found, restarted, err := obeyed(s, asked)
	if steps.IsSuperseded(err) {
		return nil, err
	}
	now.BootMode, now.SecureBoot = found.BootMode, found.SecureBoot
	switch {
	case restarted && err != nil:
		now.PowerState = glimpse(s)
	case found.PowerState != "":
		now.PowerState = &found.PowerState
	}
	return now, commandFault(s.Begun.Node.ID, asked, err)
}

// pace is how long something may take to take effect, and the time between two looks.
type pace struct{ most, pause time.Duration }

var (
	// ofSettings is that of settings once the node was started anew, ofFirmware that of
	// firmware (firmware_update_overall_timeout and firmware_update_status_interval).
	ofSettings = pace{15 * time.Minute, 15 * time.Second}
	ofFirmware = pace{2 * time.Hour, time.Minute}
)

// obeyed tells the BMC, and has the node start anew if that is needed. The row says what
// its power was.
func obeyed(s *saga.Saga, asked steps.NodeCommandInput) (out steps.NodeCommandOut, restarted bool, err error) {
	in := steps.NodeCommandIn{Fence: s.Fence, Of: origin(s), Ask: asked}
	tell := func() (pending bool, err error) {
		err = onConductor(s, func(ctx workflow.Context) (err error) {
			out, err = steps.BMC.Command(ctx, s.Begun.Node.Group, in)
			return err
		})
		return out.Pending, err
	}
	if _, err = tell(); err != nil || !out.Restart {
		out.PowerState = ""
		return out, false, err
	}
	in.Restarted = true
	err = takesEffect(s.Context(), s, ofSettings, func() error { return bringTo(s, "command", provision.PowerReboot) }, tell)
	if err == nil && provision.Power(s.Begun.Node.PowerState) == provision.PowerOff {
		err = bringTo(s, "command over", provision.PowerOff)
	}
	out.PowerState = s.Begun.Node.PowerState
	if err != nil {
		out.PowerState = ""
	}
	return out, true, err
}

// takesEffect has the node start anew for what it was told to take effect, and looks until
// that has.
func takesEffect(ctx workflow.Context, s *saga.Saga, at pace, restart func() error, look func() (pending bool, err error)) error {
	if err := restart(); err != nil {
		return err
	}
	for begun := workflow.Now(ctx); ; {
		pending, err := look()
		if err != nil || !pending {
			return err
		}
		if workflow.Now(ctx).Sub(begun) > at.most {
			return faults.New(faults.Conflict, "NoEffect", "Timeout reached while waiting for it to take effect on node %s", s.Begun.Node.ID)
		}
		if err := saga.Wait(ctx, at.pause, "the setting takes effect"); err != nil {
			return err
		}
	}
}

// commandFault is what the user reads of a command that failed on a node.
func commandFault(id string, asked steps.NodeCommandInput, err error) error {
	if err == nil {
		return nil
	}
	f := saga.Reason(err)
	switch asked.Command {
	case steps.SetBootMode:
		return faults.Wrap(err, f.Kind, f.Code, "Failed to change boot mode to '%s: %s", asked.Mode, f.Message)
	case steps.AttachMedia:
		return faults.Wrap(err, f.Kind, f.Code, "Could not attach device %s to node %s: %s", strings.Join(asked.Media, ", "), id, f.Message)
	case steps.DetachMedia:
		return faults.Wrap(err, f.Kind, f.Code, "Could not detach device(s) %s from node %s: %s", cmp.Or(strings.Join(asked.Media, ", "), "None"), id, f.Message)
	case steps.SetSecureBoot:
		state := map[bool]string{true: "True", false: "False"}[asked.Secure]
		return faults.Wrap(err, f.Kind, f.Code, "Failed to change secure_boot state to '%s': %s", state, f.Message)
	}
	return err
}
