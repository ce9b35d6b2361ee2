package node

// Deploy writes an image to a node's disk and has the node start from it; what was on
// that before is gone.
//
//	available ──deploy───┐
//	active ─────rebuild──┴► deploying ◄──► wait call-back
//	                          │ │
//	                          │ └──► active
//	                          └──► deploy failed: failed, cancelled, lost before it starts from its disk
//
// Point of no return: the step start. A cancel that comes later is noted, and the
// node is started.
//
//	step     before it                        after it
//	prepare  nothing has been changed         the node runs its ramdisk, which has called back
//	image    the same                         the image is on the disk, with the config drive
//	start    the same                         the node starts from its disk, now and later
//	finish   the same                         active
//
//	effect   undo
//	ramdisk  the node is turned off, the medium is ejected, what it starts from is its
//	         own again, and nothing is served
//
// A disk that has been written stays so: of an available node nothing is promised, and
// an instance that is rebuilt has been given up.

import (
	"cmp"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Deploy is the workflow of operations.NodeDeploy and NodeRebuild.
func Deploy(ctx workflow.Context, ref steps.Ref) error {
	return transition(ctx, ref, deploy, "Deploy operation aborted")
}

func deploy(s *saga.Saga) (*steps.NodeOutcome, error) {
	if s.Begun.Step != operations.StepStart && s.Begun.Node.DeployInterface != fakeDeploy {
		if err := writeImage(s); err != nil {
			return nil, deployFault(s, err)
		}
	}
	return startInstance(s)
}

// fakeDeploy is the deploy interface of machines that aren't there.
const fakeDeploy = "fake"

// pretend says that a machine that isn't there has been deployed.
func pretend(s *saga.Saga) (*steps.NodeOutcome, error) {
	if err := s.Step(operations.StepStart, shown(s, provision.Deploying)); err != nil {
		return nil, deployFault(s, err)
	}
	return at(provision.Active), nil
}

// writeImage boots the ramdisk and has it do what is to be done before the node
// starts from its disk.
func writeImage(s *saga.Saga) error {
	if err := bootRamdisk(s, operations.StepPrepare, provision.Deploying, provision.DeployWait, steps.BootRamdiskIn{}); err != nil {
		return err
	}
	var offered steps.AgentStepsOut
	err := onConductor(s, func(ctx workflow.Context) (err error) {
		offered, err = steps.Agent.Steps(ctx, s.Begun.Node.Group, steps.AgentStepsIn{Fence: s.Fence, Phase: steps.AgentDeploy})
		return err
	})
	if err == nil {
		err = s.Step(operations.StepImage, shown(s, provision.Deploying))
	}
	if err != nil {
		return err
	}
	for _, step := range deploySteps(offered.Steps) {
		in := steps.AgentCommandIn{Name: "deploy/" + step.Interface + "." + step.Step, Phase: steps.AgentDeploy, Step: &step}
		if _, err := tell(s, operations.StepImage, provision.Deploying, provision.DeployWait, in); err != nil {
			f := saga.Reason(err)
			if f.Kind == faults.Superseded || f.Code == saga.ErrCancelled.Code {
				return err
			}
			return faults.Wrap(err, f.Kind, f.Code, "Agent returned error for deploy step %s.%s on node %s : %s.", step.Interface, step.Step, s.Begun.Node.ID, f.Message)
		}
	}
	_, err = tell(s, operations.StepImage, provision.Deploying, provision.DeployWait, steps.AgentCommandIn{Name: "sync", Command: "standby.sync"})
	return err
}

// imageStep is the ramdisk's step that writes the image, at its place among others.
var imageStep = steps.NodeStep{Interface: "deploy", Step: "write_image", Priority: 80}

// deploySteps are what the ramdisk does, in order: what it offers to do in each
// deployment, and the image.
func deploySteps(offered []steps.NodeStep) []steps.NodeStep {
	all := []steps.NodeStep{imageStep}
	for _, step := range offered {
		if step.Priority > 0 && (step.Interface != imageStep.Interface || step.Step != imageStep.Step) {
			all = append(all, step)
		}
	}
	slices.SortStableFunc(all, func(a, b steps.NodeStep) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(provision.Rank(a.Interface), provision.Rank(b.Interface)))
	})
	return all
}

// startInstance has the node start from its disk, now and later.
func startInstance(s *saga.Saga) (*steps.NodeOutcome, error) {
	if s.Begun.Node.DeployInterface == fakeDeploy {
		return pretend(s)
	}
	if err := fromDisk(s, provision.Deploying); err != nil {
		return nil, deployFault(s, err)
	}
	if err := s.Step(operations.StepStart, withoutRamdisk(s, provision.Deploying)); err != nil {
		return nil, err
	}
	return on(provision.Active), nil
}

// deployFault is what the user reads of a deployment that failed.
func deployFault(s *saga.Saga, err error) error {
	f := saga.Reason(err)
	if f.Kind == faults.Superseded || f.Code == saga.ErrCancelled.Code || f.Code == errTimeout.Code || strings.HasPrefix(f.Message, "Agent returned error") {
		return err
	}
	return faults.Wrap(err, f.Kind, f.Code, "Failed to deploy node %s: %s", s.Begun.Node.ID, f.Message)
}
