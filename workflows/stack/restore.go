package stack

// Restore makes of a stack what a snapshot has of it: it is an update to the template
// of that, in which resources that were copied are made of their copies.
//
//	RESTORE_IN_PROGRESS ──resources──► RESTORE_COMPLETE
//	                        │ failed ──► RESTORE_FAILED
//	                        └ failed, to be rolled back ──rollback──► ROLLBACK_COMPLETE
//	                                                         └ failed ► ROLLBACK_FAILED
//
// Point of no return: none. A cancel ends it wherever it is.
//
//	step       before it             after it               cancelled in it
//	resources  the stack is as it    every resource is as   RESTORE_FAILED, some
//	           became since          the snapshot has it    resources are as then
//	rollback   some resources are    every resource is as   ROLLBACK_FAILED, some
//	           as then, one failed   it was before          resources are as then

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Restore is the workflow of operations.StackRestore.
func Restore(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	outcome, err := orRollBack(ctx, s, actionRestore, steps.Make, steps.Back)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(outcome, err)
}
