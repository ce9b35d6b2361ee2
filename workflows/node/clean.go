package node

// Provide makes a node available, Clean does to one what a user asks for. Both are
// a list of steps in the node's row: those that are done without being asked for, if
// they are; or a user's, in their order. The request has written them there, unless
// the node's ramdisk has some: then it is booted first, and asked for them.
//
//	manageable ──provide──► cleaning ──► available
//	manageable ──clean────► cleaning ──► manageable
//	                         │  ▲  ▲
//	                    wait ▼  │  │ unhold
//	                 clean wait ┘  └ clean hold ◄── hold
//	any of them ──► clean failed: failed, aborted, cancelled, lost; last_error says why
//
// Point of no return: none. What a step has done to a machine is not taken back;
// the node is clean failed, and in maintenance if it was a step that failed.
//
//	step    before it                    after it
//	clean   the node is in cleaning;     each step is done, once, in its order; which
//	        cancelled, it is in clean    one is in the row before it begins; the ramdisk
//	        failed                       is gone, if there was one
//	finish  the same                     available or manageable
//
//	effect   undo
//	ramdisk  as in Deploy
//
// A step that may not be stopped half-way is brought to its end first. A run from
// nothing goes on with the step that the row says, which finds what it did before.

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Provide is the workflow of operations.NodeProvide.
func Provide(ctx workflow.Context, ref steps.Ref) error {
	return cleaning(ctx, ref, provision.Available)
}

// Clean is the workflow of operations.NodeClean.
func Clean(ctx workflow.Context, ref steps.Ref) error {
	return cleaning(ctx, ref, provision.Manageable)
}

// cleaner is a node being cleaned.
type cleaner struct {
	*saga.Saga
	// at is the step that is being done; nil before the first and after the last.
	at *steps.CleanStep
	// power is what it was found with last; nil if no step has changed that.
	power *string
	// heard is when a step has heard of its ramdisk last.
	heard time.Time
}

// cleaning does a node's steps, and leaves it in a state.
func cleaning(ctx workflow.Context, ref steps.Ref, ends provision.State) error {
	s, err := saga.Begin(ctx, ref, undos)
	if s == nil {
		return err
	}
	outcome, err := cleaned(s, ends)
	return s.Close(outcome, err)
}

// cleaned does a node's steps, and says what is true of it at the end, whatever that is.
func cleaned(s *saga.Saga, ends provision.State) (saga.Outcome, error) {
	c := &cleaner{Saga: s, heard: s.Begun.Node.RamdiskHeard}
	err := c.all()
	c.look()
	outcome := saga.Outcome{Node: at(ends), NodeOnFailure: failed(), NodeOnCancel: failed(), Cancelled: "By request, the clean operation was aborted"}
	for _, o := range []*steps.NodeOutcome{outcome.Node, outcome.NodeOnFailure, outcome.NodeOnCancel} {
		o.PowerState = c.power
	}
	if c.at != nil {
		outcome.Cancelled += fmt.Sprintf(" during or after the completion of step \"%s\"", stepID(*c.at))
		outcome.NodeOnFailure.Fault = provision.CleanFailure
	}
	return outcome, err
}

func stepID(s steps.CleanStep) string { return s.Interface + "." + s.Step }

// all does the steps from the one on that the row says.
func (c *cleaner) all() error {
	in, err := saga.Input[steps.CleanInput](c.Saga)
	if err != nil {
		return err
	}
	switch {
	case in.Refused != "":
		return faults.New(faults.Invalid, "NodeCleaningFailure", "%s", in.Refused)
	case c.Forward() && c.Cancelled():
		return saga.ErrCancelled
	case in.Ramdisk && c.Begun.Step == operations.StepUndo:
		if i := c.Begun.Node.StepIndex; i < len(c.Begun.Node.Steps) {
			c.at = &c.Begun.Node.Steps[i]
		}
		return errGivenUp
	case in.Ramdisk && !c.Begun.Node.StepsBegun:
		if err := c.ask(); err != nil {
			return err
		}
	}
	for i := c.Begun.Node.StepIndex; i < len(c.Begun.Node.Steps); i++ {
		step := &c.Begun.Node.Steps[i]
		if step.Step != provision.StepHold {
			if err := c.move(provision.Cleaning, i); err != nil {
				return err
			}
		}
		c.at = step
		if err := c.do(i); err != nil {
			return c.fault(err)
		}
	}
	// One that was asked to end during the last step isn't done.
	if err := c.move(provision.Cleaning, len(c.Begun.Node.Steps)); err != nil {
		return err
	}
	c.at = nil
	return c.leave()
}

