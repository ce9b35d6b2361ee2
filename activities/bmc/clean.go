package bmc

// The steps of cleaning and of service.

import (
	"cmp"
	"context"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// CleanStep is idempotent: the steps that there are, those of interfaces that do
// nothing, do nothing again. Errors: Invalid, Superseded.
func (a *Activities) CleanStep(ctx context.Context, in steps.CleanStepIn) (steps.CleanStepOut, error) {
	n, err := baremetal.HeldNode(ctx, a.db.Pool, a.engine, in.Fence)
	if err != nil {
		return steps.CleanStepOut{}, err
	}
	phase := provision.Phase(cmp.Or(in.Phase, steps.AgentClean))
	all, err := baremetal.StepsOf(n, phase)
	if err != nil {
		return steps.CleanStepOut{}, err
	}
	known := phase.Steps(nodes.Interfaces(n))
	if in.Index < 0 || in.Index >= len(all) || !slices.ContainsFunc(known, func(s provision.Step) bool {
		return s.Interface == all[in.Index].Interface && s.Name == all[in.Index].Step
	}) {
		return steps.CleanStepOut{}, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", n.UUID)
	}
	return steps.CleanStepOut{}, nil
}
