package stack

// Update makes of a stack what another template says: resources that are new are
// made, those that differ are changed in place or replaced, and what is left over
// is taken away once nothing needs it any more.
//
//	UPDATE_IN_PROGRESS ──resources──► UPDATE_COMPLETE
//	                       │ failed ──► UPDATE_FAILED
//	                       └ failed, to be rolled back ──rollback──► ROLLBACK_COMPLETE
//	                                                        └ failed ► ROLLBACK_FAILED
//
// Point of no return: none. A cancel ends it wherever it is, and a newer update
// takes over from there: both find in the rows what there is.
//
//	step       before it             after it               cancelled in it
//	resources  the stack is as the   every resource is as   UPDATE_FAILED, some
//	           older template says   the newer one says     resources new, some old
//	rollback   some resources are    every resource is as   ROLLBACK_FAILED, some
//	           new, one failed       the older one says     resources new, some old

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Update is the workflow of operations.StackUpdate.
func Update(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	outcome, err := orRollBack(ctx, s, actionUpdate, steps.Make, steps.Back)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(outcome, err)
}
