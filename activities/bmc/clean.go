package bmc

// The steps of cleaning.

import (
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
	all, err := baremetal.StepsOf(n)
	if err != nil {
		return steps.CleanStepOut{}, err
	}
	known := provision.CleanSteps(nodes.Interfaces(n))
	if in.Index < 0 || in.Index >= len(all) || !slices.ContainsFunc(known, func(s provision.Step) bool {
		return s.Interface == all[in.Index].Interface && s.Name == all[in.Index].Step
	}) {
		return steps.CleanStepOut{}, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", n.UUID)
	}
	return steps.CleanStepOut{}, nil
}
