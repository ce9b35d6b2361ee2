package stack

// Create makes what a stack's template says.
//
//	CREATE_IN_PROGRESS ──resources──► CREATE_COMPLETE
//	                       │ failed ──► CREATE_FAILED
//	                       └ failed, to be rolled back ──rollback──► ROLLBACK_COMPLETE
//	                                                        └ failed ► ROLLBACK_FAILED
//
// Point of no return: none. A cancel ends it wherever it is; what there is of
// the stack by then is the stack's, to be deleted with it or made whole by an
// update, as the original's "cancel without rollback" has it.
//
//	step       before it            after it             cancelled in it
//	resources  the template is in   every resource is    CREATE_FAILED, with the
//	           the stack's row      there                resources there are
//	rollback   some resources are   no resource is       ROLLBACK_FAILED, with the
//	           there, one failed                         resources that are left

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Create is the workflow of operations.StackCreate.
func Create(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	outcome, err := orRollBack(ctx, s, actionCreate, steps.Make, steps.Clear)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(outcome, err)
}
