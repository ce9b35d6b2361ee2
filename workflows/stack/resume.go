package stack

// Resume wakes a stack, each resource after those that it needs.
//
//	RESUME_IN_PROGRESS ──resources──► RESUME_COMPLETE
//	                       └ failed ► RESUME_FAILED
//
// Point of no return: none. A cancel ends it wherever it is.
//
//	step       before it          after it               cancelled in it
//	resources  every resource     every resource runs    RESUME_FAILED, some
//	           sleeps                                    sleep; resume goes on

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Resume is the workflow of operations.StackResume.
func Resume(ctx workflow.Context, ref steps.Ref) error {
	return only(ctx, ref, operations.StepResources, steps.Resume, actionResume)
}
