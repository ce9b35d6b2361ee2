package records

// What operations on nodes read of their rows while they are under way.

import (
	"context"

	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// Node is idempotent: it only reads. Errors: Superseded.
func (a *Activities) Node(ctx context.Context, in steps.NodeIn) (steps.NodeBrief, error) {
	_, id := subject(in.Fence.OperationID)
	brief, err := baremetal.Brief(ctx, a.db.Pool, id)
	if lost := a.engine.PeekFence(ctx, a.db.Pool, in.Fence); lost != nil {
		return steps.NodeBrief{}, lost
	}
	if err != nil {
		return steps.NodeBrief{}, err
	}
	return *brief, nil
}