// errGivenUp is the verdict of a run from nothing that finds the cleaning given up, for a
// reason that is in the operation's events: the ramdisk may be gone already.
var errGivenUp = faults.New(faults.Conflict, "NodeCleaningFailure", "The cleaning had failed, and the ramdisk was being taken away, when the operation was interrupted")

// ask boots the node's ramdisk, and has it say what the node is cleaned by.
func (c *cleaner) ask() error {
	err := bootRamdisk(c.Saga, operations.StepClean, provision.Cleaning, provision.CleanWait, steps.BootRamdiskIn{})
	switch f := saga.Reason(err); {
	case err == nil:
	case f.Code == errTimeout.Code:
		return silentWhile("{}")
	case f.Kind == faults.Superseded || isCancel(err):
		return err
	default:
		return faults.Wrap(err, f.Kind, f.Code, "Failed to prepare node %s for cleaning: %s", c.Begun.Node.ID, f.Message)
	}
	var plan steps.CleanPlanOut
	err = onConductor(c.Saga, func(ctx workflow.Context) (err error) {
		plan, err = steps.Agent.CleanPlan(ctx, c.Begun.Node.Group, steps.CleanPlanIn{Fence: c.Fence, Asked: c.Begun.Kind == operations.NodeClean})
		return err
	})
	if err != nil {
		return err
	}
	now, err := steps.Records.Node(c.Context(), steps.NodeIn{Fence: c.Fence})
	c.Begun.Node.Steps, c.heard = plan.Steps, now.RamdiskHeard
	return err
}

// silentWhile is the verdict on a ramdisk that wasn't heard of for too long.
func silentWhile(step string) error {
	return faults.New(errTimeout.Kind, errTimeout.Code, "Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is running on the node. "+
		"Failed on step %s.", step)
}

// leave takes the ramdisk away, if there is one.
func (c *cleaner) leave() error {
	if !holds(c.Saga, operations.EffectRamdisk) {
		return nil
	}
	err := shutDown(c.Context(), c.Saga, "undo")
	if err == nil {
		return c.Step(operations.StepClean, withoutRamdisk(c.Saga, provision.Cleaning))
	}
	if f := saga.Reason(err); f.Kind != faults.Superseded && !isCancel(err) {
		err = faults.Wrap(err, f.Kind, f.Code, "Failed to tear down from cleaning for node %s, reason: %s", c.Begun.Node.ID, f.Message)
	}
	return err
}

// move shows the node in a state, at a step. Errors: ErrCancelled, also of an operation
// that can't be taken back: its cleaning is one of its own, and can be ended.
func (c *cleaner) move(state provision.State, index int) error {
	move := shown(c.Saga, state)
	move.Node.StepIndex = &index
	err := c.Step(operations.StepClean, move)
	if err == nil && c.Cancelled() {
		err = saga.ErrCancelled
	}
	return err
}

// look sees what the node's power is if one of its steps changes that: one that
// failed may have, and a run that was lost knows of others. One whose ramdisk is taken
// away is off afterwards, which is said then.
func (c *cleaner) look() {
	if slices.ContainsFunc(c.Ledger(), func(e operations.Effect) bool { return e.Kind == operations.EffectRamdisk }) {
		c.power = nil
		return
	}
	if !slices.ContainsFunc(c.Begun.Node.Steps, func(s steps.CleanStep) bool { return powers[s.Step] != "" }) {
		return
	}
	seen, err := steps.BMC.Power(c.Grace(glance), c.Begun.Node.Group, steps.NodePowerIn{Fence: c.Fence, Of: origin(c.Saga)})
	if err == nil && seen.PowerState != "" {
		c.power = &seen.PowerState
	}
}

