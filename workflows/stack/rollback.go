package stack

// Rollback makes a stack what it was before the update that it took over from,
// because a user asked for that; a traversal that failed does the same of its own
// accord, in a phase of its own.
//
//	ROLLBACK_IN_PROGRESS ──rollback──► ROLLBACK_COMPLETE
//	                           └ failed ► ROLLBACK_FAILED
//
// Point of no return: none. A cancel ends it wherever it is.
//
//	step      before it              after it               cancelled in it
//	rollback  some resources are as  every resource is as   ROLLBACK_FAILED, some
//	          the update has them    the older template     resources new, some old
//	                                 says

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Rollback is the workflow of operations.StackRollback.
func Rollback(ctx workflow.Context, ref steps.Ref) error {
	return only(ctx, ref, operations.StepRollback, steps.Back, actionRollback)
}

// only is an operation that is one traversal and never taken back.
func only(ctx workflow.Context, ref steps.Ref, step string, phase steps.Phase, action string) error {
	s, err := saga.Begin(ctx, ref, nil)
	if s == nil {
		return err
	}
	if err = s.Step(step, saga.Move{}); err == nil {
		err = traverse(ctx, s, phase, action, timeout(s))
	}
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(ended(action), err)
}

// orRollBack has the stack be as its operation asks, or takes back what failed, in
// a phase of its own, if that was asked for.
func orRollBack(ctx workflow.Context, s *saga.Saga, action string, phase, back steps.Phase) (saga.Outcome, error) {
	why := s.Begun.Stack.Reason
	if s.Begun.Step != operations.StepRollback {
		outcome := ended(action)
		err := s.Step(operations.StepResources, saga.Move{})
		if err == nil {
			err = traverse(ctx, s, phase, action, timeout(s))
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
