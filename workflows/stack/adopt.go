package stack

// Adopt takes what an abandoned stack has left for the resources of a new one. It
// looks at what is there, and changes nothing of it.
//
//	ADOPT_IN_PROGRESS ──resources──► ADOPT_COMPLETE
//	                      │ failed ──► ADOPT_FAILED
//	                      └ failed, to be rolled back ──rollback──► ROLLBACK_COMPLETE
//	                                                       └ failed ► ROLLBACK_FAILED
//
// Point of no return: none. A cancel ends it wherever it is; what was adopted by then
// is the stack's.
//
//	step       before it              after it              cancelled in it
//	resources  what is there is       every resource is     ADOPT_FAILED, with the
//	           nobody's               the stack's           resources adopted so far
//	rollback   some resources are     no resource is the    ROLLBACK_FAILED, some
//	           the stack's, one of    stack's, and all are  resources are the stack's
//	           them failed            there still           still
//
// What could not be adopted was there before, and is there when the stack is rolled
// back.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Adopt is the workflow of operations.StackAdopt.
func Adopt(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	outcome, err := orRollBack(ctx, s, actionAdopt, steps.Adopt, steps.Clear)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(outcome, err)
}