// longestStep bounds a step that may not be stopped half-way.
const longestStep = 4 * time.Hour

// powers are the steps that are changes of power.
var powers = map[string]provision.Power{provision.StepPowerOn: provision.PowerOn, provision.StepPowerOff: provision.PowerOff, provision.StepReboot: provision.PowerReboot}

// powerTimeout is how long a node may take to come to another power in a step.
const powerTimeout = time.Minute

func (c *cleaner) do(i int) error {
	switch step := c.at.Step; {
	case step == provision.StepHold:
		return c.hold(i)
	case step == provision.StepWait:
		return c.wait(i)
	case powers[step] != "":
		asked := steps.NodePowerInput{Target: string(powers[step]), Timeout: powerTimeout}
		found, err := changePowerIn(c.Grace(longestStep), c.Saga, fmt.Sprintf("clean %d", i), asked)
		if found.PowerState != "" {
			c.power = &found.PowerState
		}
		return err
	}
	ctx := c.Interruptible()
	if !c.at.Abortable {
		ctx = c.Grace(longestStep)
	}
	if provision.InRamdisk(c.at.Interface) {
		return c.tell(ctx, i)
	}
	return conducted(ctx, func(ctx workflow.Context) error {
		_, err := steps.BMC.CleanStep(ctx, c.Begun.Node.Group, steps.CleanStepIn{Fence: c.Fence, Index: i})
		return err
	})
}

// tell has the ramdisk do a step.
func (c *cleaner) tell(ctx workflow.Context, i int) error {
	in := steps.AgentCommandIn{Name: fmt.Sprintf("clean/%d %s", i, stepID(*c.at)), Phase: steps.AgentClean, Row: &i,
		Step: &steps.NodeStep{Interface: c.at.Interface, Step: c.at.Step, Abortable: c.at.Abortable}}
	_, err := tellIn(ctx, c.Saga, !c.at.Abortable, operations.StepClean, provision.Cleaning, provision.CleanWait, in)
	return err
}

// hold stops until somebody has said unhold, which shows in the row: a node that
// waits at a step that holds has been let go.
func (c *cleaner) hold(i int) error {
	begun := c.Begun.Node
	if letGo := begun.StepIndex == i && begun.ProvisionState == string(provision.CleanWait); letGo {
		return nil
	}
	if begun.StepIndex != i || begun.ProvisionState != string(provision.CleanHold) {
		if err := c.move(provision.CleanHold, i); err != nil {
			return err
		}
	}
	return await(c.Saga, provision.CleanHold, "somebody has to say unhold", func(now steps.NodeBrief) bool {
		return now.ProvisionState != string(provision.CleanHold)
	})
}

// wait stops for a while, or until the ramdisk is heard of.
func (c *cleaner) wait(i int) error {
	if err := c.move(provision.CleanWait, i); err != nil {
		return err
	}
	if seconds := min(c.at.Seconds, provision.MaxWait); seconds > 0 {
		return workflow.Sleep(c.Interruptible(), time.Duration(seconds)*time.Second)
	}
	return await(c.Saga, provision.CleanWait, "the ramdisk has to report", func(now steps.NodeBrief) bool {
		before := c.heard
		c.heard = now.RamdiskHeard
		return c.heard.After(before)
	})
}

// fault is what the user reads of a step that failed.
func (c *cleaner) fault(err error) error {
	switch f := saga.Reason(err); {
	case f.Kind == faults.Superseded || isCancel(err):
		return err
	case f.Code == errTimeout.Code || steps.IsAgentUnreached(f):
		return silentWhile(stepID(*c.at))
	case provision.InRamdisk(c.at.Interface):
		return faults.Wrap(err, f.Kind, f.Code, "Agent returned error for clean step %s on node %s : %s.", stepID(*c.at), c.Begun.Node.ID, f.Message)
	default:
		return faults.Wrap(err, f.Kind, f.Code, "Node %s failed step %s: %s", c.Begun.Node.ID, stepID(*c.at), f.Message)
	}
}
