package stack

// Snapshot keeps what a stack was asked to be, and has each resource copied that can
// be.
//
//	SNAPSHOT_IN_PROGRESS ──resources──► SNAPSHOT_COMPLETE
//	                         └ failed ► SNAPSHOT_FAILED
//
// Point of no return: none. A cancel ends it wherever it is. The snapshot shows what
// the stack shows; what was copied by then is the snapshot's, to be deleted with it.
//
//	step       before it             after it               cancelled in it
//	resources  the template is kept  every resource that    SNAPSHOT_FAILED, some
//	                                 can be has a copy      resources have copies

import (
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Snapshot is the workflow of operations.StackSnapshot.
func Snapshot(ctx workflow.Context, ref steps.Ref) error {
	return only(ctx, ref, operations.StepResources, steps.Snapshot, actionSnapshot)
}
