package agent

// What a node is cleaned, deployed or serviced by, once its ramdisk says what it has.

import (
	"cmp"
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// CleanPlan is idempotent: asked again, it writes the same. Errors: as in
// steps.AgentActivities.
func (a *Activities) CleanPlan(ctx context.Context, in steps.CleanPlanIn) (out steps.CleanPlanOut, err error) {
	asked := cmp.Or(in.Phase, steps.AgentClean)
	phase := provision.Phase(asked)
	said, err := a.offered(ctx, in.Fence, asked)
	if err != nil {
		return out, err
	}
	offered := a.offers(phase, said)
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		var held engine.Locked
		if held, err = a.engine.CheckFence(ctx, tx, in.Fence); err != nil {
			return err
		}
		n, err := baremetal.Nodes.Find(ctx, tx, held.ResourceID, false)
		if err != nil {
			return err
		}
		if phase == provision.PhaseDeploy {
			out.Index, err = a.replan(ctx, tx, n, offered)
		} else {
			err = plan(ctx, tx, n, phase, offered, in.Asked)
		}
		if err != nil {
			return err
		}
		if n, err = baremetal.Nodes.Find(ctx, tx, n.UUID, false); err != nil {
			return err
		}
		out.Steps, err = baremetal.StepsOf(n, phase)
		return err
	})
	return out, err
}

// cleaner is the interface whose steps of cleaning have priorities by configuration.
const cleaner = "deploy"

// offers are the steps that a ramdisk says that it has in a phase.
func (a *Activities) offers(phase provision.Phase, said []steps.NodeStep) []provision.Step {
	offered := make([]provision.Step, len(said))
	for i, s := range said {
		offered[i] = provision.Step{Interface: s.Interface, Name: s.Step, Priority: s.Priority, Abortable: phase == provision.PhaseDeploy, Ramdisk: true,
			Reboots: s.RebootRequested, Args: map[string]bool{}}
		if s.Abortable != nil {
			offered[i].Abortable = *s.Abortable
		}
		if priority, set := a.Priorities[s.Step]; set && phase == provision.PhaseClean && s.Interface == cleaner {
			offered[i].Priority = priority
		}
		for name, argument := range s.ArgsInfo {
			offered[i].Args[name] = argument.Required
		}
	}
	return offered
}

// plan writes by what a node is cleaned or serviced. The secrets of what was asked for
// stay in their places.
func plan(ctx context.Context, tx store.Tx, n *baremetal.Node, phase provision.Phase, offered []provision.Step, asked bool) error {
	plan, err := nodes.Plan(n, phase, offered, asked)
	if err != nil {
		return err
	}
	return baremetal.KeepInternal(ctx, tx, n.UUID, map[string]any{phase.List(): nodes.StoredSteps(plan)})
}

// replan writes anew by what a node is deployed, and where its core, which is being done,
// is among that.
func (a *Activities) replan(ctx context.Context, tx store.Tx, n *baremetal.Node, offered []provision.Step) (core int, err error) {
	known, err := nodes.Known(a.box, n)
	if err != nil {
		return 0, err
	}
	request, err := nodes.GivenSteps(known)
	if err != nil {
		return 0, err
	}
	all, err := nodes.Deployment(ctx, tx, a.box, n, offered, provision.RamdiskAsked, request)
	if err == nil {
		if core = provision.Core(all); core < 0 {
			err = faults.New(faults.Invalid, "InvalidParameterValue", "the step %s is being done, and is none of them any more", provision.StepDeploy)
		}
	}
	if err != nil {
		f := faults.As(err)
		return 0, faults.Wrap(err, f.Kind, "InstanceDeployFailure", "Failed to validate the final deploy steps list for node %s: %s", n.UUID, f.Message)
	}
	known[provision.PhaseDeploy.List()], known[provision.PhaseDeploy.Index()] = nodes.StoredSteps(all), core
	after, err := nodes.Rewritten(a.box, n, known)
	if err != nil {
		return 0, err
	}
	return core, baremetal.SetInternal(ctx, tx, n.UUID, after.DriverInternalInfo, after.Secrets)
}

// stored is one of a phase's steps in the node's row.
func (s *session) stored(phase steps.AgentPhase, at int) (map[string]any, error) {
	list, _ := s.known[provision.Phase(phase).List()].([]any)
	if at < 0 || at >= len(list) {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", s.node.UUID)
	}
	step, ok := list[at].(map[string]any)
	if !ok {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", s.node.UUID)
	}
	return step, nil
}
