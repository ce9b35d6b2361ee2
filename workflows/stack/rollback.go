package stack

// Rollback: what a traversal that failed does of its own accord.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// rollBack takes away what a create has made. Its error is the failure that it
// takes back, or its own.
func rollBack(ctx workflow.Context, s *saga.Saga, why string) (saga.Outcome, error) {
	outcome := saga.Outcome{StackOnFailure: broken(actionRollback), StackOnCancel: cancelled(actionRollback)}
	if err := s.Step(operations.StepRollback, saga.Move{Message: why}); err != nil {
		return outcome, err
	}
	ends := workflow.Now(ctx).Add(s.Begun.Stack.Timeout)
	if err := traverse(ctx, s, steps.Clear, actionRollback, ends); err != nil {
		return outcome, err
	}
	outcome.StackOnFailure = completed(actionRollback)
	return outcome, faults.New(faults.Internal, failureCode, "%s", why)
}

// final says that an error is no failure of the stack's own: nothing is taken
// back for it.
func final(s *saga.Saga, err error) bool {
	return workflow.IsContinueAsNewError(err) || s.Cancelled() || saga.Reason(err).Kind == faults.Superseded
}
