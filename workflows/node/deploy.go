package node

// Deploy writes an image to a node's disk and has the node start from it; what was on
// that before is gone. It is a list of steps in the node's row, each at its priority: those
// of the node's interfaces, the core among them, which boots the ramdisk; the ramdisk's;
// and those of deploy templates and of the request. The request has written there what is
// known of them, and the core, once it has asked the ramdisk, all of them.
//
//	available ──deploy───┐
//	active ─────rebuild──┴► deploying ──────────────────► active
//	                         │  ▲  ▲
//	                    wait ▼  │  │ unhold
//	            wait call-back ┘  └ deploy hold ◄── hold
//	any of them ──► deploy failed: failed, aborted, cancelled, lost before it starts from
//	                its disk for good
//
// Point of no return: the step start. A cancel that comes later is noted, and the
// node is started.
//
//	step     before it                        after it
//	deploy   nothing has been changed         each step is done, once, in its order; which
//	                                          one is in the row before it begins; the image
//	                                          is on the disk, with the config drive
//	start    the same; cancelled, the node    the node starts from its disk, now and later;
//	         is off, and deploy failed        if no step is to turn it on, it is off
//	finish   the same                         active
//
//	effect   undo
//	ramdisk  the node is turned off, the medium is ejected, what it starts from is its
//	         own again, and nothing is served
//
// The step that starts the node is done at its place among others, if others come after
// it, and is taken back if one of those fails. Steps are brought to their ends, and runs go
// on, as in Clean. A disk that has been written stays so: of an available node nothing is
// promised, and an instance that is rebuilt has been given up.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// byDeployment is what a node's steps are done for.
var byDeployment = &work{
	phase: steps.AgentDeploy, step: operations.StepDeploy, works: provision.Deploying, waits: provision.DeployWait, holds: provision.DeployHold,
	own: map[string]func(*runner) error{
		provision.StepDeploy:        (*runner).core,
		provision.StepPrepareBoot:   (*runner).prepareBoot,
		provision.StepTearDownAgent: (*runner).tearDownAgent,
		provision.StepTenantNetwork: (*runner).tenantNetwork,
		provision.StepBootInstance:  func(r *runner) error { return bootInstance(r.Saga) },
	},
	last:   provision.StepBootInstance,
	silent: func(*runner, string, *faults.Error) *faults.Error { return errTimeout },
	broken: func(_ *runner, step string, f *faults.Error) *faults.Error {
		if f.Code == "InstanceDeployFailure" {
			return f // it says so itself
		}
		return faults.New(f.Kind, f.Code, "Deploy step %s failed: %s.", step, f.Message)
	},
	givenUp: faults.New(faults.Conflict, "InstanceDeployFailure", "The deployment had failed, and the ramdisk was being taken away, when the operation was interrupted"),
}

// Deploy is the workflow of operations.NodeDeploy and NodeRebuild.
func Deploy(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, undos)
	if s == nil {
		return err
	}
	r := newRunner(s, byDeployment)
	if !s.Forward() {
		err = r.all(true)
	}
	outcome := r.outcome(at(provision.Active), failed())
	outcome.Cancelled = "Deploy operation aborted"
	if err == nil {
		outcome.Node, err = startInstance(s)
	}
	if err == nil && outcome.Node.PowerState == nil {
		outcome.Node.PowerState = r.power
	}
	return s.Close(outcome, err)
}

// fakeDeploy is the deploy interface of machines that aren't there.
const fakeDeploy = "fake"

// core boots the ramdisk, if there is a machine, and has it say what the steps are.
func (r *runner) core() error {
	if r.Begun.Node.DeployInterface == fakeDeploy {
		return nil
	}
	if err := bootRamdisk(r.Saga, r.work.step, r.works, r.waits, steps.BootRamdiskIn{}); err != nil {
		return err
	}
	plan, err := r.plan(true)
	r.index = plan.Index
	return err
}

