package stack

// Recover ends a traversal whose workflow died by other hands than the engine's:
// terminated or reset by an operator, or failed by a fault of ours. One that was
// merely lost is started again and goes on; it never comes here.
//
//	a lost delete ──resources──► DELETE_COMPLETE or DELETE_FAILED
//	any other     ──settle─────► <ACTION>_FAILED, with what there is
//
// Point of no return: it is forward from its first step.
//
//	step       before it                   after it
//	settle     the stack is in progress    nothing is in progress any more
//	resources  as for a delete             as for a delete

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Recover is the workflow of operations.StackRecover.
func Recover(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.Begin(ctx, ref, nil)
	if s == nil {
		return err
	}
	outcome, err := recoverLost(ctx, s)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(outcome, err)
}

func recoverLost(ctx workflow.Context, s *saga.Saga) (saga.Outcome, error) {
	action := s.Begun.Stack.Action
	outcome := saga.Outcome{StackOnFailure: broken(action)}
	lost := s.Begun.Recovers
	if lost == nil {
		return outcome, faults.New(faults.Internal, "NothingToRecover", "the operation names no other to recover")
	}
	if lost.Kind == operations.StackDelete {
		return saga.Outcome{Stack: deleted(), StackOnFailure: broken(actionDelete)}, remove(ctx, s)
	}
	if err := s.Step(operations.StepSettle, saga.Move{Message: lost.OperationID + " was lost"}); err != nil {
		return outcome, err
	}
	if lost.Kind == operations.StackScale {
		if err := scaled(s, false); err != nil {
			return outcome, err
		}
	}
	why := "Engine went down during stack " + action
	outcome.Stack = &steps.StackOutcome{Action: action, Status: failed, Reason: why, Interrupted: why}
	return outcome, nil
}
