package stack

// Rollback: what a traversal that failed does of its own accord.

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// orRollBack has the stack be as its operation asks, or takes back what failed, in
// a phase of its own, if that was asked for.
func orRollBack(ctx workflow.Context, s *saga.Saga, action string, back steps.Phase) (saga.Outcome, error) {
	why := s.Begun.Stack.Reason
	if s.Begun.Step != operations.StepRollback {
		outcome := saga.Outcome{Stack: completed(action), StackOnFailure: broken(action), StackOnCancel: cancelled(action)}
		err := s.Step(operations.StepResources, saga.Move{})
		if err == nil {
			err = traverse(ctx, s, steps.Make, action, timeout(s))
		}
		if err == nil || !s.Begun.Stack.Rollback || final(s, err) {
			return outcome, err
		}
		why = saga.Reason(err).Message
	}
	return rollBack(ctx, s, back, why)
}

// rollBack takes back what was made or changed. Its error is the failure that it
// takes back, or its own.
func rollBack(ctx workflow.Context, s *saga.Saga, back steps.Phase, why string) (saga.Outcome, error) {
	outcome := saga.Outcome{StackOnFailure: broken(actionRollback), StackOnCancel: cancelled(actionRollback)}
	if err := s.Step(operations.StepRollback, saga.Move{Message: why}); err != nil {
		return outcome, err
	}
	ends := workflow.Now(ctx).Add(s.Begun.Stack.Timeout)
	if err := traverse(ctx, s, back, actionRollback, ends); err != nil {
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
