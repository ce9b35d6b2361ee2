package stack

// Scale has a group, which is a stack, have more members or fewer, because a policy
// was signalled.
//
//	UPDATE_IN_PROGRESS ──resources──► UPDATE_COMPLETE
//	                       └ failed ──► UPDATE_FAILED
//
// Point of no return: none. A cancel ends it wherever it is, and so does whatever is
// done with the group's parent: both find in the rows what there is.
//
//	step       before it             after it              cancelled in it
//	resources  the members that the  as many members as    UPDATE_FAILED, some members
//	           group had             the policy says, and  made or taken away, which the
//	                                 the parent knows of   parent knows of
//	                                 them

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// Scale is the workflow of operations.StackScale.
func Scale(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	err = scale(ctx, s)
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	if told := scaled(s, err == nil); told != nil {
		err = told
	}
	return s.Close(ended(actionUpdate), err)
}

func scale(ctx workflow.Context, s *saga.Saga) error {
	if err := s.Step(operations.StepResources, saga.Move{}); err != nil {
		return err
	}
	out, err := steps.Resources.Scale(s.Context(), steps.ScaleIn{Fence: s.Fence})
	if err != nil {
		return err
	}
	if s.Hear(out.CancelRequested); s.Cancelled() {
		return saga.ErrCancelled
	}
	return traverse(ctx, s, steps.Make, actionUpdate, timeout(s))
}

// scaled has the group's parent know what it has become.
func scaled(s *saga.Saga, done bool) error {
	_, err := steps.Resources.Scaled(s.Context(), steps.ScaledIn{Fence: s.Fence, Done: done})
	return err
}
