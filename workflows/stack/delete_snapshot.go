package stack

// DeleteSnapshot takes away the copies that a snapshot has of resources, each on its
// own; the stack goes on meanwhile, and shows nothing of it. One whose workflow was
// lost is finished by the same story.
//
//	DELETE_IN_PROGRESS ──resources──► gone
//	                       └ one can't be deleted ──► DELETE_FAILED
//
// Point of no return: it is forward from its first step. A cancel is noted and
// changes nothing.
//
//	step       before it           after it
//	resources  the copies, by the  no copy is there; or one could not be deleted,
//	           rows of those       and the next delete goes on with the rest

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// DeleteSnapshot is the workflow of operations.SnapshotDelete and SnapshotRecover.
func DeleteSnapshot(ctx workflow.Context, ref steps.Ref) error {
	s, err := saga.BeginWith(ctx, ref, operations.StepResources, nil)
	if s == nil {
		return err
	}
	if err = s.Step(operations.StepResources, saga.Move{}); err == nil {
		err = traverse(ctx, s, steps.Forget, actionDelete, timeout(s))
	}
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	return s.Close(saga.Outcome{}, err)
}
