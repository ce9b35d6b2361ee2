package stack

// Suspend puts a stack to sleep, each resource after those that need it.
//
//	SUSPEND_IN_PROGRESS ──resources──► SUSPEND_COMPLETE
//	                        └ failed ► SUSPEND_FAILED
//
// Point of no return: none. A cancel ends it wherever it is.
//
//	step       before it           after it               cancelled in it
//	resources  resources run, or   every resource sleeps  SUSPEND_FAILED, some
//	           some sleep already                         sleep; suspend goes on

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Suspend is the workflow of operations.StackSuspend.
func Suspend(ctx workflow.Context, ref steps.Ref) error {
	return only(ctx, ref, operations.StepResources, steps.Suspend, actionSuspend)
}