// prepareBoot has the node start from its disk the next time, whatever runs now.
func (r *runner) prepareBoot() error {
	say := func(in steps.AgentCommandIn) (steps.AgentCommandOut, error) {
		return tell(r.Saga, r.work.step, r.works, r.waits, in)
	}
	disk, err := say(steps.AgentCommandIn{Name: "partitions", Command: steps.PartitionUUIDs})
	if err != nil {
		return err
	}
	_, err = say(steps.AgentCommandIn{Name: "boot loader", Command: steps.InstallBootLoader, Params: disk.Result})
	if f := saga.Reason(err); err != nil && f.Code == "AgentCommandFailed" {
		return faults.Wrap(err, f.Kind, "InstanceDeployFailure", "Failed to install a bootloader when deploying node %s: %s", r.Begun.Node.ID, f.Message)
	}
	if err != nil {
		return err
	}
	return onConductor(r.Saga, func(ctx workflow.Context) error {
		return steps.Boot.Clear(ctx, r.Begun.Node.Group, steps.BootClearIn{Fence: r.Fence, Disk: true, Runs: true})
	})
}

// tearDownAgent turns the ramdisk off when everything is on the disk.
func (r *runner) tearDownAgent() error {
	if !r.rebooting(r.index) {
		_, err := tell(r.Saga, r.work.step, r.works, r.waits, steps.AgentCommandIn{Name: "sync", Command: "standby.sync"})
		if err == nil {
			err = r.parts(r.index)
		}
		if err != nil {
			return err
		}
	}
	if r.Begun.Node.DisablePowerOff {
		return nil
	}
	return bringTo(r.Saga, "tear-down agent", provision.PowerOff)
}

// tenantNetwork has the node be on the networks of its instance, and no longer on that of
// the ramdisk.
func (r *runner) tenantNetwork() error {
	err := switchTo(r.Context(), r.Saga, steps.NetworkTenant)
	if f := saga.Reason(err); err != nil && f.Kind != faults.Superseded && !isCancel(err) {
		return faults.Wrap(err, f.Kind, "InstanceDeployFailure", "Error changing node %s to tenant networks after deploy. %s: %s", r.Begun.Node.ID, f.Code, f.Message)
	}
	return err
}

// startInstance has the node start from its disk, now and later, if that is the step that
// is left. The ramdisk is gone then, by that step or by now.
func startInstance(s *saga.Saga) (*steps.NodeOutcome, error) {
	r := newRunner(s, byDeployment)
	all := s.Begun.Node.Steps
	starts := r.count() < len(all)
	r.index = len(all)
	if err := s.Step(operations.StepStart, shown(s, provision.Deploying)); err != nil {
		return nil, err
	}
	now, err := at(provision.Active), error(nil)
	switch {
	case starts:
		now, err = on(provision.Active), r.started()
	case r.instanceRuns():
		now.PowerState, err = r.seen()
	case holds(s, operations.EffectRamdisk):
		err = shutDownTo(s.Context(), s, "end", steps.BootClearIn{Fence: s.Fence, Disk: true})
	}
	if err == nil && holds(s, operations.EffectRamdisk) {
		err = s.Step(operations.StepStart, withoutRamdisk(s, provision.Deploying))
	}
	if err != nil {
		return nil, err
	}
	return now, nil
}

// seen is the power that the node is found with after the steps that follow its start.
func (r *runner) seen() (*string, error) {
	var seen steps.NodePowerOut
	err := onConductor(r.Saga, func(ctx workflow.Context) (err error) {
		seen, err = steps.BMC.Power(ctx, r.Begun.Node.Group, steps.NodePowerIn{Fence: r.Fence, Of: origin(r.Saga)})
		return err
	})
	return &seen.PowerState, err
}

// started does the step that is left.
func (r *runner) started() error {
	if err := bootInstance(r.Saga); err != nil {
		f := saga.Reason(err)
		if f.Kind == faults.Superseded {
			return err
		}
		said := r.broken(r, r.work.last, f)
		return faults.Wrap(err, said.Kind, said.Code, "%s", said.Message)
	}
	return nil
}
