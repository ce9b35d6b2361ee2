package node

// What is done by a conductor, and under whose name.

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
)

// silence is how long no conductor of a group may take work before an operation
// is given up, and pause the time between two tries.
const (
	silence = 10 * time.Minute
	pause   = 5 * time.Second
)

// errNoConductor is the verdict on a group of conductors of which none works.
var errNoConductor = faults.New(faults.Unavailable, "NoConductor", "no conductor of the node's group has taken the work")

// onConductor runs f, a step on the conductors' queue, and repeats it while none
// of them takes it: one that was killed has others beside it, or comes back.
func onConductor(s *saga.Saga, f func(workflow.Context) error) error {
	return conducted(s.Context(), f)
}

// conducted is onConductor on a context of its own, as an undo has one.
func conducted(ctx workflow.Context, f func(workflow.Context) error) error {
	for begun := workflow.Now(ctx); ; {
		err := f(ctx)
		if !steps.IsHostSilent(err) {
			return err
		}
		if workflow.Now(ctx).Sub(begun) > silence {
			return errNoConductor
		}
		if err := saga.Wait(ctx, pause, "no conductor takes the work"); err != nil {
			return err
		}
	}
}

// origin is the operation that acts are noted under: a recovery goes on with those
// of the one that was lost.
func origin(s *saga.Saga) string {
	if s.Begun.Recovers != nil {
		return s.Begun.Recovers.OperationID
	}
	return s.Fence.OperationID
}

// kindOf is what an operation is for: a recovery, what the one that was lost was for.
func kindOf(s *saga.Saga) operations.Kind {
	if s.Begun.Recovers != nil {
		return s.Begun.Recovers.Kind
	}
	return s.Begun.Kind
}
