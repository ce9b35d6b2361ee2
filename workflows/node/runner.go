package node

// How a node's steps are done, whatever they are done for: cleaning, a deployment or
// service. They are a list in the node's row. The request has written them there, unless
// the node's ramdisk has some: then it is booted first, and asked for them; in a deployment
// one of the steps does that.

import (
	"cmp"
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

// work is what a node's steps are done for.
type work struct {
	phase steps.AgentPhase
	// step is the operation's meanwhile; the others are where the node is.
	step                string
	works, waits, holds provision.State
	// own are steps that are nobody's but the operation's, by their names.
	own map[string]func(*runner) error
	// last is the step that, as the last of all, belongs to what comes after them.
	last string
	// fault is the node's if one of the steps has failed.
	fault string
	// doing and of are how faults call it; silent is the verdict on a ramdisk that wasn't
	// heard of for too long at a step, and broken on a step that a BMC didn't do.
	doing, of      string
	silent, broken func(r *runner, step string, f *faults.Error) *faults.Error
	// givenUp is the verdict of a run from nothing that finds it given up, for a reason
	// that is in the operation's events: the ramdisk may be gone already.
	givenUp *faults.Error
}

// runner is a node whose steps are being done.
type runner struct {
	*saga.Saga
	*work
	// at is the step that is being done; nil before the first and after the last.
	at *steps.CleanStep
	// index is where that one is in the list.
	index int
	// power is what it was found with last; nil if no step has changed that.
	power *string
	// heard is when a step has heard of its ramdisk last.
	heard time.Time
}

func newRunner(s *saga.Saga, w *work) *runner {
	return &runner{Saga: s, work: w, heard: s.Begun.Node.RamdiskHeard}
}

// outcome is what is true of the node at the end of its steps, whatever that is.
func (r *runner) outcome(done, cancelled *steps.NodeOutcome) saga.Outcome {
	r.look()
	outcome := saga.Outcome{Node: done, NodeOnFailure: failed(), NodeOnCancel: cancelled, Cancelled: fmt.Sprintf("By request, the %s operation was aborted", r.phase)}
	for _, o := range []*steps.NodeOutcome{outcome.Node, outcome.NodeOnFailure, outcome.NodeOnCancel} {
		o.PowerState = r.power
	}
	if r.at != nil {
		outcome.Cancelled += fmt.Sprintf(" during or after the completion of step \"%s\"", stepID(*r.at))
		outcome.NodeOnFailure.Fault = r.work.fault
	}
	return outcome
}

func stepID(s steps.CleanStep) string { return s.Interface + "." + s.Step }

// all does the steps from the one on that the row says; asked says that they are a user's.
func (r *runner) all(asked bool) error {
	in, err := saga.Input[steps.CleanInput](r.Saga)
	if err != nil {
		return err
	}
	switch {
	case in.Refused != "":
		return faults.New(faults.Invalid, r.givenUp.Code, "%s", in.Refused)
	case r.Forward() && r.Cancelled():
		return saga.ErrCancelled
	case r.Begun.Step == operations.StepUndo && (in.Ramdisk || r.hadRamdisk()):
		if i := r.Begun.Node.StepIndex; i < len(r.Begun.Node.Steps) {
			r.at = &r.Begun.Node.Steps[i]
		}
		return r.givenUp
	case in.Ramdisk && !r.Begun.Node.StepsBegun:
		if err := r.ask(asked); err != nil {
			return err
		}
	}
	for i := r.Begun.Node.StepIndex; i < r.count(); i++ {
		step := &r.Begun.Node.Steps[i]
		if step.Step != provision.StepHold {
			if err := r.move(r.works, i); err != nil {
				return err
			}
		}
		r.at, r.index = step, i
		if err := r.do(i); err != nil {
			return r.stepFault(err)
		}
		i = r.index // of a list that may be another one
	}
	// One that was asked to end during the last step isn't done.
	if err := r.move(r.works, r.count()); err != nil {
		return err
	}
	r.at = nil
	return nil
}

// instanceRuns says whether the node runs its instance already, whatever else is done.
func (r *runner) instanceRuns() bool {
	return slices.ContainsFunc(r.Begun.Node.Steps[:r.index], func(s steps.CleanStep) bool { return stepID(s) == r.work.last })
}

// count is how many steps are done before what comes after them.
func (r *runner) count() int {
	all := r.Begun.Node.Steps
	if n := len(all); n > 0 && stepID(all[n-1]) == r.work.last {
		return n - 1
	}
	return len(all)
}

// ask boots the node's ramdisk, and has it say what the node's steps are.
func (r *runner) ask(asked bool) error {
	err := bootRamdisk(r.Saga, r.work.step, r.works, r.waits, steps.BootRamdiskIn{})
	switch f := saga.Reason(err); {
	case err == nil:
	case workflow.IsContinueAsNewError(err):
		return err
	case f.Code == errTimeout.Code:
		return r.silent(r, "{}", f)
	case f.Kind == faults.Superseded || isCancel(err):
		return err
	default:
		return faults.Wrap(err, f.Kind, f.Code, "Failed to prepare node %s for %s: %s", r.Begun.Node.ID, r.of, f.Message)
	}
	_, err = r.plan(asked)
	return err
}

// plan has the ramdisk say what the node's steps are, which the row has from then on.
func (r *runner) plan(asked bool) (plan steps.CleanPlanOut, err error) {
	err = onConductor(r.Saga, func(ctx workflow.Context) (err error) {
		plan, err = steps.Agent.CleanPlan(ctx, r.Begun.Node.Group, steps.CleanPlanIn{Fence: r.Fence, Phase: r.phase, Asked: asked})
		return err
	})
	if err != nil {
		return plan, err
	}
	now, err := steps.Records.Node(r.Context(), steps.NodeIn{Fence: r.Fence})
	r.Begun.Node.Steps, r.heard = plan.Steps, now.RamdiskHeard
	return plan, err
}

// ramdiskSilent is the verdict on a ramdisk that wasn't heard of for too long.
func ramdiskSilent(r *runner, step string, _ *faults.Error) *faults.Error {
	return faults.New(errTimeout.Kind, errTimeout.Code, "Timeout reached while %s the node. Please check if the ramdisk responsible for the %s is running on the node. "+
		"Failed on step %s.", r.doing, r.doing, step)
}

// stepBroken is the verdict on a step that a BMC didn't do.
func stepBroken(r *runner, step string, f *faults.Error) *faults.Error {
	return faults.New(f.Kind, f.Code, "Node %s failed step %s: %s", r.Begun.Node.ID, step, f.Message)
}

// move shows the node in a state, at a step. Errors: ErrCancelled, also of an operation
// that can't be taken back: the steps in it are work of their own, and can be ended.
func (r *runner) move(state provision.State, index int) error {
	move := shown(r.Saga, state)
	move.Node.StepIndex, move.Node.Rebooting = &index, r.rebooting(index)
	err := r.Step(r.work.step, move)
	if err == nil && r.Cancelled() {
		err = saga.ErrCancelled
	}
	return err
}

// rebooting says whether a run that was lost was at the end of a step, and had the ramdisk
// go.
func (r *runner) rebooting(index int) bool {
	return r.Begun.Node.Rebooting && r.Begun.Node.StepIndex == index
}

// startsAnew are the interfaces whose steps may have the node be started anew.
var startsAnew = []string{"bios", "firmware", "raid"}

// look sees what the node's power is if one of its steps changes that: one that
// failed may have, and a run that was lost knows of others. One whose ramdisk is taken
// away is off afterwards, which is said then.
func (r *runner) look() {
	if r.hadRamdisk() {
		r.power = nil
		return
	}
	if !slices.ContainsFunc(r.Begun.Node.Steps, func(s steps.CleanStep) bool {
		return powers[s.Step] != "" || slices.Contains(startsAnew, s.Interface)
	}) {
		return
	}
	r.power = cmp.Or(glimpse(r.Saga), r.power)
}

// hadRamdisk says whether the operation has booted the node's ramdisk, be it gone or not.
func (r *runner) hadRamdisk() bool {
	return slices.ContainsFunc(r.Ledger(), func(e operations.Effect) bool { return e.Kind == operations.EffectRamdisk })
}

// longestStep bounds a step that may not be stopped half-way.
const longestStep = 4 * time.Hour

// powers are the steps that are changes of power.
var powers = map[string]provision.Power{provision.StepPowerOn: provision.PowerOn, provision.StepPowerOff: provision.PowerOff, provision.StepReboot: provision.PowerReboot}

// powerTimeout is how long a node may take to come to another power in a step.
const powerTimeout = time.Minute

func (r *runner) do(i int) error {
	switch step := r.at.Step; {
	case step == provision.StepHold:
		return r.hold(i)
	case step == provision.StepWait || step == provision.StepServiceWait:
		return r.wait(i)
	case powers[step] != "":
		asked := steps.NodePowerInput{Target: string(powers[step]), Timeout: powerTimeout}
		found, err := changePowerIn(r.Grace(longestStep), r.Saga, fmt.Sprintf("%s %d", r.phase, i), asked)
		if found.PowerState != "" {
			r.power = &found.PowerState
		}
		return err
	}
	if own := r.own[stepID(*r.at)]; own != nil {
		return own(r)
	}
	ctx := r.Interruptible()
	if !r.at.Abortable {
		ctx = r.Grace(longestStep)
	}
	if r.inRamdisk() {
		return r.tell(ctx, i)
	}
	return r.change(ctx, i)
}

// inRamdisk says whether the step that is being done is the ramdisk's.
func (r *runner) inRamdisk() bool {
	implementation := ""
	if r.at.Interface == "raid" {
		implementation = r.Begun.Node.RAIDInterface
	}
	return provision.InRamdisk(r.at.Interface, implementation)
}

// maxRestarts bounds how often a node is started anew for a step.
const maxRestarts = 256

// change has a step be done by the node's BMC, and the node start anew for it as often as
// that is needed.
func (r *runner) change(ctx workflow.Context, i int) error {
	in := steps.CleanStepIn{Fence: r.Fence, Index: i, Phase: r.phase, Of: origin(r.Saga)}
	var out steps.CleanStepOut
	do := func() (pending bool, err error) {
		err = conducted(ctx, func(ctx workflow.Context) (err error) {
			out, err = steps.BMC.CleanStep(ctx, r.Begun.Node.Group, in)
			return err
		})
		return out.Pending, err
	}
	at := ofSettings
	if r.at.Interface == "firmware" {
		at = ofFirmware
	}
	_, err := do()
	for err == nil && (out.Restart || out.Pending) {
		restart := func() error { return nil }
		if out.Restart {
			name := fmt.Sprintf("%s %d", r.phase, i)
			if in.Restarted {
				name = fmt.Sprintf("%s again %d", name, in.Restarts)
			}
			if in.Restarted, in.Restarts = true, in.Restarts+1; in.Restarts > maxRestarts {
				return faults.New(faults.Conflict, "NoEffect", "node %s was started anew %d times", r.Begun.Node.ID, maxRestarts)
			}
			on := string(provision.PowerOn)
			r.power = &on
			restart = func() error { return r.restart(ctx, name) }
		}
		err = takesEffect(ctx, r.Saga, at, restart, do)
	}
	return err
}

// restart has the node start anew, as acts of a name, and its ramdisk with it if it has
// one. Each run of the workflow does that as acts of its own: one that goes on for another
// doesn't know whether the ramdisk runs, and what that one has turned off may be on again.
func (r *runner) restart(ctx workflow.Context, name string) error {
	if !holds(r.Saga, operations.EffectRamdisk) || r.instanceRuns() {
		_, err := changePowerIn(ctx, r.Saga, name, steps.NodePowerInput{Target: string(provision.PowerReboot), Timeout: changeTime})
		return err
	}
	name = fmt.Sprintf("%s of %d", name, r.Fence.Generation)
	if err := shutDown(ctx, r.Saga, name+" off"); err != nil {
		return err
	}
	return bootRamdiskAs(r.Saga, name, r.work.step, r.works, r.waits, steps.BootRamdiskIn{})
}

// tell has the ramdisk do a step, and the node start anew if the step asks for that, which
// the row says first: what is told a ramdisk that is gone nobody knows.
func (r *runner) tell(ctx workflow.Context, i int) error {
	name := fmt.Sprintf("%s/%d %s", r.phase, i, stepID(*r.at))
	if !r.rebooting(i) {
		in := steps.AgentCommandIn{Name: name, Phase: r.phase, Row: &i,
			Step: &steps.NodeStep{Interface: r.at.Interface, Step: r.at.Step, Abortable: &r.at.Abortable}}
		if _, err := tellIn(ctx, r.Saga, !r.at.Abortable, r.work.step, r.works, r.waits, in); err != nil || !r.at.Reboots {
			return err
		}
		if err := r.parts(i); err != nil {
			return err
		}
	}
	return r.restart(ctx, name+" reboot")
}

// parts says in the row that the ramdisk goes at the end of a step.
func (r *runner) parts(i int) error {
	move := shown(r.Saga, r.works)
	move.Node.StepIndex, move.Node.Rebooting = &i, true
	return r.Step(r.work.step, move)
}

// hold stops until somebody has said unhold, which shows in the row: a node that
// waits at a step that holds has been let go.
func (r *runner) hold(i int) error {
	begun := r.Begun.Node
	if letGo := begun.StepIndex == i && begun.ProvisionState == string(r.waits); letGo {
		return nil
	}
	if begun.StepIndex != i || begun.ProvisionState != string(r.holds) {
		if err := r.move(r.holds, i); err != nil {
			return err
		}
	}
	return await(r.Saga, r.holds, "somebody has to say unhold", func(now steps.NodeBrief) bool {
		return now.ProvisionState != string(r.holds)
	})
}

// wait stops for a while, or until the ramdisk is heard of.
func (r *runner) wait(i int) error {
	if err := r.move(r.waits, i); err != nil {
		return err
	}
	if seconds := min(r.at.Seconds, provision.MaxWait); seconds > 0 {
		return workflow.Sleep(r.Interruptible(), time.Duration(seconds)*time.Second)
	}
	return await(r.Saga, r.waits, "the ramdisk has to report", func(now steps.NodeBrief) bool {
		before := r.heard
		r.heard = now.RamdiskHeard
		return r.heard.After(before)
	})
}

// stepFault is what the user reads of a step that failed.
func (r *runner) stepFault(err error) error {
	f, id := saga.Reason(err), stepID(*r.at)
	var said *faults.Error
	switch {
	case f.Kind == faults.Superseded || isCancel(err) || workflow.IsContinueAsNewError(err):
		return err
	case f.Code == errTimeout.Code || steps.IsAgentUnreached(f):
		said = r.silent(r, id, f)
	case r.inRamdisk() && r.own[id] == nil:
		said = faults.New(f.Kind, f.Code, "Agent returned error for %s step %s on node %s : %s.", r.phase, id, r.Begun.Node.ID, f.Message)
	default:
		said = r.broken(r, id, f)
	}
	return faults.Wrap(err, said.Kind, said.Code, "%s", said.Message)
}

// leftFault is what the user reads of a ramdisk that could not be left.
func (r *runner) leftFault(err error) error {
	f := saga.Reason(err)
	if f.Kind == faults.Superseded || isCancel(err) {
		return err
	}
	return faults.Wrap(err, f.Kind, f.Code, "Failed to tear down from %s for node %s, reason: %s", r.of, r.Begun.Node.ID, f.Message)
}
