package stack

// Delete takes a stack away, each resource after those that need it.
//
//	any state ──snapshots──resources──► DELETE_COMPLETE
//	                           └ one can't be deleted ──► DELETE_FAILED
//
// Point of no return: it is forward from its first step. A cancel is noted and
// changes nothing.
//
//	step       before it              after it
//	resources  what there is, by the  no copy that a snapshot has is there, and no
//	           rows of the resources  resource; or one could not be deleted: what
//	                                  needs nothing of it is gone, and the next
//	                                  delete goes on with the rest
//
// A delete that pre-empted another operation begins when that one has ended:
// the rows say what it has left.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Delete is the workflow of operations.StackDelete.
func Delete(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	err = remove(ctx, s)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(saga.Outcome{Stack: deleted(), StackOnFailure: broken(actionDelete)}, err)
}

func remove(ctx workflow.Context, s *saga.Saga) error {
	if err := s.Step(operations.StepResources, saga.Move{}); err != nil {
		return err
	}
	if s.Begun.Stack.Snapshots {
		if err := traverse(ctx, s, steps.Forget, actionDelete, timeout(s)); err != nil {
			return err
		}
	}
	return traverse(ctx, s, steps.Clear, actionDelete, timeout(s))
}
